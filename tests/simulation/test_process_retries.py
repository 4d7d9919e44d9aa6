"""Records whose handlers fail are tried again, moved, and kept as dead letters."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from pyk.clients import (
    AsyncConsumer,
    JsonDeserializer,
    ProducerRecord,
    RetryPolicy,
    StateError,
    TopicPartition,
    current_attempt,
)
from pyk.runtime.virtual_time import current_clock, eventually, virtual_time
from support.consuming import P0, make_consumer, produce, reference_cluster
from support.processing import records_of

TOPICS = ["orders", "orders.1m", "orders.dead"]


@asynccontextmanager
async def cluster_with(count: int) -> AsyncIterator[Any]:
    async with reference_cluster() as cluster:
        for topic in TOPICS:
            await cluster.create_topic(topic, partitions=1)
        await produce(cluster, "orders", count)
        yield cluster


@asynccontextmanager
async def processing(
    consumer: AsyncConsumer[Any, Any], handle: Any, **options: Any
) -> AsyncIterator[None]:
    """Handle records until the block is left."""
    async with consumer:
        task = asyncio.create_task(consumer.process(handle, **options))
        yield
        consumer.wakeup()
        await task


@virtual_time
async def test_a_handler_that_fails_is_called_again_and_holds_up_its_order_only():
    async with cluster_with(6) as cluster:
        done: list[tuple[int, int]] = []

        async def handle(record: Any) -> None:
            number = current_attempt().number
            if record.offset == 2 and number < 3:
                raise ConnectionError("the database is away")
            done.append((record.offset, number))

        consumer = make_consumer(cluster, group_id="g", topics=["orders"])
        policy = RetryPolicy(attempts=3, backoff=1.0)
        began = current_clock().now()
        async with processing(consumer, handle, retry=policy, concurrency=1, ordering="none"):
            await eventually(lambda: len(done) == 6)

        assert done == [(0, 1), (1, 1), (3, 1), (4, 1), (5, 1), (2, 3)]
        assert current_clock().now() - began > 2.3


@virtual_time
async def test_the_last_failure_of_a_record_without_dead_letters_ends_the_call():
    async with (
        cluster_with(3) as cluster,
        make_consumer(cluster, group_id="g", topics=["orders"]) as consumer,
    ):
        calls: list[int] = []

        async def handle(record: Any) -> None:
            calls.append(record.offset)
            if record.offset == 1:
                raise ConnectionError("the database is away")

        with pytest.raises(ConnectionError) as caught:
            await consumer.process(handle, retry=RetryPolicy(attempts=3))

        assert calls == [0, 1, 1, 1]
        assert "attempt 3" in caught.value.__notes__[0]
        committed = (await consumer.committed([P0]))[P0]
        assert committed is not None
        assert committed.offset == 1


@virtual_time
async def test_a_dead_letter_that_fails_again_is_not_moved_to_where_it_is():
    async with (
        cluster_with(3) as cluster,
        make_consumer(cluster, group_id="g", topics=["orders"]) as consumer,
    ):

        async def handle(record: Any) -> None:
            raise ConnectionError("the database is away")

        with pytest.raises(ConnectionError) as raised:
            await consumer.process(handle, dead_letter="orders", concurrency=1)

        assert "not moved: 'orders' itself is the dead letter topic" in raised.value.__notes__
        assert [record.offset for record in await records_of(cluster, "orders", 3)] == [0, 1, 2]


@virtual_time
async def test_a_record_goes_to_its_retry_topic_and_then_to_the_dead_letters():
    async with cluster_with(4) as cluster:
        done: list[tuple[str, bytes]] = []
        failed_at: list[float] = []

        async def handle(record: Any) -> None:
            if record.value == b"1":
                failed_at.append(current_clock().now())
                raise LookupError("no such customer")
            done.append((record.topic, record.value))

        consumer = make_consumer(cluster, group_id="g", topics=TOPICS[:2])
        policy = RetryPolicy(attempts=1, topics={"orders.1m": 60})
        async with processing(consumer, handle, retry=policy, dead_letter="orders.dead"):
            [dead] = await records_of(cluster, "orders.dead", 1)
            retry_topic = TopicPartition("orders.1m", 0)
            consumer.wakeup()
        async with make_consumer(cluster, group_id="g") as observer:
            committed = await observer.committed([P0, retry_topic])

        assert done == [("orders", b"0"), ("orders", b"2"), ("orders", b"3")]
        assert 59 < failed_at[1] - failed_at[0] < 61
        assert (dead.value, dead.key) == (b"1", None)
        headers = dict(dead.headers)
        assert headers["pyk-error"] == b"LookupError"
        assert headers["pyk-error-text"] == b"no such customer"
        assert headers["pyk-attempts"] == b"2"
        assert headers["pyk-origin-topic"] == b"orders"
        assert headers["pyk-origin-offset"] == b"1"
        assert [one and one.offset for one in committed.values()] == [4, 1]


@virtual_time
async def test_a_record_that_cannot_be_deserialized_is_a_dead_letter_at_once():
    async with cluster_with(0) as cluster:
        await produce(cluster, "orders", 3)
        handled: list[Any] = []
        dead: list[tuple[bytes, str]] = []

        def deserialize(data: bytes) -> Any:
            return JsonDeserializer().deserialize("orders", b"{" if data == b"1" else data)

        async def keep(record: Any, error: Exception) -> None:
            dead.append((record.value, type(error).__name__))

        consumer = make_consumer(
            cluster, group_id="g", topics=["orders"], value_deserializer=deserialize
        )

        async def handle(record: Any) -> None:
            handled.append(record.value)

        async with processing(consumer, handle, retry=RetryPolicy(), dead_letter=keep):
            await eventually(lambda: len(handled) == 2 and bool(dead))

        assert handled == [0, 2]
        assert dead == [(b"1", "DeserializationError")]


@virtual_time
async def test_a_record_is_not_finished_before_it_is_written_to_the_dead_letters():
    async with cluster_with(2) as cluster:
        consumer = make_consumer(cluster, group_id="g", topics=["orders"])

        async def handle(record: Any) -> None:
            raise LookupError("no such customer")

        def refuse(record: Any, error: Exception) -> None:
            raise OSError("the disk is full")

        async with consumer:
            with pytest.raises(OSError, match="the disk is full"):
                await consumer.process(handle, dead_letter=refuse)
            committed = (await consumer.committed([P0]))[P0]

        assert committed is None or committed.offset == 0


@pytest.mark.parametrize("dead_letter", [None, "orders.dead"])
@pytest.mark.parametrize("is_plain", [False, True])
@virtual_time
async def test_results_without_a_producer_end_the_call_and_move_no_record(dead_letter, is_plain):
    async with cluster_with(2) as cluster:

        async def handle(record: Any) -> ProducerRecord:
            return ProducerRecord("bills", record.value)

        def handle_at_once(record: Any) -> list[ProducerRecord]:
            return []

        async with make_consumer(cluster, group_id="g", topics=["orders"]) as consumer:
            with pytest.raises(StateError, match="the handler must return None, not "):
                await consumer.process(
                    handle_at_once if is_plain else handle, dead_letter=dead_letter
                )
            committed = (await consumer.committed([P0]))[P0]

        assert committed is None or committed.offset == 0


@virtual_time
async def test_failures_that_the_policy_takes_care_of_are_logged_and_do_not_flood_the_log(caplog):
    async with cluster_with(500) as cluster:
        failed: list[int] = []

        async def handle(record: Any) -> None:
            failed.append(record.offset)
            raise LookupError("no such customer")

        consumer = make_consumer(cluster, group_id="g", topics=["orders"])
        async with processing(consumer, handle, dead_letter="orders.dead"):
            await eventually(lambda: len(failed) == 500)

        lines = [line for line in caplog.messages if "failed" in line]
        assert lines[0] == (
            "A handler failed for the record of orders-0 at offset 0, attempt 1; moved to dead "
            "letter topic 'orders.dead': LookupError('no such customer')"
        )
        assert len(lines) < 5
        assert sum(map(failures_in, lines)) == 500


def failures_in(line: str) -> int:
    """Return how many failures a line of the log counts."""
    numbers = re.findall(r"(\d+) more", line)
    return line.startswith("A handler failed") + sum(map(int, numbers))
