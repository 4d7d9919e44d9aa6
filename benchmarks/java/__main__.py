"""Measure pyk beside Apache Kafka's own Java client: ``python -m benchmarks.java [--runs N]``.

The Java client runs as ``kafka-producer-perf-test`` and ``kafka-consumer-perf-test``, from the jars
of Apache Kafka; without Java or Maven, this says so and ends. Both clients use one broker, in
turns. The figures are CPU seconds of whole processes, including start and warm-up, so a run has
millions of records. Writes ``benchmarks/results/java.json``.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from examples.journey.broker import running_broker

from benchmarks.clients.meter import VALUE_BYTES
from benchmarks.clients.produce import BATCH_BYTES, LINGER_MS, MEMORY_BYTES
from pyk.clients import Admin, NewTopic
from support import apache_kafka

RESULTS = Path(__file__).resolve().parents[1] / "results" / "java.json"
PARTITIONS = 6
GOALS = {"produce": 0.50, "consume": 0.50}


def java_produce(bootstrap: str, topic: str, records: int) -> list[str]:
    return apache_kafka.command(
        "org.apache.kafka.tools.ProducerPerformance",
        *("--topic", topic, "--num-records", str(records), "--record-size", str(VALUE_BYTES)),
        *("--throughput", "-1", "--producer-props", f"bootstrap.servers={bootstrap}"),
        *(f"linger.ms={LINGER_MS}", f"batch.size={BATCH_BYTES}", f"buffer.memory={MEMORY_BYTES}"),
    )


def java_consume(bootstrap: str, topic: str, records: int) -> list[str]:
    return apache_kafka.command(
        "org.apache.kafka.tools.ConsumerPerformance",
        *("--bootstrap-server", bootstrap, "--topic", topic, "--messages", str(records)),
    )


def pyk_produce(bootstrap: str, topic: str, records: int) -> list[str]:
    return _pyk("produce", "pyk send", bootstrap, topic, records)


def pyk_consume(bootstrap: str, topic: str, records: int) -> list[str]:
    return _pyk("consume", "pyk batches", bootstrap, topic, records)


def _pyk(verb: str, case: str, bootstrap: str, topic: str, records: int) -> list[str]:
    options = ["--bootstrap", bootstrap, "--topic", topic, "--records", str(records)]
    return [sys.executable, "-m", f"benchmarks.clients.{verb}", case, *options]


CASES = {
    "pyk produce": pyk_produce,
    "java produce": java_produce,
    "pyk consume": pyk_consume,
    "java consume": java_consume,
}


def cpu_seconds(command: list[str]) -> float:
    """Run a command and return the CPU seconds of its process, all threads, user and system."""
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(command, stdout=output, stderr=output)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            output.seek(0)
            raise SystemExit(f"{command} failed:\n{output.read()[-3000:].decode()}")
    return used.ru_utime + used.ru_stime


@contextmanager
def fresh_topic(bootstrap: str, name: str) -> Iterator[str]:
    with Admin(bootstrap) as admin:
        admin.create_topics([NewTopic(name, partitions=PARTITIONS)])
    yield name
    with Admin(bootstrap) as admin:
        admin.delete_topics([name])


def measure(bootstrap: str, records: int, runs: int) -> dict[str, list[float]]:
    """Return the CPU seconds per million records of each run of each case."""
    costs: dict[str, list[float]] = defaultdict(list)
    with fresh_topic(bootstrap, "full") as full:
        cpu_seconds(pyk_produce(bootstrap, full, records))
        for number in range(runs):
            print(f"round {number + 1} of {runs}", flush=True)
            for case, command in CASES.items():
                if "consume" in case:
                    cost = cpu_seconds(command(bootstrap, full, records))
                else:
                    with fresh_topic(bootstrap, f"{case.replace(' ', '-')}-{number}") as topic:
                        cost = cpu_seconds(command(bootstrap, topic, records))
                costs[case].append(cost / records * 1_000_000)
    return costs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--records", type=int, default=5_000_000)
    options = parser.parse_args()
    if why := apache_kafka.missing():
        print(f"Java's client is left out: {why}")
        return
    apache_kafka.fetch()
    with (
        tempfile.TemporaryDirectory(prefix="pyk-bench-") as folder,
        running_broker(Path(folder)) as bootstrap,
    ):
        costs = measure(bootstrap, options.records, options.runs)
    print(f"\n{'case':<16}CPU s/M  (lowest-highest)")
    for case, runs in costs.items():
        print(f"{case:<16}{median(runs):>7.2f}  ({min(runs):.2f}-{max(runs):.2f})")
    ratios = {}
    for verb, bound in GOALS.items():
        ratios[verb] = median(costs[f"pyk {verb}"]) / median(costs[f"java {verb}"])
        outcome = "reached" if ratios[verb] <= bound else "MISSED"
        print(f"pyk {verb} ÷ java {verb}: {ratios[verb]:.2f}  (≤ {bound:.2f}) {outcome}")
    RESULTS.parent.mkdir(exist_ok=True)
    result = {"cpu_seconds_per_million": costs, "ratios": ratios, "records": options.records}
    RESULTS.write_text(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
