"""The cases, their peers, and the goals for their ratios. Pure."""

from __future__ import annotations

from statistics import median
from typing import Literal

import attrs

Measure = Literal["cpu_seconds_per_million", "records_per_second"]


@attrs.frozen
class Workload:
    """The records of a case, and whether they travel encrypted."""

    value_bytes: int = 100
    compression: str = "none"
    is_encrypted: bool = False

    @property
    def suffix(self) -> str:
        is_small = (self.value_bytes, self.compression) == (100, "none")
        records = "" if is_small else f", {self.value_bytes} B {self.compression}"
        return records + (", TLS" if self.is_encrypted else "")


SMALL = Workload()
LARGE = tuple(Workload(1_000, codec) for codec in ("none", "lz4", "zstd"))
ENCRYPTED = tuple(Workload(size, is_encrypted=True) for size in (100, 1_000))


@attrs.frozen
class Case:
    """One client's API under one workload, in the compiled form of pyk or the plain one."""

    api: str
    workload: Workload = SMALL
    is_plain: bool = False

    @property
    def name(self) -> str:
        return self.api + (", plain Python" if self.is_plain else "") + self.workload.suffix

    @property
    def share_of_records(self) -> float:
        """The share of a round's records that this case gets, so that it takes only seconds."""
        if self.is_plain:
            return 0.1
        return SHARE_OF_RECORDS.get(self.api, 1) * (1 if self.workload.value_bytes == 100 else 0.5)


SHARE_OF_RECORDS = {
    "aiokafka await send": 0.2,
    "kafka-python send": 0.1,
    "aiokafka async for": 0.3,
    "kafka-python iterate": 0.2,
    "pyk share acknowledge": 0.3,
    "confluent share acknowledge": 0.3,
    "pyk process, tasks of 10 ms": 0.1,
    "aiokafka tasks of 10 ms": 0.1,
    "asyncio tasks of 10 ms": 0.1,
    "pyk process, tasks of 0 ms": 0.1,
    "asyncio tasks of 0 ms": 0.1,
    "pyk process, threads of 10 ms": 0.03,
    "confluent threads of 10 ms": 0.03,
}

MORE_PRODUCE_CASES = (
    Case("pyk send", is_plain=True),
    *(
        Case(api, workload)
        for workload in (*LARGE, *ENCRYPTED)
        for api in ("pyk send", "confluent produce")
    ),
)
ENCRYPTED_CONSUMERS = {"pyk poll": "confluent poll", "pyk batches": "confluent consume"}
MORE_CONSUME_CASES = (
    Case("pyk iterate", is_plain=True),
    *(
        Case(api, workload)
        for workload in ENCRYPTED
        for pair in ENCRYPTED_CONSUMERS.items()
        for api in pair
    ),
)


@attrs.frozen
class Goal:
    """The goal for the ratio of ``case`` to ``peer`` in one run.

    A cost is at most ``bound``, a rate at least.
    """

    case: str
    peer: str
    bound: float
    measure: Measure = "cpu_seconds_per_million"

    def is_reached(self, ratio: float) -> bool:
        return ratio >= self.bound if self.measure == "records_per_second" else ratio <= self.bound

    def __str__(self) -> str:
        what = "CPU" if self.measure == "cpu_seconds_per_million" else "rate"
        return f"{self.case} ÷ {self.peer} ({what})"


PRODUCE_GOALS = (
    Goal("pyk send", "confluent produce", 0.70),
    Goal("pyk send in a transaction", "pyk send", 1.05),
    Goal("pyk send+callback", "confluent produce+callback", 0.70),
    Goal("pyk await send", "aiokafka await send", 0.20),
    Goal("pyk send, plain Python", "kafka-python send", 0.35),
    *(
        goal
        for workload in LARGE
        for pair in [(f"pyk send{workload.suffix}", f"confluent produce{workload.suffix}")]
        for goal in (Goal(*pair, 0.85), Goal(*pair, 1.0, "records_per_second"))
    ),
    *(
        Goal(f"pyk send{workload.suffix}", f"confluent produce{workload.suffix}", 0.80)
        for workload in ENCRYPTED
    ),
)
CONSUME_GOALS = (
    Goal("pyk poll", "confluent poll", 0.60),
    Goal("pyk iterate", "confluent poll", 0.60),
    Goal("pyk batches", "confluent consume", 0.75),
    Goal("pyk batches", "aiokafka getmany", 0.45),
    Goal("pyk async for", "aiokafka async for", 0.25),
    Goal("pyk columns", "confluent consume", 0.25),
    Goal("pyk share poll", "confluent share poll", 0.60),
    Goal("pyk share acknowledge", "confluent share acknowledge", 0.90),
    Goal("pyk iterate, plain Python", "kafka-python iterate", 0.50),
    *(
        Goal(f"{case}{workload.suffix}", f"{peer}{workload.suffix}", 0.80)
        for workload in ENCRYPTED
        for case, peer in ENCRYPTED_CONSUMERS.items()
    ),
)
HANDLE_GOALS = (
    Goal("pyk process, tasks of 10 ms", "aiokafka tasks of 10 ms", 0.80),
    Goal("pyk process, threads of 10 ms", "confluent threads of 10 ms", 0.80),
)


@attrs.frozen
class Overhead:
    """The goal for what ``case`` costs more than ``base``, in CPU microseconds for each record."""

    case: str
    base: str
    at_most: float

    def __str__(self) -> str:
        return f"{self.case} - {self.base} (CPU µs)"


OVERHEADS = (
    Overhead("pyk process, tasks of 10 ms", "asyncio tasks of 10 ms", 5.0),
    Overhead("pyk process, tasks of 0 ms", "asyncio tasks of 0 ms", 5.0),
)


@attrs.frozen
class Row:
    """One line of the result: medians over the rounds, and the span of the CPU figures."""

    case: str
    cpu_seconds_per_million: float
    lowest: float
    highest: float
    records_per_second: float
    cores: float
    peak_mib: float
    runs: int

    @property
    def client(self) -> str:
        return self.case.split(" ", 1)[0]


def row(case: str, runs: list[dict[str, float]]) -> Row:
    """Return the medians of the runs of one case."""
    cpu = [run["cpu_seconds_per_million"] for run in runs]
    return Row(
        case=case,
        cpu_seconds_per_million=median(cpu),
        lowest=min(cpu),
        highest=max(cpu),
        records_per_second=median(run["records_per_second"] for run in runs),
        cores=median(run["cores"] for run in runs),
        peak_mib=median(run["peak_mib"] for run in runs),
        runs=len(runs),
    )


def ratio(goal: Goal, rows: dict[str, Row]) -> float | None:
    """Return the figure of the goal's case in units of its peer's, None where one did not run."""
    if goal.case not in rows or goal.peer not in rows:
        return None
    ours, theirs = rows[goal.case], rows[goal.peer]
    return float(getattr(ours, goal.measure) / getattr(theirs, goal.measure))


def overhead(goal: Overhead, rows: dict[str, Row]) -> float | None:
    """Return what the case costs more than its base for each record, None where one did not run.

    Of the lowest figures, as other load of the machine only adds to them.
    """
    if goal.case not in rows or goal.base not in rows:
        return None
    return rows[goal.case].lowest - rows[goal.base].lowest
