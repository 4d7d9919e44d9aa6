"""Retry topics and dead letters that are missing, or are read after a restart."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random
from typing import Any

import pytest

from pyk.clients import AsyncAdmin, AsyncProducer, RetryPolicy, TopicPartition
from pyk.clients.errors import (
    KafkaTimeoutError,
    RecordTooLargeError,
    UnknownTopicOrPartitionError,
)
from pyk.runtime.virtual_time import current_clock, eventually, virtual_time
from support.consuming import P0, make_consumer, network_of, produce, reference_cluster
from support.environments import client_options
from support.processing import records_of
from support.share_consuming import share_cluster, share_consumer

RETRIES = RetryPolicy(attempts=1, topics={"orders.1m": 60})


@asynccontextmanager
async def cluster_with(*topics: str, creates: bool = False) -> AsyncIterator[Any]:
    """Run a broker with three orders and some more topics, which creates no others by itself."""
    async with reference_cluster(auto_create_topics_enable=creates) as cluster:
        for topic in ("orders", *topics):
            await cluster.create_topic(topic, partitions=1)
        await produce(cluster, "orders", 3)
        yield cluster


async def fail(record: Any) -> None:
    raise LookupError("no such customer")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dead_letter": "orders.dead"}, "dead letter topic 'orders.dead'"),
        ({"dead_letter": print, "retry": RETRIES}, "retry topic 'orders.1m'"),
    ],
)
@virtual_time
async def test_a_topic_that_does_not_exist_is_told_before_the_first_record(options, message):
    async with (
        cluster_with() as cluster,
        make_consumer(cluster, group_id="g", topics=["orders"]) as consumer,
    ):
        began = current_clock().now()

        with pytest.raises(UnknownTopicOrPartitionError, match=f"the {message} of") as raised:
            await consumer.process(fail, **options)

        assert current_clock().now() - began < 15
        assert raised.value.topic in message
        assert len(await consumer.poll(60)) == 3


@virtual_time
async def test_topics_are_created_where_brokers_do_that():
    async with (
        cluster_with(creates=True) as cluster,
        make_consumer(cluster, group_id="g", topics=["orders"]) as consumer,
    ):
        task = asyncio.create_task(consumer.process(fail, retry=RETRIES, dead_letter="orders.dead"))
        await records_of(cluster, "orders.1m", 3)
        consumer.wakeup()
        await task

        assert await consumer.partitions_for("orders.dead") == {0}


@virtual_time
async def test_a_consumer_that_is_closed_while_topics_are_looked_up_ends_the_call():
    async with (
        cluster_with() as cluster,
        make_consumer(cluster, group_id="g", topics=["orders"]) as consumer,
    ):
        task = asyncio.create_task(consumer.process(fail, dead_letter="orders.dead"))
        await asyncio.sleep(1)
        await consumer.close()
        await task


@virtual_time
async def test_a_share_consumer_that_is_closed_then_ends_the_call_too():
    async with share_cluster() as cluster, share_consumer(cluster) as consumer:
        task = asyncio.create_task(consumer.process(fail, dead_letter="orders.dead"))
        await asyncio.sleep(1)
        await consumer.close()
        await task


@virtual_time
async def test_a_share_consumer_is_told_too():
    async with share_cluster() as cluster, share_consumer(cluster) as consumer:
        with pytest.raises(UnknownTopicOrPartitionError, match=r"dead letter topic 'orders\.dead'"):
            await consumer.process(fail, dead_letter="orders.dead")


@pytest.mark.parametrize("transactional_id", [None, "orders"])
@virtual_time
async def test_a_topic_that_is_deleted_ends_the_call_and_loses_no_record(transactional_id):
    options: dict[str, Any] = {"group_id": "g", "topics": ["orders"]}
    if transactional_id is not None:
        options |= {"enable_auto_commit": False, "isolation_level": "read_committed"}
    async with cluster_with("orders.dead") as cluster:
        clients = client_options(network_of(cluster))
        producer: AsyncProducer[Any, Any] = AsyncProducer(
            cluster.bootstrap, transactional_id=transactional_id, **clients
        )

        async def delete_and_fail(record: Any) -> None:
            if record.offset == 0:
                async with AsyncAdmin(cluster.bootstrap, **clients) as admin:
                    await admin.delete_topics(["orders.dead"])
            await fail(record)

        async with producer, make_consumer(cluster, **options) as consumer:
            with pytest.raises(KafkaTimeoutError, match=r"no metadata of topic 'orders\.dead'"):
                await consumer.process(
                    delete_and_fail, dead_letter="orders.dead", producer=producer, concurrency=1
                )

            committed = (await consumer.committed([P0]))[P0]
            assert committed is None or committed.offset == 0


@pytest.mark.parametrize("ordering", ["partition", "none"])
@virtual_time
async def test_the_delay_of_a_record_goes_on_over_a_restart(ordering):
    async with cluster_with("orders.1m") as cluster:
        topics = ["orders", "orders.1m"]
        handled: list[tuple[str, float]] = []

        async def handle(record: Any) -> None:
            handled.append((record.topic, current_clock().now()))
            if record.topic == "orders":
                await fail(record)

        for seconds in (20, 20, 60):  # restarts after 20 and 40 s
            async with make_consumer(cluster, group_id="g", topics=topics) as consumer:
                task = asyncio.create_task(
                    consumer.process(handle, retry=RETRIES, dead_letter=print, ordering=ordering)
                )
                await asyncio.sleep(seconds)
                consumer.wakeup()
                await task

        moved = [time for topic, time in handled if topic == "orders"]
        due = [time for topic, time in handled if topic == "orders.1m"]
        assert len(moved) == len(due) == 3
        assert all(60 <= end - begin < 60.5 for begin, end in zip(moved, due, strict=True))


@virtual_time
async def test_what_waits_for_its_time_does_not_outlive_the_call():
    async with cluster_with("orders.1m") as cluster:
        consumer = make_consumer(cluster, group_id="g", topics=["orders", "orders.1m"])
        async with consumer:
            task = asyncio.create_task(consumer.process(fail, retry=RETRIES, dead_letter=print))
            await asyncio.sleep(5)
            consumer.wakeup()
            await task
        gone = weakref.ref(consumer._core)
        del consumer, task
        await asyncio.sleep(1)
        gc.collect()

        assert gone() is None


@virtual_time
async def test_a_batch_waits_until_all_of_its_records_are_due():
    async with cluster_with("orders.1m") as cluster:
        calls: list[tuple[float, list[bytes]]] = []
        now_ms = current_clock().time_ms()
        clients = client_options(network_of(cluster))
        async with AsyncProducer(cluster.bootstrap, **clients) as producer:
            for seconds in (60, 20):
                headers = [("pyk-retry-at", b"%d" % (now_ms + 1000 * seconds))]
                await producer.send_and_wait("orders.1m", b"%d" % seconds, headers=headers)
        began = current_clock().now()

        async def handle(records: Any) -> None:
            calls.append((current_clock().now() - began, [record.value for record in records]))

        async with make_consumer(cluster, group_id="g", topics=["orders.1m"]) as consumer:
            task = asyncio.create_task(consumer.process_batches(handle, retry=RETRIES))
            await eventually(lambda: bool(calls), timeout=200)
            consumer.wakeup()
            await task

        [(seconds, values)] = calls
        assert seconds >= 59
        assert values == [b"60", b"20"]


@virtual_time
async def test_the_attempts_in_all_topics_are_counted():
    async with cluster_with("orders.1m", "orders.1h", "orders.dead") as cluster:
        policy = RetryPolicy(attempts=2, backoff=0.1, topics={"orders.1m": 60, "orders.1h": 3600})
        topics = ["orders", *policy.topics]
        async with make_consumer(cluster, group_id="g", topics=topics) as consumer:
            task = asyncio.create_task(
                consumer.process(fail, retry=policy, dead_letter="orders.dead")
            )
            await asyncio.sleep(4000)
            consumer.wakeup()
            await task

        dead = await records_of(cluster, "orders.dead", 3)
        assert [dict(record.headers)["pyk-attempts"] for record in dead] == [b"6"] * 3


@pytest.mark.parametrize("transactional_id", [None, "orders"])
@virtual_time
async def test_a_record_that_is_too_large_for_the_dead_letters_ends_the_call(transactional_id):
    options: dict[str, Any] = {"group_id": "g", "topics": ["orders"]}
    if transactional_id is not None:
        options |= {"enable_auto_commit": False, "isolation_level": "read_committed"}
    async with cluster_with() as cluster:
        limits = {"max.message.bytes": "10000"}
        await cluster.create_topic("orders.dead", partitions=1, configs=limits)
        clients = client_options(network_of(cluster))
        producer: AsyncProducer[Any, Any] = AsyncProducer(
            cluster.bootstrap, transactional_id=transactional_id, **clients
        )
        large = Random(0).randbytes(900_000)
        async with AsyncProducer(cluster.bootstrap, **clients) as writer:
            await writer.send_and_wait("orders", b"large", headers=[("document", large)])
        calls: list[int] = []

        async def fail_if_large(record: Any) -> None:
            calls.append(record.offset)
            if record.value == b"large":
                await fail(record)

        async with producer, make_consumer(cluster, **options) as consumer:
            with pytest.raises(RecordTooLargeError, match=r"orders\.dead-0 exceeds") as raised:
                await consumer.process(
                    fail_if_large, dead_letter="orders.dead", producer=producer, concurrency=1
                )

            assert calls == [0, 1, 2, 3]
            assert "orders-0 at offset 3" in raised.value.__notes__[0]
            committed = (await consumer.committed([P0]))[P0]
            assert committed is None or committed.offset == 3


@pytest.mark.parametrize("due", [b"soon", b"", b"-1", b"9" * 400])
@virtual_time
async def test_a_record_whose_time_nobody_can_read_is_handled_at_once(due):
    async with cluster_with("orders.1m") as cluster:
        handled: list[bytes] = []

        async def handle(record: Any) -> None:
            handled.append(record.value)

        clients = client_options(network_of(cluster))
        async with AsyncProducer(cluster.bootstrap, **clients) as producer:
            headers = [("pyk-retry-at", due)]
            await producer.send_and_wait("orders.1m", b"odd", headers=headers)
        async with make_consumer(cluster, group_id="g", topics=["orders.1m"]) as consumer:
            task = asyncio.create_task(consumer.process(handle, retry=RETRIES))
            await eventually(lambda: handled == [b"odd"])
            consumer.wakeup()
            await task

            partition = TopicPartition("orders.1m", 0)
            assert (await consumer.committed([partition]))[partition].offset == 1


@pytest.mark.parametrize("options", [{}, {"dead_letter": "orders.1m"}, {"retry": RetryPolicy()}])
@virtual_time
async def test_a_topic_that_is_no_retry_topic_of_the_policy_has_no_delays(options):
    async with cluster_with("orders.copy", "orders.1m") as cluster:
        handled: list[bytes] = []

        async def handle(record: Any) -> None:
            handled.append(record.value)

        clients = client_options(network_of(cluster))
        async with AsyncProducer(cluster.bootstrap, **clients) as producer:
            headers = [("pyk-retry-at", b"%d" % (current_clock().time_ms() + 3_600_000))]
            await producer.send_and_wait("orders.copy", b"copied", headers=headers)
        async with make_consumer(cluster, group_id="g", topics=["orders.copy"]) as consumer:
            task = asyncio.create_task(consumer.process(handle, **options))
            await eventually(lambda: handled == [b"copied"])
            consumer.wakeup()
            await task


@virtual_time
async def test_each_step_of_a_record_that_fails_is_logged(caplog):
    retry = RetryPolicy(attempts=2, backoff=20, topics={"orders.1m": 60})
    async with cluster_with("orders.1m", "orders.dead") as cluster:
        options = {"group_id": "g", "topics": ["orders", "orders.1m"]}
        async with make_consumer(cluster, **options) as consumer:
            processing = consumer.process(
                fail, retry=retry, dead_letter="orders.dead", ordering="none"
            )
            task = asyncio.create_task(processing)
            await asyncio.sleep(300)
            consumer.wakeup()
            await task

    assert "; called again in " in caplog.text
    assert "; moved to retry topic 'orders.1m'" in caplog.text
    assert "; moved to dead letter topic 'orders.dead'" in caplog.text
