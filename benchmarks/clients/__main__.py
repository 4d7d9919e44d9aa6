"""Measure the clients beside each other: ``python -m benchmarks.clients [--runs N] [--only WORD]``.

All on one broker, interleaved: a round runs every case once, each in a fresh process. Writes
``benchmarks/results/latest.json``.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import attrs

from benchmarks.clients import consume, handle, produce, tls
from benchmarks.clients.comparison import (
    CONSUME_GOALS,
    HANDLE_GOALS,
    MORE_CONSUME_CASES,
    MORE_PRODUCE_CASES,
    OVERHEADS,
    PRODUCE_GOALS,
    Case,
    Goal,
    Row,
    Workload,
    overhead,
    ratio,
    row,
)
from pyk.clients import Admin, NewTopic

RESULTS = Path(__file__).resolve().parents[1] / "results" / "latest.json"
PARTITIONS = 6
KEYED_TOPIC = "keyed"


class Bench:
    """Runs the cases against one broker and keeps what each run reported."""

    def __init__(self, addresses: tls.Addresses, records: int) -> None:
        self._addresses = addresses
        self._records = records
        self._topics = 0
        self.runs: dict[str, list[dict[str, float]]] = defaultdict(list)

    def fill(self, cases: list[Case]) -> None:
        """Fill the topics that the consumers of these cases read."""
        for size in {case.workload.value_bytes for case in cases}:
            self._create(_full_topic(size))
            self._run("produce", Case("pyk send", Workload(size)), _full_topic(size))

    def fill_keyed(self, cases: list[Case]) -> None:
        """Fill the topic whose records are handled in these cases."""
        if cases:
            self._create(KEYED_TOPIC)
            share = max(case.share_of_records for case in cases)
            handle.fill(self._addresses.plain, KEYED_TOPIC, int(self._records * share))

    def produce(self, case: Case) -> None:
        self._topics += 1
        topic = f"produced-{self._topics}"
        self._create(topic)
        self.runs[case.name].append(self._run("produce", case, topic))
        with Admin(self._addresses.plain) as admin:
            admin.delete_topics([topic])

    def consume(self, case: Case) -> None:
        topic = _full_topic(case.workload.value_bytes)
        self.runs[case.name].append(self._run("consume", case, topic))

    def handle(self, case: Case) -> None:
        self.runs[case.name].append(self._run("handle", case, KEYED_TOPIC))

    def _create(self, topic: str) -> None:
        with Admin(self._addresses.plain) as admin:
            admin.create_topics([NewTopic(topic, partitions=PARTITIONS)])

    def _run(self, verb: str, case: Case, topic: str) -> Any:
        module = f"benchmarks.clients.{verb}"
        workload, addresses = case.workload, self._addresses
        bootstrap = addresses.encrypted if workload.is_encrypted else addresses.plain
        assert bootstrap is not None
        command = [
            sys.executable, "-m", *(["benchmarks.clients.plain_form"] if case.is_plain else []),
            module, case.api, "--bootstrap", bootstrap, "--topic", topic,
            "--records", str(int(self._records * case.share_of_records)),
            "--value-bytes", str(workload.value_bytes), "--compression", workload.compression,
            *(["--cafile", str(addresses.cafile)] if workload.is_encrypted else []),
        ]  # fmt: skip
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=300)
        if done.returncode:
            raise SystemExit(f"{case.name} failed:\n{done.stderr[-3000:]}")
        return json.loads(done.stdout.splitlines()[-1])


def _full_topic(value_bytes: int) -> str:
    return f"full-{value_bytes}"


def show(rows: dict[str, Row], goals: tuple[Goal, ...]) -> None:
    titles = f"{'CPU s/M':>9}  {'(lowest-highest)':<17}{'records/s':>11}{'cores':>7}{'MiB':>6}"
    print(f"\n{'case':<34}{titles}")
    for one in rows.values():
        span = f"({one.lowest:.2f}-{one.highest:.2f})"
        print(
            f"{one.case:<34}{one.cpu_seconds_per_million:>9.2f}  {span:<17}"
            f"{one.records_per_second:>11,.0f}{one.cores:>7.2f}{one.peak_mib:>6.0f}"
        )
    print()
    for goal in goals:
        reached = ratio(goal, rows)
        if reached is not None:
            outcome = "reached" if goal.is_reached(reached) else "MISSED"
            sign = "≤" if goal.measure == "cpu_seconds_per_million" else "≥"
            print(f"{goal!s:<66}{reached:>6.2f}  ({sign} {goal.bound:.2f}) {outcome}")
    for extra in OVERHEADS:
        more = overhead(extra, rows)
        if more is not None:
            outcome = "reached" if more <= extra.at_most else "MISSED"
            print(f"{extra!s:<66}{more:>6.2f}  (≤ {extra.at_most:.2f}) {outcome}")


def as_json(rows: dict[str, Row], goals: tuple[Goal, ...], form: str) -> dict[str, Any]:
    return {
        "python": platform.python_version(),
        "hot_modules": form,
        "rows": [{"client": one.client, **attrs.asdict(one)} for one in rows.values()],
        "ratios": [
            {**attrs.asdict(goal), "ratio": reached}
            for goal in goals
            if (reached := ratio(goal, rows)) is not None
        ],
        "overheads": [
            {**attrs.asdict(extra), "microseconds": more}
            for extra in OVERHEADS
            if (more := overhead(extra, rows)) is not None
        ],
    }


def chosen(cases: list[Case], words: list[str], addresses: tls.Addresses) -> list[Case]:
    """Return the cases whose name contains one of the words; all cases without words.

    Without a listener for TLS, those of TLS are left out.
    """
    found = [case for case in cases if not words or any(word in case.name for word in words)]
    return [one for one in found if addresses.encrypted or not one.workload.is_encrypted]


def loaded_form() -> str:
    """Return which form of the hot modules this interpreter loads."""
    import pyk.protocol.records.builder as hot

    return "plain" if str(hot.__file__).endswith(".py") else "compiled"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        help="cases whose name contains this; may be repeated",
    )
    parser.add_argument("--bootstrap", help="a running broker without TLS (default: pyk's own)")
    options = parser.parse_args()
    with tls.broker(options.bootstrap) as addresses:
        bench = Bench(addresses, options.records)
        producers = [*map(Case, produce.CASES), *MORE_PRODUCE_CASES]
        consumers = [*map(Case, consume.CASES), *MORE_CONSUME_CASES]
        producers, consumers, handlers = (
            chosen(cases, options.only, addresses)
            for cases in (producers, consumers, [*map(Case, handle.CASES)])
        )
        bench.fill(consumers)
        bench.fill_keyed(handlers)
        for number in range(options.runs):
            print(f"round {number + 1} of {options.runs}", flush=True)
            for case in producers:
                bench.produce(case)
            for case in consumers:
                bench.consume(case)
            for case in handlers:
                bench.handle(case)
    rows = {case: row(case, runs) for case, runs in bench.runs.items()}
    goals = PRODUCE_GOALS + CONSUME_GOALS + HANDLE_GOALS
    show(rows, goals)
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(as_json(rows, goals, loaded_form()), indent=1))
    print(f"\nwritten: {RESULTS.relative_to(Path.cwd())}")


if __name__ == "__main__":
    main()
