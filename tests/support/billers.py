"""Processes that write a bill for each order with ``process()``, and are stopped on their way.

``python -m support.billers`` is one of them. It ends when its standard input does.
"""

from __future__ import annotations

import itertools
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import attrs

from pyk.clients import (
    Consumer,
    ConsumerRecord,
    ConsumerRecords,
    KafkaError,
    Producer,
    ProducerRecord,
    TopicPartition,
)
from support.real_time import IN_TIME

PARTITIONS = 3
# How long the group waits for a member that was killed.
SESSION_MS = 3_000
# The configuration of brokers that these processes are for.
BROKER_CONFIG = {
    "group.min.session.timeout.ms": "1000",
    "group.consumer.min.session.timeout.ms": "1000",
    "group.consumer.session.timeout.ms": str(SESSION_MS),
    "group.consumer.min.heartbeat.interval.ms": "100",
    "group.consumer.heartbeat.interval.ms": "500",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "500",
}
PROTOCOLS: dict[str, dict[str, str]] = {
    "range": {"partition_assignment_strategy": "range"},
    "cooperative-sticky": {"partition_assignment_strategy": "cooperative-sticky"},
    "consumer": {"group_protocol": "consumer"},
}


class InterruptedProducer(Producer[Any, Any]):
    """A producer that calls a function at a moment of its second transaction.

    The moments are ``results``, when these are written, ``offsets``, when these are part of the
    transaction, too, and ``commit``, when it is committed and nobody here knows.
    """

    moment = ""
    interrupt: Callable[[], object] = print
    has_committed = False

    def send_offsets_to_transaction(self, *arguments: Any, **options: Any) -> None:
        self.flush()
        self._come_to("results")
        super().send_offsets_to_transaction(*arguments, **options)

    def commit_transaction(self, timeout: float | None = None) -> None:
        self._come_to("offsets")
        super().commit_transaction(timeout)
        self._come_to("commit")
        self.has_committed = True

    def _come_to(self, moment: str) -> None:
        if moment == self.moment and self.has_committed:
            self.moment = ""
            self.interrupt()


@attrs.frozen
class Billing:
    """What a process is to do. Bills go to the topic whose name ends in ``.bills``."""

    bootstrap: str
    orders: str
    transactional_id: str
    protocol: str = "range"
    is_in_batches: bool = False
    moment: str = ""
    """The moment of a transaction at which it gets a signal."""
    signal: int = signal.SIGKILL
    transaction_timeout_ms: int = 60_000

    def producer(self, kind: type[Any] = InterruptedProducer) -> Any:
        return kind(
            self.bootstrap,
            transactional_id=self.transactional_id,
            transaction_timeout_ms=self.transaction_timeout_ms,
        )

    def consumer(self) -> Consumer[Any, Any]:
        options: dict[str, Any] = dict(PROTOCOLS[self.protocol])
        if self.protocol != "consumer":
            options |= {"session_timeout_ms": SESSION_MS, "heartbeat_interval_ms": 500}
        return Consumer(
            self.bootstrap,
            topics=[self.orders],
            group_id=self.orders,
            client_id=self.transactional_id,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            isolation_level="read_committed",
            **options,
        )

    def run(self, end: IO[str]) -> None:
        """Write bills until ``end`` is closed."""
        with self.producer() as producer, self.consumer() as consumer:
            producer.moment, producer.interrupt = self.moment, self._interrupt
            numbers = itertools.count(1)

            def bill(order: ConsumerRecord[Any, Any]) -> ProducerRecord:
                # So that there are two transactions at least.
                while self.moment and next(numbers) > 20 and not producer.has_committed:
                    time.sleep(0.01)
                return ProducerRecord(f"{self.orders}.bills", order.value)

            def bill_all(orders: ConsumerRecords[Any, Any]) -> list[ProducerRecord]:
                return [bill(order) for order in orders]

            threading.Thread(target=lambda: (end.read(), consumer.wakeup()), daemon=True).start()
            if self.is_in_batches:
                consumer.process_batches(bill_all, max_records=5, producer=producer)
            else:
                consumer.process(bill, concurrency=4, ordering="none", producer=producer)

    def _interrupt(self) -> None:
        print("interrupted", flush=True)
        os.kill(os.getpid(), self.signal)


class Biller:
    """A process that writes bills."""

    def __init__(self, billing: Billing) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "support.billers", json.dumps(attrs.asdict(billing))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
        )

    def __enter__(self) -> Biller:
        return self

    def __exit__(self, *exc: object) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()

    def wait_until_interrupted(self) -> None:
        assert self._process.stdout is not None
        assert select.select([self._process.stdout], [], [], IN_TIME)[0]
        assert self._process.stdout.readline() == "interrupted\n"

    def go_on(self) -> None:
        """Continue a process that was stopped."""
        self._process.send_signal(signal.SIGCONT)

    def end(self) -> str:
        """Let the process end; return how it did."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        status = self._process.wait(IN_TIME)
        return self._process.stdout.read().strip() or f"status {status}"


def bills(bootstrap: str, orders: str) -> Counter[bytes]:
    """Return how often each order has a bill that is committed."""
    partition = TopicPartition(f"{orders}.bills", 0)
    with Consumer(
        bootstrap, auto_offset_reset="earliest", isolation_level="read_committed"
    ) as reader:
        reader.assign([partition])
        end = reader.end_offsets([partition])[partition]
        found: Counter[bytes] = Counter()
        while reader.position(partition) < end:
            found.update(record.value for record in reader.poll(timeout=1.0))
        return found


def committed(bootstrap: str, orders: str) -> dict[int, int]:
    """Return the committed offsets of the orders by partition."""
    partitions = [TopicPartition(orders, number) for number in range(PARTITIONS)]
    with Consumer(bootstrap, group_id=orders) as observer:
        found = observer.committed(partitions)
    return {p.partition: one.offset for p, one in found.items() if one is not None}


def main() -> None:
    billing = Billing(**json.loads(sys.argv[1]))
    try:
        billing.run(sys.stdin)
    except KafkaError as error:
        print(type(error).__name__)
        raise
    print("done")


if __name__ == "__main__":
    main()
