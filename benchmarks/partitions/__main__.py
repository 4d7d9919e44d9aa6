"""Measure many partitions on one node: ``python -m benchmarks.partitions [--counts 1000 10000]``.

Linux only. For each number of partitions and each step: seconds that passed, CPU seconds of the
broker and of the clients, and the broker's resident memory and open files after it. ``--topics``
divides the partitions among so many topics, one by default. That the steps grow no faster than the
partitions is held by ``tests/simulation/test_many_partitions.py``, which counts.
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
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.broker.__main__ import Broker
from pyk.clients import Admin, Consumer, NewTopic, OffsetSpec, Producer, TopicPartition

RESULTS = Path(__file__).resolve().parents[1] / "results" / "partitions.json"
VALUE = b"x" * 100
IDLE_SECONDS = 60
AT_ONCE = 5_000
"""Kafka takes at most 10,000 records of metadata in one request, and a topic is one more."""

Figures = dict[str, float]


class Node:
    """A broker in a process of its own, and what its steps have cost."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self.steps: dict[str, Figures] = {}

    @property
    def bootstrap(self) -> str:
        return self.broker.bootstrap

    def start(self, name: str) -> None:
        started = time.perf_counter()
        command = [
            sys.executable, "-m", "pyk.command_line",
            "broker", "--port", "0", "--data-dir", self._folder,
        ]  # fmt: skip
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        bootstrap = self._process.stdout.readline().split()[1]
        self.broker = Broker(bootstrap, self._process.pid, time.perf_counter() - started)
        self._note(name, self.broker.start_seconds, self.broker.cpu_seconds(), 0.0)

    def stop(self) -> None:
        began, before = time.perf_counter(), self.broker.cpu_seconds()
        self._process.terminate()
        cpu = before
        while self._process.poll() is None:
            with contextlib.suppress(OSError, IndexError):
                cpu = max(cpu, self.broker.cpu_seconds())
            time.sleep(0.02)
        self.steps["stop"] = {"seconds": time.perf_counter() - began, "broker": cpu - before}

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    @contextlib.contextmanager
    def step(self, name: str) -> Iterator[None]:
        began, broker, client = time.perf_counter(), self.broker.cpu_seconds(), time.process_time()
        yield
        self._note(
            name,
            time.perf_counter() - began,
            self.broker.cpu_seconds() - broker,
            time.process_time() - client,
        )

    def _note(self, name: str, seconds: float, broker: float, client: float) -> None:
        self.steps[name] = {
            "seconds": seconds,
            "broker": broker,
            "client": client,
            "mib": self.broker.resident_mib(),
            "files": len(os.listdir(f"/proc/{self.broker.pid}/fd")),
        }


def measure(node: Node, topics: Sequence[str], partitions_each: int) -> None:
    """Live a broker's life with these topics."""
    partitions = [TopicPartition(name, n) for name in topics for n in range(partitions_each)]
    node.start("first start")
    with node.step("create"):
        _create(node, topics, partitions_each)
    with node.step("describe"), Admin(node.bootstrap) as admin:
        admin.describe_topics(topics, timeout=300)
    with node.step("produce a record to each"):
        _produce(node, partitions)
    with node.step("list offsets"):
        _list_offsets(node, partitions)
    with node.step("read all, assigned"):
        _read(node, len(partitions), lambda consumer: consumer.assign(partitions))
    for protocol in ("classic", "consumer"):
        with node.step(f"read all, group of type {protocol}"):
            _read(node, len(partitions), topics=topics, group_id=protocol, group_protocol=protocol)
    with node.step(f"{IDLE_SECONDS} s without clients"):
        time.sleep(IDLE_SECONDS)
    node.stop()
    node.start("start")
    with node.step("first list offsets after it"):
        _list_offsets(node, partitions)
    node.kill()
    node.start("start after kill -9")
    with node.step("delete"), Admin(node.bootstrap) as admin:
        admin.delete_topics(topics, timeout=300)
    node.kill()


def _create(node: Node, topics: Sequence[str], partitions_each: int) -> None:
    """Create the topics, and wait until their logs are open."""
    at_once = min(partitions_each, AT_ONCE)
    with Admin(node.bootstrap) as admin:
        for first in range(0, len(topics), AT_ONCE // at_once // 2 or 1):
            some = topics[first : first + (AT_ONCE // at_once // 2 or 1)]
            admin.create_topics([NewTopic(name, partitions=at_once) for name in some], timeout=300)
        if at_once < partitions_each:
            admin.create_partitions(dict.fromkeys(topics, partitions_each), timeout=300)
        last = TopicPartition(topics[-1], partitions_each - 1)
        admin.list_offsets({last: OffsetSpec.LATEST}, timeout=300)


def _produce(node: Node, partitions: Sequence[TopicPartition]) -> None:
    with Producer(node.bootstrap, linger_ms=50) as producer:
        for topic, partition in partitions:
            producer.send(topic, VALUE, partition=partition)


def _list_offsets(node: Node, partitions: Sequence[TopicPartition]) -> None:
    with Admin(node.bootstrap) as admin:
        admin.list_offsets(dict.fromkeys(partitions, OffsetSpec.LATEST), timeout=300)


def _read(
    node: Node,
    count: int,
    prepare: Callable[[Consumer[Any, Any]], object] = lambda consumer: None,
    **options: Any,
) -> None:
    consumer: Consumer[Any, Any] = Consumer(node.bootstrap, auto_offset_reset="earliest", **options)
    with consumer:
        prepare(consumer)
        while count > 0:
            count -= len(consumer.poll(10, max_records=50_000))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--counts", type=int, nargs="+", default=[1_000, 3_000, 10_000])
    parser.add_argument("--topics", type=int, default=1)
    options = parser.parse_args()
    results = {}
    for count in options.counts:
        topics = [f"topic-{number}" for number in range(options.topics)]
        with tempfile.TemporaryDirectory(prefix="pyk-bench-") as folder:
            node = Node(folder)
            try:
                measure(node, topics, count // options.topics)
            finally:
                node.kill()
        results[count] = node.steps
        print(f"\n{count} partitions, {options.topics} topics")
        for name, figures in node.steps.items():
            told = "  ".join(f"{what} {figure:8.2f}" for what, figure in figures.items())
            print(f"  {name:<34}{told}", flush=True)
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
