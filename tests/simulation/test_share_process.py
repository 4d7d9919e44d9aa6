"""``process()`` of share consumers acknowledges each record by itself, in virtual time."""

from __future__ import annotations

import asyncio
import contextlib
import json
from contextlib import asynccontextmanager
from typing import Any

from pyk.clients import RetryPolicy, current_attempt
from pyk.protocol.api_keys import ApiKey
from pyk.protocol.versions import VersionRange
from pyk.runtime.virtual_time import current_clock, eventually, virtual_time
from support.share_cluster import ACCEPT, GAP, REJECT
from support.share_consuming import share_cluster, share_consumer


@asynccontextmanager
async def processing(cluster: Any, handler: Any, **options: Any):
    """Handle records until the block ends."""
    names = ("concurrency", "deadline", "retry", "dead_letter")
    given = {name: options.pop(name) for name in names if name in options}
    async with share_consumer(cluster, **options) as consumer:
        running = asyncio.create_task(consumer.process(handler, **given))
        yield consumer
        consumer.wakeup()
        await running
        assert consumer.stats().pending_acknowledgements == 0


@virtual_time
async def test_handlers_run_side_by_side_and_every_record_is_accepted():
    async with share_cluster(partitions=2) as cluster:
        for number in range(10):
            cluster.produce(*[b"v"] * 10, partition=number % 2)
        began = current_clock().now()

        async def handle(record: Any) -> None:
            await asyncio.sleep(1)

        async with processing(cluster, handle, concurrency=50):
            await eventually(lambda: cluster.outcomes(0) + cluster.outcomes(1) == [ACCEPT] * 100)

        assert current_clock().now() - began < 15
        assert set(cluster.final.values()) == {1}


@virtual_time
async def test_locks_are_renewed_while_a_handler_runs():
    async with share_cluster(lock_seconds=3) as cluster:
        cluster.produce(b"slow", b"quick")
        calls: list[bytes] = []

        async def handle(record: Any) -> None:
            calls.append(record.value)
            await asyncio.sleep(20 if record.value == b"slow" else 0.1)

        async with processing(cluster, handle):
            await eventually(lambda: cluster.outcomes() == [ACCEPT] * 2, timeout=60)

        assert calls == [b"slow", b"quick"]


@virtual_time
async def test_a_record_whose_handler_fails_is_released_alone(caplog: Any):
    async with share_cluster() as cluster:
        cluster.produce(b"a", b"b", b"c")
        counts: list[int] = []

        def handle(record: Any) -> None:
            if record.value == b"b":
                counts.append(record.delivery_count)
                if len(counts) < 3:
                    raise ValueError("not now")

        async with processing(cluster, handle):
            await eventually(lambda: cluster.outcomes() == [ACCEPT] * 3)

        assert counts == [1, 2, 3]
        assert "at offset 1, attempt 1; released after delivery 1, for another one" in caplog.text
        assert caplog.text.count("A handler failed") == 1
        assert "Handlers failed 1 more times since the last warning" in caplog.text


@virtual_time
async def test_a_record_that_fails_for_good_is_rejected_and_put_aside():
    async with share_cluster() as cluster:
        cluster.produce(b"1", b"{", b"3")
        aside: list[Any] = []

        async def handle(record: Any) -> None:
            if record.value == 3:
                raise ValueError("never")

        options: dict[str, Any] = {
            "retry": RetryPolicy(attempts=3, backoff=0.1),
            "dead_letter": lambda record, error: aside.append((record.value, type(error).__name__)),
            "value_deserializer": json.loads,
        }
        async with processing(cluster, handle, **options):
            await eventually(lambda: cluster.outcomes() == [ACCEPT, REJECT, REJECT])

        assert sorted(aside) == [(b"3", "ValueError"), (b"{", "DeserializationError")]


@virtual_time
async def test_the_end_gives_back_what_is_not_handled():
    async with share_cluster() as cluster:
        cluster.produce(*[b"v"] * 10)
        handled: list[int] = []

        async def handle(record: Any) -> None:
            handled.append(record.offset)
            await asyncio.sleep(1)

        async with processing(cluster, handle, concurrency=2) as consumer:
            await eventually(lambda: len(handled) >= 4)
            consumer.wakeup()
            await eventually(lambda: not cluster.held())

            assert cluster.outcomes().count(ACCEPT) == len(handled)


@virtual_time
async def test_offsets_without_records_do_not_stay_locked():
    async with share_cluster() as cluster:
        cluster.produce(b"a")
        cluster.produce(b"b", gap=2)

        async with processing(cluster, lambda record: None):
            await eventually(lambda: cluster.outcomes() == [ACCEPT, GAP, GAP, ACCEPT])


@virtual_time
async def test_no_more_is_acquired_than_handlers_can_begin_soon():
    async with share_cluster() as cluster:
        for _ in range(100):
            cluster.produce(b"v")

        async def handle(record: Any) -> None:
            await asyncio.sleep(5)

        async with processing(cluster, handle, concurrency=4, max_poll_records=500):
            await asyncio.sleep(3)
            assert len(cluster.held()) <= 16
            await eventually(lambda: cluster.outcomes() == [ACCEPT] * 100, timeout=300)


@virtual_time
async def test_a_handler_that_takes_too_long_is_cancelled_and_its_record_released():
    async with share_cluster() as cluster:
        cluster.produce(b"a")
        counts: list[int] = []

        async def handle(record: Any) -> None:
            counts.append(record.delivery_count)
            if len(counts) == 1:
                await asyncio.sleep(60)

        async with processing(cluster, handle, deadline=2):
            await eventually(lambda: cluster.outcomes() == [ACCEPT])

        assert counts == [1, 2]


@virtual_time
async def test_a_handler_that_never_returns_keeps_its_record_and_no_other():
    async with share_cluster(lock_seconds=3) as cluster:
        cluster.produce(b"stuck", *[b"v"] * 20)
        calls: list[bytes] = []

        async def handle(record: Any) -> None:
            calls.append(record.value)
            if record.value == b"stuck":
                await asyncio.Event().wait()

        async with share_consumer(cluster) as consumer:
            running = asyncio.create_task(consumer.process(handle, concurrency=2))
            await eventually(lambda: cluster.outcomes()[1:] == [ACCEPT] * 20, timeout=60)
            await asyncio.sleep(30)

            assert cluster.held() == [0]
            await consumer.close(5)
            await asyncio.wait_for(running, 10)

        assert (cluster.held(), cluster.outcomes()[0], calls.count(b"stuck")) == ([], None, 1)


@virtual_time
async def test_slow_handlers_where_locks_cannot_be_renewed_are_at_least_once():
    async with share_cluster(lock_seconds=3) as cluster:
        cluster.may_renew = False
        cluster.produce(*[b"%d" % number for number in range(6)])
        calls: list[bytes] = []

        async def handle(record: Any) -> None:
            calls.append(record.value)
            # The first delivery of one record takes longer than its lock.
            await asyncio.sleep(10 if record.value == b"2" and calls.count(b"2") == 1 else 0.1)

        async with processing(cluster, handle, concurrency=4) as consumer:
            await eventually(lambda: cluster.outcomes() == [ACCEPT] * 6, timeout=60)
            await asyncio.sleep(15)

            assert consumer.stats().failed_acknowledgements >= 1

        assert set(calls) == {b"%d" % number for number in range(6)}
        assert set(cluster.final.values()) == {1}
        assert calls.count(b"2") == 2


@virtual_time
async def test_a_handler_that_ends_after_process_acknowledges_nothing():
    async with share_cluster() as cluster:
        cluster.produce(b"late")
        is_free = asyncio.Event()

        async def handle(record: Any) -> None:
            while not is_free.is_set():
                with contextlib.suppress(asyncio.CancelledError):
                    await is_free.wait()

        async with share_consumer(cluster, max_poll_interval_ms=1000) as consumer:
            running = asyncio.create_task(consumer.process(handle))
            await eventually(lambda: cluster.held() == [0])
            consumer.wakeup()
            await running
            again = await consumer.poll(5)
            is_free.set()
            await asyncio.sleep(1)

            assert [record.delivery_count for record in again] == [2]
            assert cluster.outcomes() == [None]
            assert cluster.held() == [0]


@virtual_time
async def test_a_handler_that_fails_after_process_leaves_the_consumer_alone():
    async with share_cluster() as cluster:
        cluster.produce(b"late")
        aside: list[Any] = []
        is_free = asyncio.Event()

        async def handle(record: Any) -> None:
            while not is_free.is_set():
                with contextlib.suppress(asyncio.CancelledError):
                    await is_free.wait()
            raise ValueError("too late")

        def put_aside(record: Any, error: Exception) -> None:
            aside.append(record.value)
            raise error

        async with share_consumer(cluster, max_poll_interval_ms=1000) as consumer:
            running = asyncio.create_task(consumer.process(handle, dead_letter=put_aside))
            await eventually(lambda: cluster.held() == [0])
            consumer.wakeup()
            await running
            is_free.set()
            await asyncio.sleep(1)

            again = await consumer.poll(5)
            assert [record.value for record in again] == [b"late"]
            assert aside == []


@virtual_time
async def test_locks_are_renewed_at_leaders_that_can_although_another_one_cannot():
    async with share_cluster(lock_seconds=3, nodes=2, partitions=2) as cluster:
        cluster.versions_of_node[1] = {ApiKey.SHARE_ACKNOWLEDGE: VersionRange(1, 1)}
        cluster.produce(b"old", partition=0)
        cluster.produce(b"new", partition=1)
        calls: list[bytes] = []

        async def handle(record: Any) -> None:
            calls.append(record.value)
            await asyncio.sleep(20 if record.value == b"new" else 2.5)

        async with processing(cluster, handle):
            await eventually(lambda: cluster.outcomes(1) == [ACCEPT], timeout=60)

        assert calls.count(b"new") == 1


@virtual_time
async def test_a_handler_that_stops_because_its_lock_is_over_accepts_nothing():
    async with share_cluster(lock_seconds=3) as cluster:
        cluster.may_renew = False
        cluster.produce(b"slow")
        taken: list[float] = []

        async def handle(record: Any) -> None:
            began, attempt = current_clock().now(), current_attempt()
            while record.delivery_count == 1 and not attempt.is_cancelled:
                await asyncio.sleep(0.1)
            taken.append(current_clock().now() - began)

        async with processing(cluster, handle):
            await eventually(lambda: cluster.outcomes() == [ACCEPT])

        assert 2.8 < max(taken) < 4.1  # looks for locks are a second apart
        assert len(taken) == 2
