"""Topics that are deleted and created again: they are other topics, with other records."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest

from pyk.clients import AsyncConsumer
from pyk.clients.errors import (
    CommitFailedError,
    TopicRecreatedError,
)
from pyk.runtime.virtual_time import virtual_time
from support.consuming import (
    delete_topic,
    eventually_polled,
    make_consumer,
    produce,
    read,
    reference_cluster,
)

WITH_AND_WITHOUT_GROUP = pytest.mark.parametrize(
    "options", [{"group_id": "g"}, {}], ids=["group", "no group"]
)


@pytest.mark.parametrize("policy", ["earliest", "latest"])
@WITH_AND_WITHOUT_GROUP
@virtual_time
async def test_a_topic_that_was_created_again_is_read_from_its_beginning(options, policy):
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders")
        async with make_consumer(
            cluster, topics=["orders"], auto_offset_reset=policy, **options
        ) as consumer:
            await eventually_polled(consumer, lambda: len(consumer.assignment()) == 1)
            await consumer.poll(1)
            await produce(cluster, "orders", 5)
            assert len(await read(consumer, 5)) == 5
            await delete_topic(cluster, "orders")
            await cluster.create_topic("orders")
            await produce(cluster, "orders", 9)

            values = await read(consumer, 9, timeout=5)

            assert values == [b"%d" % number for number in range(9)]
            if options:
                await consumer.poll(1)
                await asyncio.sleep(6)
                committed = await consumer.committed([("orders", 0)])
                assert [offset.offset for offset in committed.values() if offset] == [9]


@pytest.mark.parametrize("policy", ["earliest", "latest"])
@pytest.mark.parametrize("protocol", ["classic", "consumer"])
@virtual_time
async def test_each_record_of_a_topic_that_was_created_again_is_read_by_one_member(
    protocol, policy
):
    async with reference_cluster(group_consumer_heartbeat_interval_ms="5000") as cluster:
        await cluster.create_topic("orders", partitions=4)
        times_read = Counter[tuple[int, int]]()

        async def be_member() -> None:
            async with make_consumer(
                cluster,
                topics=["orders"],
                group_id="g",
                group_protocol=protocol,
                auto_offset_reset=policy,
                metadata_max_age_ms=1000,
            ) as consumer:
                async for record in consumer:
                    times_read[record.partition, record.offset] += 1

        members = []
        for _ in range(2):  # so that each gets other partitions of the new topic
            members.append(asyncio.create_task(be_member()))
            await asyncio.sleep(11)
        await asyncio.sleep(12)
        await delete_topic(cluster, "orders")
        await cluster.create_topic("orders", partitions=4)
        for _ in range(100):
            await produce(cluster, "orders", 4, partitions=4)
            await asyncio.sleep(0.1)
        await asyncio.sleep(20)
        for member in members:
            member.cancel()
        await asyncio.wait(members)

    assert times_read == {(number, at): 1 for number in range(4) for at in range(100)}


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
@virtual_time
async def test_a_topic_that_was_created_again_with_as_many_records_is_committed(protocol):
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders")
        await produce(cluster, "orders", 5)
        async with make_consumer(
            cluster, topics=["orders"], group_id="g", group_protocol=protocol
        ) as consumer:
            assert len(await read(consumer, 5)) == 5
            await consumer.commit()
            await delete_topic(cluster, "orders")
            await cluster.create_topic("orders")
            await produce(cluster, "orders", 5)
            assert len(await read(consumer, 5, timeout=60)) == 5
            await consumer.poll(10)

            committed = await consumer.committed([("orders", 0)])

            assert [offset.offset for offset in committed.values() if offset] == [5]


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
@virtual_time
async def test_records_from_before_a_topic_was_created_again_are_not_committed(protocol):
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders")
        await produce(cluster, "orders", 5)
        async with make_consumer(
            cluster,
            topics=["orders"],
            group_id="g",
            group_protocol=protocol,
            enable_auto_commit=False,
        ) as consumer:
            before = await polled(consumer)
            await consumer.commit(before[3])
            await delete_topic(cluster, "orders")
            await cluster.create_topic("orders")
            await produce(cluster, "orders", 9)
            after = await polled(consumer)

            for argument in (before[4], before):
                with pytest.raises(CommitFailedError, match="created again") as refused:
                    await consumer.commit(argument)
                assert refused.value.definite
            await consumer.commit(after[0])
            committed = await consumer.committed([("orders", 0)])

    assert [offset.offset for offset in committed.values() if offset] == [1]


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
@virtual_time
async def test_a_topic_that_was_created_again_keeps_no_other_of_a_commit_from_being_stored(
    protocol,
):
    async with reference_cluster() as cluster:
        for topic in ("orders", "bills"):
            await cluster.create_topic(topic)
            await produce(cluster, topic, 5)
        async with make_consumer(
            cluster,
            topics=["orders", "bills"],
            group_id="g",
            group_protocol=protocol,
            enable_auto_commit=False,
            metadata_max_age_ms=500,
        ) as consumer:
            assert len(await read(consumer, 10)) == 10
            loading = cluster.faults.on("OffsetCommit").error("COORDINATOR_LOAD_IN_PROGRESS")

            async def recreate() -> None:
                await delete_topic(cluster, "bills")
                await cluster.create_topic("bills")
                await asyncio.sleep(5)
                loading.remove()

            recreating = asyncio.create_task(recreate())
            with pytest.raises(CommitFailedError, match="bills-0 was not committed") as some:
                await consumer.commit()
            await recreating
            committed = await consumer.committed([("orders", 0), ("bills", 0)])

    assert not some.value.definite
    assert {p: one.offset for p, one in committed.items() if one} == {("orders", 0): 5}


@virtual_time
async def test_records_of_a_topic_that_was_created_again_keep_no_others_from_being_committed():
    async with reference_cluster() as cluster:
        for topic in ("orders", "bills"):
            await cluster.create_topic(topic)
            await produce(cluster, topic, 5)
        async with make_consumer(
            cluster, topics=["orders", "bills"], group_id="g", enable_auto_commit=False
        ) as consumer:
            records: list[Any] = []
            while len(records) < 10:
                records += await consumer.poll(5)
            await delete_topic(cluster, "bills")
            await cluster.create_topic("bills")
            await produce(cluster, "bills", 1)
            await polled(consumer)

            with pytest.raises(CommitFailedError, match="bills-0 was not committed") as some:
                await consumer.commit(records)
            committed = await consumer.committed([("orders", 0), ("bills", 0)])

    assert not some.value.definite
    assert {p: one.offset for p, one in committed.items() if one} == {("orders", 0): 5}


async def polled(consumer: AsyncConsumer[Any, Any]) -> Any:
    """Return the records of the first poll that brings some."""
    while not (records := await consumer.poll(5)):
        pass
    return records


@virtual_time
async def test_without_a_policy_a_topic_that_was_created_again_is_raised_until_a_seek():
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders")
        async with make_consumer(cluster, auto_offset_reset="none") as consumer:
            consumer.assign([("orders", 0)])
            consumer.seek(("orders", 0), 0)
            await produce(cluster, "orders", 5)
            await read(consumer, 5)
            await delete_topic(cluster, "orders")
            await cluster.create_topic("orders")
            await produce(cluster, "orders", 9)

            for _ in range(2):
                with pytest.raises(TopicRecreatedError, match="created again"):
                    await consumer.poll(5)
            consumer.seek(("orders", 0), 0)
            assert len(await read(consumer, 9)) == 9


@pytest.mark.parametrize(
    ("options", "seconds"),
    [
        ({"group_protocol": "consumer"}, 0.5),
        ({"group_protocol": "consumer"}, 1.5),
        ({"group_protocol": "classic"}, 5.2),
        ({"group_protocol": "classic"}, 6.0),
    ],
    ids=str,
)
@virtual_time
async def test_a_topic_that_is_created_again_does_not_get_the_offsets_of_the_one_before(
    options, seconds
):
    async with reference_cluster(auto_create_topics_enable="false") as cluster:
        await cluster.create_topic("orders")
        await produce(cluster, "orders", 5)
        consumer = make_consumer(
            cluster, topics=["orders"], group_id="g", auto_offset_reset="earliest", **options
        )
        async with consumer:
            assert len(await read(consumer, 5)) == 5
            values = asyncio.create_task(read(consumer, 9, timeout=60))
            await delete_topic(cluster, "orders")
            await asyncio.sleep(seconds)
            await cluster.create_topic("orders")
            await produce(cluster, "orders", 9)

            assert await values == [b"%d" % number for number in range(9)]
