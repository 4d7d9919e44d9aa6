"""Handle the records of a keyed topic side by side with one client, and print the cost.

10,000 tasks or 256 threads, of which each waits for 10 ms: with ``process()``, and with what users
of the other clients write today. All keep the order of each key, which is checked, and commit by
hand only offsets before which everything is finished. The cases of ``asyncio`` run the same
handlers for records that are there already. The clock runs from the first handler to the last
commit.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import attrs

from benchmarks.clients.consume import Run
from benchmarks.clients.meter import arguments, values

TASKS = 10_000
THREADS = 256
SECONDS = 0.01
KEYS = 20_000
COMMIT_INTERVAL = 5.0
"""Seconds, as ``auto_commit_interval_ms`` of all clients."""
AT_ONCE = 500


@attrs.define
class Handler:
    """What all clients call: it waits, counts, and checks the order of each key."""

    run: Run
    seconds: float
    at_end: Callable[[], object]
    left: int = attrs.field(init=False)
    is_kept: bool = True
    _last: dict[bytes, int] = attrs.Factory(dict)
    _lock: threading.Lock = attrs.Factory(threading.Lock)
    _has_begun: bool = False

    def __attrs_post_init__(self) -> None:
        self.left = self.run.records

    async def wait(self, key: bytes, offset: int) -> None:
        """Handle a record in a task."""
        if not self._has_begun:
            self._begin()
        if self.seconds:
            await asyncio.sleep(self.seconds)
        self._finish(key, offset)

    def sleep(self, key: bytes, offset: int) -> None:
        """Handle a record in a thread."""
        if not self._has_begun:
            self._begin()
        time.sleep(self.seconds)
        with self._lock:
            self._finish(key, offset)

    def _begin(self) -> None:
        self._has_begun = True
        self.run.first(0)

    def _finish(self, key: bytes, offset: int) -> None:
        # A key has one partition, so its offsets ascend.
        if self._last.get(key, -1) >= offset:
            self.is_kept = False
        self._last[key] = offset
        self.left -= 1
        if not self.left:
            self.at_end()

    def report(self) -> None:
        assert self.is_kept, "records of a key were handled out of order"
        self.run.done(self.run.records - self.left)


def fill(bootstrap: str, topic: str, records: int) -> None:
    from pyk.clients import Producer

    made = values()
    with Producer[bytes, bytes](bootstrap) as producer:
        for n in range(records):
            producer.send(topic, made[n % len(made)], b"%d" % (n % KEYS))


def _group() -> str:
    """Return the name of a group of this run, which reads from the beginning."""
    return f"handlers-{os.getpid()}"


# -- pyk -------------------------------------------------------------------------------------------


def _pyk_options(run: Run) -> dict[str, Any]:
    return {"topics": [run.topic], "group_id": _group(), "auto_offset_reset": "earliest"}


async def pyk_tasks(run: Run, seconds: float = SECONDS) -> None:
    from pyk.clients import AsyncConsumer

    async with AsyncConsumer[bytes, bytes](run.bootstrap, **_pyk_options(run)) as consumer:
        handler = Handler(run, seconds, consumer.wakeup)

        async def handle(record: Any) -> None:
            await handler.wait(record.key, record.offset)

        await consumer.process(handle, concurrency=TASKS, ordering="key")
        handler.report()


async def pyk_idle_tasks(run: Run) -> None:
    await pyk_tasks(run, 0.0)


def pyk_threads(run: Run) -> None:
    from pyk.clients import Consumer

    with Consumer[bytes, bytes](run.bootstrap, **_pyk_options(run)) as consumer:
        handler = Handler(run, SECONDS, consumer.wakeup)

        def handle(record: Any) -> None:
            handler.sleep(record.key, record.offset)

        consumer.process(handle, concurrency=THREADS, ordering="key")
        handler.report()


# -- what users of other clients write -------------------------------------------------------------


class Progress:
    """Which offset of each partition may be committed: all before it are finished."""

    def __init__(self, commit_at: float) -> None:
        self._begun: dict[Any, deque[tuple[int, Any]]] = {}
        self._commit_at = commit_at

    def begin(self, partition: Any, offset: int, handled: Any) -> None:
        """Remember a record; ``handled`` is the future of its handler."""
        self._begun.setdefault(partition, deque()).append((offset, handled))

    def due(self, now: float) -> dict[Any, int]:
        """Return what to commit, if it is time."""
        if now < self._commit_at:
            return {}
        self._commit_at = now + COMMIT_INTERVAL
        return self.finished()

    def finished(self) -> dict[Any, int]:
        offsets = {}
        for partition, begun in self._begun.items():
            while begun and begun[0][1].done():
                offset, handled = begun.popleft()
                handled.result()
                offsets[partition] = offset + 1
        return offsets


class TaskChains:
    """Tasks side by side, bounded by a semaphore; those of a key one after the other."""

    def __init__(self) -> None:
        self._room = asyncio.Semaphore(TASKS)
        self._last: dict[bytes, asyncio.Task[None]] = {}

    async def start(self, key: bytes, call: Callable[[], Awaitable[None]]) -> asyncio.Task[None]:
        await self._room.acquire()
        task = asyncio.create_task(self._run(key, self._last.get(key), call))
        self._last[key] = task
        return task

    async def _run(
        self, key: bytes, before: asyncio.Task[None] | None, call: Callable[[], Awaitable[None]]
    ) -> None:
        try:
            if before is not None:
                await before
            await call()
        finally:
            if self._last[key] is asyncio.current_task():
                del self._last[key]
            self._room.release()


async def aiokafka_tasks(run: Run) -> None:
    from aiokafka import AIOKafkaConsumer

    consumer = AIOKafkaConsumer(
        run.topic,
        bootstrap_servers=run.bootstrap,
        group_id=_group(),
        auto_offset_reset="earliest",
        enable_auto_commit=False,
    )
    await consumer.start()
    ended = asyncio.Event()
    handler, chains = Handler(run, SECONDS, ended.set), TaskChains()
    progress = Progress(time.monotonic() + COMMIT_INTERVAL)
    while not ended.is_set():
        found = await consumer.getmany(timeout_ms=10, max_records=AT_ONCE)
        for partition, records in found.items():
            for record in records:
                call = partial(handler.wait, record.key, record.offset)
                task = await chains.start(record.key, call)
                progress.begin(partition, record.offset, task)
        if due := progress.due(time.monotonic()):
            await consumer.commit(due)
    await asyncio.sleep(0)
    await consumer.commit(progress.finished())
    handler.report()
    await consumer.stop()


class ThreadLanes:
    """Calls in the threads of a pool; those of a key one after the other."""

    def __init__(self, pool: ThreadPoolExecutor) -> None:
        self._pool = pool
        self._room = threading.Semaphore(2 * THREADS)
        self._lock = threading.Lock()
        self._waiting: dict[bytes, deque[LaneCall]] = {}

    def start(self, key: bytes, function: Callable[[], None]) -> LaneCall:
        self._room.acquire()
        call = LaneCall(function)
        with self._lock:
            waiting = self._waiting.get(key)
            if waiting is not None:
                waiting.append(call)
                return call
            self._waiting[key] = deque()
        self._pool.submit(self._run, key, call)
        return call

    def _run(self, key: bytes, call: LaneCall) -> None:
        while True:
            call.function()
            call.is_done = True
            self._room.release()
            with self._lock:
                waiting = self._waiting[key]
                if not waiting:
                    del self._waiting[key]
                    return
                call = waiting.popleft()


@attrs.define
class LaneCall:
    """One call in a lane, which tells when it is done."""

    function: Callable[[], None]
    is_done: bool = False

    def done(self) -> bool:
        return self.is_done

    def result(self) -> None:
        """Raise nothing: the handlers of this benchmark do not fail."""


def confluent_threads(run: Run) -> None:
    from confluent_kafka import Consumer

    consumer = Consumer(
        {
            "bootstrap.servers": run.bootstrap,
            "group.id": _group(),
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "fetch.queue.backoff.ms": 5,
        }
    )
    consumer.subscribe([run.topic])
    ended = threading.Event()
    handler = Handler(run, SECONDS, ended.set)
    progress = Progress(time.monotonic() + COMMIT_INTERVAL)
    with ThreadPoolExecutor(THREADS) as pool:
        lanes = ThreadLanes(pool)
        while not ended.is_set():
            for message in consumer.consume(AT_ONCE, 0.01):
                key, offset = message.key() or b"", message.offset() or 0
                call = lanes.start(key, partial(handler.sleep, key, offset))
                progress.begin(message.partition(), offset, call)
            if due := progress.due(time.monotonic()):
                _commit_confluent(consumer, run.topic, due)
    _commit_confluent(consumer, run.topic, progress.finished())
    handler.report()
    consumer.close()


def _commit_confluent(consumer: Any, topic: str, offsets: dict[int, int]) -> None:
    from confluent_kafka import TopicPartition

    consumer.commit(
        offsets=[TopicPartition(topic, partition, offset) for partition, offset in offsets.items()],
        asynchronous=False,
    )


# -- without Kafka ---------------------------------------------------------------------------------


async def asyncio_tasks(run: Run, seconds: float = SECONDS) -> None:
    """Run the handlers in tasks that take one record after the other from a list."""
    records = iter([Item(b"%d" % (n % KEYS), n) for n in range(run.records)])
    handler = Handler(run, seconds, lambda: None)

    async def handle(record: Any) -> None:
        await handler.wait(record.key, record.offset)

    async def work() -> None:
        for record in records:
            await handle(record)

    tasks = TASKS if seconds else 1
    await asyncio.gather(*(work() for _ in range(tasks)))
    handler.report()


@attrs.define
class Item:
    """What a handler reads of a record."""

    key: bytes
    offset: int


async def asyncio_idle_tasks(run: Run) -> None:
    await asyncio_tasks(run, 0.0)


CASES = {
    "pyk process, tasks of 10 ms": pyk_tasks,
    "aiokafka tasks of 10 ms": aiokafka_tasks,
    "asyncio tasks of 10 ms": asyncio_tasks,
    "pyk process, tasks of 0 ms": pyk_idle_tasks,
    "asyncio tasks of 0 ms": asyncio_idle_tasks,
    "pyk process, threads of 10 ms": pyk_threads,
    "confluent threads of 10 ms": confluent_threads,
}


def main() -> None:
    options = arguments(__doc__ or "", list(CASES))
    result = CASES[options.case](Run(options))
    if result is not None:
        asyncio.run(result)


if __name__ == "__main__":
    main()
