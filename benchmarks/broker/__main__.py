"""Measure brokers: ``python -m benchmarks.broker [--runs N]``. Linux only: it reads ``/proc``.

For each broker: time to start, resident memory when idle, and CPU seconds of the *broker's* process
per million records of 100 bytes in full batches, produced (acks=all) and consumed, by pyk's own
client for both. Without Java or Maven, Apache Kafka is left out, and the output says so.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

import attrs

from benchmarks.clients.produce import BATCH_BYTES
from pyk.clients import Admin, Consumer, NewTopic, Producer, TopicPartition
from support import apache_kafka

RESULTS = Path(__file__).resolve().parents[1] / "results" / "broker.json"
PARTITIONS = 6
VALUE = b"x" * 100


@attrs.frozen
class Broker:
    """A running broker: its address, its process, and the time that it took to start."""

    bootstrap: str
    pid: int
    start_seconds: float

    def cpu_seconds(self) -> float:
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def resident_mib(self) -> float:
        pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


@contextlib.contextmanager
def reference_broker() -> Iterator[Broker]:
    with tempfile.TemporaryDirectory(prefix="pyk-bench-") as folder:
        started = time.perf_counter()
        command = [
            sys.executable, "-m", "pyk.command_line",
            "broker", "--port", "0", "--data-dir", folder,
        ]  # fmt: skip
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        bootstrap = process.stdout.readline().split()[1]
        try:
            yield Broker(bootstrap, process.pid, time.perf_counter() - started)
        finally:
            process.terminate()
            process.wait()
            process.stdout.close()


@contextlib.contextmanager
def real_kafka() -> Iterator[Broker]:
    started = time.perf_counter()
    with apache_kafka.ApacheKafka(jvm_options=()) as kafka:
        yield Broker(kafka.bootstrap, kafka.pid, time.perf_counter() - started)


def measure(broker: Broker, records: int, runs: int) -> dict[str, float]:
    idle = broker.resident_mib()
    produced, consumed = [], []
    for number in range(runs):
        topic = f"full-{number}"
        with Admin(broker.bootstrap) as admin:
            admin.create_topics([NewTopic(topic, partitions=PARTITIONS)])
        produced.append(_cost(broker, records, lambda name=topic: _produce(broker, name, records)))
        consumed.append(_cost(broker, records, lambda name=topic: _consume(broker, name, records)))
    return {
        "start_seconds": broker.start_seconds,
        "idle_mib": idle,
        "loaded_mib": broker.resident_mib(),
        "produce_cpu_seconds_per_million": median(produced),
        "fetch_cpu_seconds_per_million": median(consumed),
    }


def _cost(broker: Broker, records: int, work: Callable[[], None]) -> float:
    before = broker.cpu_seconds()
    work()
    return (broker.cpu_seconds() - before) / (records / 1_000_000)


def _produce(broker: Broker, topic: str, records: int) -> None:
    with Producer(broker.bootstrap, linger_ms=50, batch_size=BATCH_BYTES) as producer:
        for _ in range(records):
            producer.send(topic, VALUE)


def _consume(broker: Broker, topic: str, records: int) -> None:
    read = 0
    with Consumer(broker.bootstrap, auto_offset_reset="earliest") as consumer:
        consumer.assign([TopicPartition(topic, partition) for partition in range(PARTITIONS)])
        while read < records:
            read += len(consumer.poll(10, max_records=50_000))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--records", type=int, default=1_000_000)
    options = parser.parse_args()
    brokers = {"pyk": reference_broker}
    if why := apache_kafka.missing():
        print(f"Apache Kafka is left out: {why}")
    else:
        apache_kafka.fetch()
        brokers["apache kafka"] = real_kafka
    results = {}
    for name, start in brokers.items():
        with start() as broker:
            results[name] = measure(broker, options.records, options.runs)
        print(f"\n{name}")
        for what, figure in results[name].items():
            print(f"  {what:<34}{figure:>8.3f}")
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
