"""What a consumer contributes to a transaction: what to commit, and where to go back to."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from pyk.clients import AsyncConsumer, AsyncProducer, ConsumerGroupMetadata, TopicPartition
from pyk.clients.errors import ClosedError, CommitFailedError, StateError
from pyk.reference_broker import AsyncCluster
from pyk.runtime.virtual_time import eventually, virtual_time
from support.consuming import (
    eventually_polled,
    make_consumer,
    network_of,
    produce,
    reference_cluster,
)
from support.environments import client_options
from support.stale_metadata import name_another_id

P0, P1, P2 = (TopicPartition("orders", number) for number in range(3))
RECORDS = 60


@asynccontextmanager
async def cluster_with_records() -> AsyncIterator[AsyncCluster]:
    """Run a broker with a topic of three partitions, each with twenty records."""
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=3)
        await produce(cluster, "orders", RECORDS, partitions=3)
        yield cluster


def member(cluster: Any, **options: Any) -> AsyncConsumer[Any, Any]:
    options.setdefault("topics", ["orders"])
    return make_consumer(
        cluster,
        group_id="g",
        enable_auto_commit=False,
        session_timeout_ms=6_000,
        heartbeat_interval_ms=1_000,
        **options,
    )


@asynccontextmanager
async def one_member(**options: Any) -> AsyncIterator[tuple[Any, AsyncConsumer[Any, Any]]]:
    """Run a cluster and a consumer that has all partitions, and has read nothing."""
    async with cluster_with_records() as cluster, member(cluster, **options) as consumer:
        await join_without_reading(consumer)
        yield cluster, consumer


async def join_without_reading(consumer: AsyncConsumer[Any, Any]) -> None:
    """Join the group without taking a record."""
    while consumer.assignment() != {P0, P1, P2}:
        await consumer.poll(0)
        await asyncio.sleep(0.05)
    for partition in (P0, P1, P2):
        await consumer.position(partition)
        consumer.seek(partition, 0)


async def take(consumer: AsyncConsumer[Any, Any], count: int) -> dict[TopicPartition, int]:
    """Take so many records; return the offset after the last one of each partition."""
    ends: dict[TopicPartition, int] = {}
    while count > 0:
        for record in await consumer.poll(1.0, max_records=min(count, 7)):
            ends[TopicPartition(record.topic, record.partition)] = record.offset + 1
            count -= 1
    return ends


def plain(consumed: Any) -> dict[TopicPartition, int]:
    return {partition: target.offset for partition, target in consumed.offsets.items()}


async def positions(consumer: AsyncConsumer[Any, Any]) -> dict[TopicPartition, int]:
    return {p: await consumer.position(p) for p in sorted(consumer.assignment())}


class TestGroupMetadata:
    @virtual_time
    async def test_a_consumer_that_has_not_joined_is_in_no_generation(self) -> None:
        async with cluster_with_records() as cluster:
            consumer = member(cluster, group_instance_id="one")

            metadata = consumer.group_metadata()

            assert metadata == ConsumerGroupMetadata("g", -1, "", "one")
            await consumer.close()

    @virtual_time
    async def test_a_member_has_its_generation_and_its_id(self) -> None:
        async with one_member() as (_, consumer):
            metadata = consumer.group_metadata()

            assert metadata.group_id == "g"
            assert metadata.generation_id >= 1
            assert metadata.member_id != ""
            assert metadata.group_instance_id is None

    @virtual_time
    async def test_a_new_generation_shows(self) -> None:
        async with one_member() as (cluster, first):
            before = first.group_metadata()
            async with member(cluster) as second:
                await asyncio.gather(
                    eventually_polled(first, lambda: len(first.assignment()) in (1, 2)),
                    eventually_polled(second, lambda: len(second.assignment()) in (1, 2)),
                )

                assert first.group_metadata().generation_id > before.generation_id
                assert first.group_metadata().member_id == before.member_id
                assert second.group_metadata().member_id != before.member_id

    @virtual_time
    async def test_a_consumer_whose_partitions_are_assigned_by_hand_is_no_member(self) -> None:
        async with cluster_with_records() as cluster, member(cluster, topics=None) as consumer:
            consumer.assign([P0])
            await take(consumer, 3)

            assert consumer.group_metadata() == ConsumerGroupMetadata("g")

    @virtual_time
    async def test_a_consumer_without_a_group_has_none(self) -> None:
        async with cluster_with_records() as cluster, make_consumer(cluster) as consumer:
            with pytest.raises(StateError, match="group_id"):
                consumer.group_metadata()

    @virtual_time
    async def test_a_closed_consumer_has_none(self) -> None:
        async with one_member() as (_, consumer):
            await consumer.close()

            with pytest.raises(ClosedError):
                consumer.group_metadata()


class TestWhatToCommit:
    @virtual_time
    async def test_offsets_are_behind_what_was_handed_out(self) -> None:
        async with one_member() as (_, consumer):
            reads = consumer._transaction_reads
            mark = reads.begin()
            ends = await take(consumer, RECORDS)

            consumed = reads.consumed(mark)

            assert plain(consumed) == ends == {P0: 20, P1: 20, P2: 20}
            assert {o.leader_epoch for o in consumed.offsets.values()} == {0}
            assert consumed.group_metadata == consumer.group_metadata()

    @virtual_time
    async def test_a_record_of_an_iteration_counts_when_it_is_handed_out(self) -> None:
        async with one_member() as (_, consumer):
            reads = consumer._transaction_reads
            record = await anext(aiter(consumer))
            partition = TopicPartition(record.topic, record.partition)

            assert plain(reads.consumed(reads.begin())) == {partition: record.offset + 1}

    @virtual_time
    async def test_partitions_of_which_nothing_was_handed_out_are_left_out(self) -> None:
        async with one_member() as (_, consumer):
            reads = consumer._transaction_reads
            consumer.pause(P1, P2)
            mark = reads.begin()
            await take(consumer, 5)

            assert plain(reads.consumed(mark)) == {P0: 5}

    @virtual_time
    async def test_what_a_transaction_has_committed_is_not_committed_again(self) -> None:
        async with one_member() as (_, consumer):
            reads = consumer._transaction_reads
            consumer.pause(P1, P2)
            mark = reads.begin()
            await take(consumer, 5)
            reads.committed(reads.consumed(mark))

            mark = reads.begin()

            assert plain(reads.consumed(mark)) == {}
            await take(consumer, 2)
            assert plain(reads.consumed(mark)) == {P0: 7}

    @virtual_time
    async def test_a_position_that_was_sought_is_committed(self) -> None:
        async with one_member() as (_, consumer):
            reads = consumer._transaction_reads
            consumer.pause(P1, P2)
            mark = reads.begin()
            await take(consumer, 5)
            consumer.seek(P0, 12)

            assert plain(reads.consumed(mark)) == {P0: 12}

    @virtual_time
    async def test_an_unknown_position_after_records_were_handed_out_raises(self) -> None:
        async with one_member() as (_, consumer):
            reads = consumer._transaction_reads
            mark = reads.begin()
            await take(consumer, 5)
            consumer.seek_to_end(P0)

            with pytest.raises(StateError, match="orders-0"):
                reads.consumed(mark)

    @virtual_time
    async def test_records_are_not_committed_while_metadata_name_another_topic(self) -> None:
        options: dict[str, Any] = {"group_id": "g", "topics": ["orders"]}
        options |= {"group_protocol": "consumer", "enable_auto_commit": False}
        async with cluster_with_records() as cluster, make_consumer(cluster, **options) as consumer:
            await join_without_reading(consumer)
            reads = consumer._transaction_reads
            mark = reads.begin()
            await take(consumer, RECORDS)
            name_another_id(consumer, 2)
            await asyncio.sleep(1)

            with pytest.raises(CommitFailedError, match="created again"):
                reads.consumed(mark)

            await asyncio.sleep(10)
            assert plain(reads.consumed(mark)) == {P0: 20, P1: 20, P2: 20}

    @virtual_time
    async def test_records_of_a_revoked_partition_are_not_committed_silently(self) -> None:
        async with one_member() as (cluster, first):
            reads = first._transaction_reads
            mark = reads.begin()
            await take(first, RECORDS)
            async with member(cluster) as second:
                await asyncio.gather(
                    eventually_polled(first, lambda: len(first.assignment()) in (1, 2)),
                    eventually_polled(second, lambda: len(second.assignment()) in (1, 2)),
                )

                with pytest.raises(CommitFailedError):
                    reads.consumed(mark)

                reads.return_to(mark)
                assert plain(reads.consumed(reads.begin())) == {}

    @virtual_time
    async def test_records_of_a_lost_partition_are_not_committed_silently(self) -> None:
        async with one_member() as (cluster, consumer):
            reads = consumer._transaction_reads
            mark = reads.begin()
            await take(consumer, RECORDS)
            with cluster.faults.on("Heartbeat").once().error("UNKNOWN_MEMBER_ID"):
                await eventually(lambda: consumer.assignment() == set())

            with pytest.raises(CommitFailedError):
                reads.consumed(mark)

    @virtual_time
    async def test_a_partition_that_was_lost_after_its_offset_was_sent_is_no_failure(self) -> None:
        async with one_member() as (cluster, consumer):
            reads = consumer._transaction_reads
            consumed = None
            await take(consumer, RECORDS)
            consumed = reads.consumed(reads.begin())
            with cluster.faults.on("Heartbeat").once().error("UNKNOWN_MEMBER_ID"):
                await eventually(lambda: consumer.assignment() == set())

            reads.committed(consumed)

            assert plain(reads.consumed(reads.begin())) == {}

    @virtual_time
    async def test_a_consumer_that_commits_by_itself_is_refused(self) -> None:
        async with cluster_with_records() as cluster, make_consumer(cluster, group_id="g") as ours:
            with pytest.raises(StateError, match="enable_auto_commit=False"):
                ours._transaction_reads.begin()

    @pytest.mark.parametrize(
        ("isolation_level", "warnings"), [("read_uncommitted", 1), ("read_committed", 0)]
    )
    @virtual_time
    async def test_uncommitted_reads_are_a_warning_once(
        self, caplog: pytest.LogCaptureFixture, isolation_level: str, warnings: int
    ) -> None:
        async with one_member(isolation_level=isolation_level) as (_, consumer):
            reads = consumer._transaction_reads
            for _ in range(3):
                reads.consumed(reads.begin())

        told = [one for one in caplog.records if "isolation_level='read_committed'" in one.message]
        assert len(told) == warnings


class TestWhereToGoBack:
    @virtual_time
    async def test_records_of_an_aborted_transaction_come_again(self) -> None:
        async with one_member() as (_, consumer):
            reads = consumer._transaction_reads
            mark = reads.begin()
            ends = await take(consumer, RECORDS)

            reads.return_to(mark)

            assert await positions(consumer) == {P0: 0, P1: 0, P2: 0}
            assert await take(consumer, RECORDS) == ends

    @virtual_time
    async def test_records_that_were_polled_before_the_transaction_come_again(self) -> None:
        async with one_member() as (_, consumer):
            reads = consumer._transaction_reads
            await take(consumer, 14)
            await take(consumer, 14)

            reads.return_to(reads.begin())

            assert await positions(consumer) == {P0: 0, P1: 0, P2: 0}

    @virtual_time
    async def test_records_of_committed_transactions_do_not(self) -> None:
        async with one_member() as (_, consumer):
            reads = consumer._transaction_reads
            consumer.pause(P1, P2)
            mark = reads.begin()
            await take(consumer, 5)
            reads.committed(reads.consumed(mark))
            mark = reads.begin()
            await take(consumer, 5)

            reads.return_to(mark)

            assert await consumer.position(P0) == 5

    @virtual_time
    async def test_records_that_the_consumer_has_committed_do_not(self) -> None:
        async with one_member() as (_, consumer):
            reads = consumer._transaction_reads
            consumer.pause(P1, P2)
            await take(consumer, 5)
            await consumer.commit()
            mark = reads.begin()
            await take(consumer, 5)

            reads.return_to(mark)

            assert await consumer.position(P0) == 5

    @virtual_time
    async def test_the_rest_of_an_iteration_is_dropped(self) -> None:
        async with one_member() as (_, consumer):
            reads = consumer._transaction_reads
            consumer.pause(P1, P2)
            mark = reads.begin()
            offsets = []
            async for record in consumer:
                offsets.append(record.offset)
                if offsets == [0, 1, 2]:
                    reads.return_to(mark)
                if len(offsets) == 5:
                    break

            assert offsets == [0, 1, 2, 0, 1]

    @virtual_time
    async def test_a_paused_partition_goes_back_and_stays_paused(self) -> None:
        async with one_member() as (_, consumer):
            reads = consumer._transaction_reads
            mark = reads.begin()
            await take(consumer, RECORDS)
            consumer.pause(P0)

            reads.return_to(mark)

            assert consumer.paused() == {P0}
            assert await take(consumer, 40) == {P1: 20, P2: 20}
            assert await consumer.position(P0) == 0

    @virtual_time
    async def test_a_seek_inside_of_the_transaction_is_undone(self) -> None:
        async with one_member() as (_, consumer):
            reads = consumer._transaction_reads
            consumer.seek(P0, 4)
            mark = reads.begin()
            await take(consumer, RECORDS - 4)
            consumer.seek(P0, 15)
            consumer.seek_to_end(P1)

            reads.return_to(mark)

            assert await positions(consumer) == {P0: 4, P1: 0, P2: 0}

    @virtual_time
    async def test_partitions_that_were_assigned_since_go_back_to_where_they_began(self) -> None:
        async with cluster_with_records() as cluster, member(cluster) as consumer:
            reads = consumer._transaction_reads
            mark = reads.begin()
            await take(consumer, RECORDS)

            reads.return_to(mark)

            assert await positions(consumer) == {P0: 0, P1: 0, P2: 0}

    @virtual_time
    async def test_a_partition_that_was_lost_and_is_back_begins_at_the_committed_offset(
        self,
    ) -> None:
        async with one_member() as (cluster, consumer):
            reads = consumer._transaction_reads
            mark = reads.begin()
            await take(consumer, RECORDS)
            await consumer.commit({P0: 7})
            with cluster.faults.on("Heartbeat").once().error("UNKNOWN_MEMBER_ID"):
                await eventually(lambda: consumer.assignment() == set())
            await eventually(lambda: consumer.assignment() == {P0, P1, P2})

            reads.return_to(mark)

            assert await positions(consumer) == {P0: 7, P1: 0, P2: 0}

    @virtual_time
    async def test_a_closed_consumer_hides_no_other_error(self) -> None:
        async with one_member() as (_, consumer):
            reads = consumer._transaction_reads
            mark = reads.begin()
            consumed = reads.consumed(mark)
            await consumer.close()

            reads.committed(consumed)
            reads.return_to(mark)


class TestWithAProducer:
    @virtual_time
    async def test_the_offsets_of_a_committed_block_are_those_of_the_group(self) -> None:
        async with one_member() as (cluster, consumer), writer(cluster) as producer:
            async with producer.transaction() as transaction:
                await take(consumer, RECORDS)
                await transaction.send_offsets(consumer)

            found = await consumer.committed([P0, P1, P2])

            assert {p: o.offset for p, o in found.items() if o} == {P0: 20, P1: 20, P2: 20}

    @virtual_time
    async def test_a_failed_block_takes_its_consumer_back_before_a_seek_in_it(self) -> None:
        async with one_member() as (cluster, consumer), writer(cluster) as producer:
            with pytest.raises(RuntimeError):
                await seek_and_fail(producer, consumer)

            assert await positions(consumer) == {P0: 0, P1: 0, P2: 0}
            found = await consumer.committed([P0, P1, P2])
            assert found == {P0: None, P1: None, P2: None}

    @virtual_time
    async def test_offsets_whose_await_is_forgotten_abort_the_block(self) -> None:
        async with one_member() as (cluster, consumer), writer(cluster) as producer:
            with pytest.raises(StateError, match="was not awaited"):
                await forget_to_await(producer, consumer)

            assert await positions(consumer) == {P0: 0, P1: 0, P2: 0}

    @virtual_time
    async def test_a_block_that_commits_no_offsets_of_its_consumer_is_a_warning(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        async with one_member() as (cluster, consumer), writer(cluster) as producer:
            for _ in range(2):
                async with producer.transaction(consumer):
                    await take(consumer, 5)

        told = [one for one in caplog.records if "committed none of its offsets" in one.message]
        assert len(told) == 1


async def forget_to_await(producer: AsyncProducer[Any, Any], consumer: Any) -> None:
    async with producer.transaction(consumer) as transaction:
        await take(consumer, 5)
        _ = transaction.send_offsets(consumer)


async def seek_and_fail(producer: AsyncProducer[Any, Any], consumer: Any) -> None:
    async with producer.transaction(consumer) as transaction:
        await take(consumer, RECORDS)
        consumer.seek(P0, 12)
        await transaction.send_offsets(consumer)
        raise RuntimeError


@asynccontextmanager
async def writer(cluster: Any) -> AsyncIterator[AsyncProducer[bytes, bytes]]:
    producer: AsyncProducer[bytes, bytes] = AsyncProducer(
        cluster.bootstrap, transactional_id="t", **client_options(network_of(cluster))
    )
    async with producer:
        yield producer
