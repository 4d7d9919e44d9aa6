"""Which cases are held against which, and what is to be reached. Pure."""

from __future__ import annotations

from statistics import median

import attrs


@attrs.frozen
class Goal:
    """``case`` costs at most ``at_most`` times the CPU of ``peer``, in the same run."""

    case: str
    peer: str
    at_most: float


PRODUCE_GOALS = (
    Goal("pyk send", "confluent produce", 0.70),
    Goal("pyk send+callback", "confluent produce+callback", 0.70),
    Goal("pyk await send", "aiokafka await send", 0.20),
)
CONSUME_GOALS = (
    Goal("pyk poll", "confluent poll", 0.60),
    Goal("pyk iterate", "confluent poll", 0.60),
    Goal("pyk batches", "confluent consume", 0.75),
    Goal("pyk batches", "aiokafka getmany", 0.45),
    Goal("pyk async for", "aiokafka async for", 0.25),
    Goal("pyk columns", "confluent consume", 0.25),
)

# Slow clients get fewer records, so that a round takes seconds, not minutes.
SHARE_OF_RECORDS = {
    "aiokafka await send": 0.2,
    "kafka-python send": 0.1,
    "aiokafka async for": 0.3,
    "kafka-python iterate": 0.2,
}


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
    """Return how much the goal's case costs in units of its peer, None where one did not run."""
    if goal.case not in rows or goal.peer not in rows:
        return None
    return rows[goal.case].cpu_seconds_per_million / rows[goal.peer].cpu_seconds_per_million
