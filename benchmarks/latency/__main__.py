"""Measure latency: ``python -m benchmarks.latency [--runs N] [--only WORD] [--clients A,B]``.

Four measurements: a record produced and acknowledged, the same beside a thread that computes,
records from a producer to a consumer at a steady rate, and transactions of one and of a hundred
records, from begin to committed. A round runs every client once, each in
fresh processes on one broker, so that other load on the machine affects all of them; compare
figures of one run only. The broker is pyk's own, an Apache Kafka with ``--broker apache``, or a
running one. Measures compiled modules only. Writes ``benchmarks/results/latency.json``.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import attrs
from build_extensions import stale_modules

from benchmarks.clients.__main__ import loaded_form
from benchmarks.clients.tls import Addresses, broker
from benchmarks.latency import acknowledge, transact, travel
from benchmarks.latency.comparison import (
    ACKNOWLEDGE,
    BUSY,
    CPU,
    GOALS,
    TRANSACTION,
    TRANSACTION_OF_100,
    TRAVEL,
    Row,
    ratio,
    row,
)
from pyk.clients import Admin, NewTopic
from support import apache_kafka

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks" / "results" / "latency.json"
TIMEOUT_SECONDS = 120
Process = subprocess.Popen[str]

# Beside a busy thread a record takes milliseconds.
SHARE_WHEN_BUSY = 0.1
# A transaction takes milliseconds, where it waits for the one before.
TRANSACTIONS_SHARE = 0.3


class Bench:
    """Runs clients against one broker and keeps what each run reported."""

    def __init__(self, bootstrap: str, records: int) -> None:
        self._bootstrap = bootstrap
        self._records = records
        self.runs: dict[tuple[str, str], list[Mapping[str, float]]] = defaultdict(list)
        self._topics = 0

    def acknowledge(self, client: str) -> None:
        self._acknowledge(ACKNOWLEDGE, client, self._records)

    def acknowledge_busy(self, client: str) -> None:
        self._acknowledge(BUSY, client, int(self._records * SHARE_WHEN_BUSY), "--busy")

    def _acknowledge(self, measurement: str, client: str, records: int, *more: str) -> None:
        self._run("acknowledge", measurement, client, records, *more)

    def transact(self, client: str) -> None:
        self._transact(TRANSACTION, client, 1)

    def transact_100(self, client: str) -> None:
        self._transact(TRANSACTION_OF_100, client, 100)

    def _transact(self, measurement: str, client: str, batch: int) -> None:
        count = int(self._records * TRANSACTIONS_SHARE)
        self._run("transact", measurement, client, count, "--batch", str(batch))

    def _run(self, name: str, measurement: str, client: str, records: int, *more: str) -> None:
        module, topic = f"benchmarks.latency.{name}", self._new_topic()
        process = self._start(module, client, *more, topic=topic, records=records)
        self.runs[measurement, client].append(_result(process))

    def travel(self, client: str) -> None:
        module, topic = "benchmarks.latency.travel", self._new_topic()
        consumer = self._start(module, "consume", client, topic=topic, records=self._records)
        assert consumer.stdout is not None
        if consumer.stdout.readline().strip() != travel.READY:
            _result(consumer)
        producer = self._start(module, "produce", client, topic=topic, records=self._records)
        sent, read = _result(producer), _result(consumer)
        both = {**read, CPU: read[CPU] + sent[CPU]}
        self.runs[TRAVEL, client].append(both)

    def _new_topic(self) -> str:
        self._topics += 1
        name = f"latency-{os.getpid()}-{self._topics}"
        with Admin(self._bootstrap) as admin:
            admin.create_topics([NewTopic(name, partitions=1)])
        return name

    def _start(self, module: str, *arguments: str, topic: str, records: int) -> Process:
        command = [
            sys.executable, "-m", module, *arguments,
            "--bootstrap", self._bootstrap, "--topic", topic, "--records", str(records),
        ]  # fmt: skip
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def _result(process: Process) -> dict[str, Any]:
    out, error = process.communicate(timeout=TIMEOUT_SECONDS)
    if process.returncode:
        raise SystemExit(f"{process.args!r} failed:\n{error[-3000:]}")
    result: dict[str, Any] = json.loads(out.splitlines()[-1])
    return result


def show(rows: Mapping[tuple[str, str], Row]) -> None:
    print(f"\n{'':<44}{'p50 µs':>9}{'p99 µs':>9}{'CPU µs':>9}")
    for one in rows.values():
        print(
            f"{one.measurement:<30}{one.client:<14}{one.p50_microseconds:>9,.0f}"
            f"{one.p99_microseconds:>9,.0f}{one.cpu_microseconds:>9,.0f}"
        )
    print()
    for goal in GOALS:
        reached = ratio(goal, rows)
        if reached is not None:
            outcome = "reached" if reached <= goal.at_most else "MISSED"
            figure = goal.figure.removesuffix("_microseconds")
            what = f"{goal.measurement}: {goal.client} ÷ {goal.peer}, {figure}"
            print(f"{what:<66}{reached:>6.2f}  (≤ {goal.at_most:.2f}) {outcome}")


def as_json(rows: Mapping[tuple[str, str], Row]) -> dict[str, Any]:
    return {
        "python": platform.python_version(),
        "hot_modules": loaded_form(),
        "rows": [attrs.asdict(one) for one in rows.values()],
        "ratios": [
            {**attrs.asdict(goal), "ratio": reached}
            for goal in GOALS
            if (reached := ratio(goal, rows)) is not None
        ],
    }


def refuse_plain_form() -> None:
    """Exit if modules are not compiled: the figures would not be comparable."""
    if stale := [name for name, _ in stale_modules(ROOT)]:
        raise SystemExit(
            f"{len(stale)} hot modules are not compiled, or older than their sources "
            f"({stale[0]} for one): run make native first"
        )


@contextmanager
def apache_broker() -> Iterator[Addresses]:
    if why := apache_kafka.missing():
        raise SystemExit(why)
    apache_kafka.fetch()
    with apache_kafka.ApacheKafka(jvm_options=()) as node:
        yield Addresses(node.bootstrap)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--records", type=int, default=1_000)
    parser.add_argument("--only", default="", help="measurements whose name contains this word")
    parser.add_argument("--clients", default="", help="only these clients, with commas between")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--broker", choices=("pyk", "apache"), default="pyk")
    where.add_argument("--bootstrap", help="a running broker")
    options = parser.parse_args()
    refuse_plain_form()
    wanted = options.clients.split(",") if options.clients else None
    is_apache = options.broker == "apache"
    with apache_broker() if is_apache else broker(options.bootstrap) as addresses:
        bench = Bench(addresses.plain, options.records)
        measurements = {
            ACKNOWLEDGE: (bench.acknowledge, acknowledge.CASES),
            BUSY: (bench.acknowledge_busy, acknowledge.CASES),
            TRAVEL: (bench.travel, travel.CASES),
            TRANSACTION: (bench.transact, transact.CASES),
            TRANSACTION_OF_100: (bench.transact_100, transact.CASES),
        }
        for number in range(options.runs):
            print(f"round {number + 1} of {options.runs}", flush=True)
            for name, (measure, clients) in measurements.items():
                for client in clients:
                    if options.only in name and (wanted is None or client in wanted):
                        measure(client)
    rows = {key: row(*key, runs) for key, runs in bench.runs.items()}
    show(rows)
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(as_json(rows), indent=1))
    print(f"\nwritten: {RESULTS.relative_to(Path.cwd())}")


if __name__ == "__main__":
    main()
