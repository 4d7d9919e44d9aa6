"""The commits of group members: of finished records, and of offsets that the application names."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pyk.clients import AsyncConsumer, OffsetAndMetadata, RebalanceListener, TopicPartition
from pyk.clients.errors import CommitFailedError, KafkaTimeoutError, OffsetMetadataTooLargeError
from pyk.runtime.virtual_time import virtual_time
from support.consumer_groups import PARTITIONS, Group
from support.consuming import cluster_with_orders, make_consumer, produce, read, reference_cluster


@virtual_time
async def test_a_commit_never_goes_back_below_the_committed_offset():
    async with cluster_with_orders(100) as cluster:
        (partition,) = PARTITIONS[:1]
        async with make_consumer(cluster, group_id="g") as consumer:
            await consumer.commit({partition: 50})
        async with make_consumer(cluster, group_id="g", auto_commit_interval_ms=100) as consumer:
            with cluster.faults.on("OffsetFetch").once().delay(3_000):
                consumer.assign([partition])
                await consumer.poll(1)  # the position is not known yet
            assert await committed_offset(consumer, partition) == 50
            async for record in consumer:
                await consumer.commit(record)  # beyond the record in hand
                await asyncio.sleep(0.3)
                assert await committed_offset(consumer, partition) == record.offset + 1
                if record.offset == 60:
                    break


async def committed_offset(consumer: AsyncConsumer[Any, Any], partition: TopicPartition) -> int:
    committed = (await consumer.committed([partition]))[partition]
    assert committed is not None
    return committed.offset


@virtual_time
async def test_after_a_seek_back_records_are_committed_from_there():
    async with cluster_with_orders(10) as cluster:
        partition = TopicPartition("orders", 0)
        async with make_consumer(cluster, group_id="g") as consumer:
            consumer.assign([partition])
            await read(consumer, 10)
            await consumer.commit()
            consumer.seek(partition, 3)
            await consumer.poll(1, max_records=2)
            await consumer.commit()

            found = await consumer.committed([partition])
            assert found[partition] == OffsetAndMetadata(5, "", 0)


@virtual_time
async def test_a_listener_may_seek_and_commit():
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=4)
        await produce(cluster, "orders", 40, partitions=4)
        consumer = make_consumer(cluster, group_id="g", enable_auto_commit=False)

        class SkipsFive(RebalanceListener):
            async def on_partitions_assigned(self, partitions: Any) -> None:
                for partition in partitions:
                    consumer.seek(partition, 5)

            async def on_partitions_revoked(self, partitions: Any) -> None:
                await consumer.commit()

        async with consumer:
            consumer.subscribe(["orders"], listener=SkipsFive())
            values = await read(consumer, 20)
            assert len(values) == 20
            await consumer.unsubscribe()
            assert consumer.assignment() == set()

        assert set((await Group(cluster).committed()).values()) == {10}


@virtual_time
async def test_a_commit_whose_response_was_lost_does_not_fail_for_certain():
    async with cluster_with_orders(10) as cluster:
        partition = TopicPartition("orders", 0)
        async with make_consumer(cluster, group_id="g", enable_auto_commit=False) as consumer:
            consumer.assign([partition])
            cluster.faults.on("OffsetCommit").once().apply_then_lose_response()
            with (
                cluster.faults.on("OffsetCommit").error("UNKNOWN_MEMBER_ID"),
                pytest.raises(CommitFailedError) as raised,
            ):
                await consumer.commit({partition: 7})

            assert await committed_offset(consumer, partition) == 7
            assert not raised.value.definite


@virtual_time
async def test_a_commit_that_is_stored_in_part_does_not_fail_for_certain():
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=2)
        partition, other = PARTITIONS[:2]
        async with make_consumer(cluster, group_id="g", enable_auto_commit=False) as consumer:
            with pytest.raises(OffsetMetadataTooLargeError) as raised:
                await consumer.commit({partition: 7, other: OffsetAndMetadata(7, "x" * 5_000)})

            assert await committed_offset(consumer, partition) == 7
            assert not raised.value.definite


@pytest.mark.parametrize("answer", ["NOT_COORDINATOR", "COORDINATOR_NOT_AVAILABLE"])
@virtual_time
async def test_a_commit_whose_coordinator_went_away_does_not_fail_for_certain(answer):
    async with cluster_with_orders(10) as cluster:
        partition = TopicPartition("orders", 0)
        async with make_consumer(cluster, group_id="g", enable_auto_commit=False) as consumer:
            consumer.assign([partition])
            cluster.faults.on("OffsetCommit").once().error(answer)
            with (
                cluster.faults.on("OffsetCommit").error("UNKNOWN_MEMBER_ID"),
                pytest.raises(CommitFailedError) as raised,
            ):
                await consumer.commit({partition: 7})

            assert not raised.value.definite


@virtual_time
async def test_a_commit_that_is_refused_at_once_fails_for_certain():
    async with cluster_with_orders(10) as cluster:
        partition = TopicPartition("orders", 0)
        async with make_consumer(cluster, group_id="g", enable_auto_commit=False) as consumer:
            with (
                cluster.faults.on("OffsetCommit").error("UNKNOWN_MEMBER_ID"),
                pytest.raises(CommitFailedError) as raised,
            ):
                await consumer.commit({partition: 7})

            assert raised.value.definite


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
@virtual_time
async def test_an_auto_commit_that_waits_for_a_commit_beyond_it_does_not_go_back(protocol):
    async with cluster_with_orders(100) as cluster:
        (partition,) = PARTITIONS[:1]
        consumer = make_consumer(
            cluster,
            topics=["orders"],
            group_id="g",
            group_protocol=protocol,
            auto_commit_interval_ms=1_000,
        )
        async with consumer:
            await read(consumer, 100)
            with cluster.faults.on("OffsetCommit").once().delay(3_000):
                consumer.commit_async({partition: OffsetAndMetadata(250)})
                for _ in range(30):
                    await consumer.poll(0.2)
            assert await committed_offset(consumer, partition) == 250


@virtual_time
async def test_a_commit_that_is_not_answered_in_time_may_still_be_stored():
    async with cluster_with_orders(10) as cluster:
        partition = TopicPartition("orders", 0)
        async with make_consumer(cluster, group_id="g", enable_auto_commit=False) as consumer:
            consumer.assign([partition])
            cluster.faults.on("OffsetCommit").once().delay(3000)

            with pytest.raises(KafkaTimeoutError, match="may still do so") as raised:
                await consumer.commit({partition: 7}, timeout=1)

            assert not raised.value.definite
            await asyncio.sleep(3)
            assert await committed_offset(consumer, partition) == 7


@virtual_time
async def test_a_commit_that_was_sent_to_no_coordinator_in_time_fails_for_certain():
    async with cluster_with_orders(10) as cluster:
        partition = TopicPartition("orders", 0)
        async with make_consumer(cluster, group_id="g", enable_auto_commit=False) as consumer:
            consumer.assign([partition])
            with (
                cluster.faults.on("FindCoordinator").error("COORDINATOR_NOT_AVAILABLE"),
                pytest.raises(KafkaTimeoutError, match="were not committed within") as raised,
            ):
                await consumer.commit({partition: 7}, timeout=1)

            assert raised.value.definite
            assert "may still" not in str(raised.value)


@virtual_time
async def test_a_commit_whose_first_response_was_lost_may_be_stored_after_its_timeout():
    async with cluster_with_orders(10) as cluster:
        partition = TopicPartition("orders", 0)
        async with make_consumer(cluster, group_id="g", enable_auto_commit=False) as consumer:
            consumer.assign([partition])
            cluster.faults.on("OffsetCommit").once().apply_then_lose_response()
            with (
                cluster.faults.on("FindCoordinator").after(1).error("COORDINATOR_NOT_AVAILABLE"),
                pytest.raises(KafkaTimeoutError) as raised,
            ):
                await consumer.commit({partition: 7}, timeout=2)

            assert not raised.value.definite


@virtual_time
async def test_a_commit_that_was_refused_until_its_timeout_fails_for_certain():
    async with cluster_with_orders(10) as cluster:
        partition = TopicPartition("orders", 0)
        async with make_consumer(cluster, group_id="g", enable_auto_commit=False) as consumer:
            consumer.assign([partition])
            with (
                cluster.faults.on("OffsetCommit").error("COORDINATOR_LOAD_IN_PROGRESS"),
                pytest.raises(KafkaTimeoutError) as raised,
            ):
                await consumer.commit({partition: 7}, timeout=1)

            assert raised.value.definite
            assert "may still" not in str(raised.value)
