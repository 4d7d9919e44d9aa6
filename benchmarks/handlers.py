"""What ``process()`` costs for each record, and how many handlers it keeps running.

``python -m benchmarks.handlers`` runs a broker in a process of its own. It prints for each case the
time, the CPU time of the client for each record, and whether the order of every key was kept.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time
from typing import Any

from pyk.clients import Admin, AsyncConsumer, Consumer, NewTopic, Producer

RECORDS = 50_000
KEYS = 20_000


class Order:
    """Counts records, and notices one that comes before an earlier one of its key."""

    def __init__(self, consumer: Any, count: int) -> None:
        self.consumer = consumer
        self.left = count
        self.is_kept = True
        self._last: dict[tuple[int, bytes], int] = {}
        self._lock = threading.Lock()

    def finished(self, record: Any) -> None:
        with self._lock:
            key = record.partition, record.key
            self.is_kept &= self._last.get(key, -1) < record.offset
            self._last[key] = record.offset
            self.left -= 1
            if not self.left:
                self.consumer.wakeup()


def fill(bootstrap: str) -> None:
    with Admin(bootstrap) as admin:
        admin.create_topics([NewTopic("orders", partitions=4)])
    with Producer[bytes, bytes](bootstrap) as producer:
        for n in range(RECORDS):
            producer.send("orders", b"x" * 100, b"%d" % (n % KEYS))


async def in_tasks(bootstrap: str, group: str, concurrency: int, seconds: float) -> bool:
    async with AsyncConsumer[bytes, bytes](
        bootstrap, topics=["orders"], group_id=group, auto_offset_reset="earliest"
    ) as consumer:
        order = Order(consumer, RECORDS)

        async def handle(record: Any) -> None:
            if seconds:
                await asyncio.sleep(seconds)
            order.finished(record)

        await consumer.process(handle, concurrency=concurrency, ordering="key")
        return order.is_kept


async def plain_loop(bootstrap: str, group: str) -> bool:
    async with AsyncConsumer[bytes, bytes](
        bootstrap, topics=["orders"], group_id=group, auto_offset_reset="earliest"
    ) as consumer:
        order = Order(consumer, RECORDS)
        async for record in consumer:
            order.finished(record)
            if not order.left:
                return order.is_kept
    return False


def in_threads(bootstrap: str, group: str, concurrency: int, seconds: float) -> bool:
    with Consumer[bytes, bytes](
        bootstrap, topics=["orders"], group_id=group, auto_offset_reset="earliest"
    ) as consumer:
        order = Order(consumer, RECORDS)

        def handle(record: Any) -> None:
            time.sleep(seconds)
            order.finished(record)

        consumer.process(handle, concurrency=concurrency, ordering="key")
        return order.is_kept


def report(name: str, run: Any) -> None:
    wall, cpu = time.perf_counter(), time.process_time()
    is_kept = run()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    order = "order kept" if is_kept else "ORDER BROKEN"
    print(f"{name:32} {wall:7.2f} s {cpu / RECORDS * 1e6:8.1f} us CPU/record  {order}", flush=True)


def main() -> None:
    command = [sys.executable, "-m", "pyk.command_line", "broker", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as broker:
        assert broker.stdout is not None
        bootstrap = broker.stdout.readline().split()[1]
        try:
            fill(bootstrap)
            report("async for, handler of 0 ms", lambda: asyncio.run(plain_loop(bootstrap, "a")))
            report("tasks, handlers of 0 ms", lambda: asyncio.run(in_tasks(bootstrap, "b", 16, 0)))
            report(
                "10,000 tasks, handlers of 10 ms",
                lambda: asyncio.run(in_tasks(bootstrap, "c", 10_000, 0.01)),
            )
            report("256 threads, handlers of 10 ms", lambda: in_threads(bootstrap, "d", 256, 0.01))
        finally:
            broker.terminate()


if __name__ == "__main__":
    main()
