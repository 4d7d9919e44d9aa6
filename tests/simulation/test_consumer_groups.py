"""Consumer groups at the reference broker, in virtual time: members come, go, crash and idle."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Collection
from typing import Any

import attrs
import pytest

from pyk.clients import (
    AsyncAdmin,
    AsyncConsumer,
    OffsetAndMetadata,
    RebalanceListener,
    TopicPartition,
)
from pyk.clients.errors import (
    CommitFailedError,
    FencedInstanceIdError,
    InconsistentGroupProtocolError,
    KafkaError,
)
from pyk.protocol.errors import ErrorCode
from support.consuming import make_consumer, network_of, produce, read, reference_cluster
from support.virtual_time import current_clock, virtual_time

STRATEGIES = ["range", "roundrobin", "sticky", "cooperative-sticky"]
PARTITIONS = [TopicPartition("orders", number) for number in range(4)]


@attrs.define
class Member:
    """A consumer that a task of its own reads, and what it has processed."""

    consumer: AsyncConsumer[Any, Any]
    processed: list[tuple[int, int]] = attrs.Factory(list)
    """Partition and offset of each record, when the loop body was done with it."""
    in_hand: tuple[int, int] | None = None
    seconds_per_record: float = 0.0
    task: asyncio.Task[None] | None = None

    def begin(self) -> Member:
        self.task = asyncio.create_task(self._run())
        return self

    async def _run(self) -> None:
        async with self.consumer:
            async for record in self.consumer:
                self.in_hand = (record.partition, record.offset)
                await asyncio.sleep(self.seconds_per_record)
                self.processed.append(self.in_hand)
                self.in_hand = None

    async def leave(self) -> None:
        """Close the consumer as an application does that is told to end."""
        assert self.task is not None
        self.task.cancel()
        await asyncio.wait({self.task})

    async def crash(self) -> None:
        """End without a word to anybody."""
        await self.consumer._core.client.close(0)
        assert self.task is not None
        self.task.cancel()
        await asyncio.wait({self.task})


class Group:
    """Members of one group at one cluster."""

    def __init__(self, cluster: Any, **options: Any) -> None:
        self.cluster = cluster
        self.options = {"group_id": "g", "topics": ["orders"], **options}

    def member(self, *, seconds_per_record: float = 0.0, **options: Any) -> Member:
        consumer = make_consumer(self.cluster, **{**self.options, **options})
        return Member(consumer, seconds_per_record=seconds_per_record).begin()

    async def committed(self) -> dict[TopicPartition, int]:
        async with make_consumer(self.cluster, group_id="g") as observer:
            found = await observer.committed(PARTITIONS)
        return {p: offset.offset for p, offset in found.items() if offset is not None}


class Recorder(RebalanceListener):
    def __init__(self) -> None:
        self.events: list[tuple[str, int]] = []

    async def on_partitions_assigned(self, partitions: Collection[TopicPartition]) -> None:
        self.events.append(("assigned", len(partitions)))

    async def on_partitions_revoked(self, partitions: Collection[TopicPartition]) -> None:
        self.events.append(("revoked", len(partitions)))

    async def on_partitions_lost(self, partitions: Collection[TopicPartition]) -> None:
        self.events.append(("lost", len(partitions)))


async def eventually(condition: Any, timeout: float = 60) -> None:
    deadline = current_clock().now() + timeout
    while not condition():
        assert current_clock().now() < deadline, "it did not come to pass"
        await asyncio.sleep(0.05)


@pytest.mark.parametrize("strategy", STRATEGIES)
@virtual_time
async def test_members_share_the_partitions_and_each_record_is_read_once(strategy):
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=4)
        group = Group(cluster, partition_assignment_strategy=strategy)
        members = [group.member() for _ in range(3)]
        await eventually(lambda: sorted(len(m.consumer.assignment()) for m in members) == [1, 1, 2])

        await produce(cluster, "orders", 200, partitions=4)
        await eventually(lambda: sum(len(m.processed) for m in members) == 200)

        assert max(Counter(one for m in members for one in m.processed).values()) == 1
        for member in members:
            await member.leave()


@pytest.mark.parametrize("strategy", STRATEGIES)
@virtual_time
async def test_members_that_come_and_go_lose_and_repeat_nothing(strategy):
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=4)
        await produce(cluster, "orders", 2000, partitions=4)
        group = Group(cluster, partition_assignment_strategy=strategy)

        first = group.member(seconds_per_record=0.01)
        await eventually(lambda: len(first.processed) > 100)
        second = group.member(seconds_per_record=0.01)
        await eventually(lambda: len(second.processed) > 100)
        await first.leave()
        third = group.member(seconds_per_record=0.01)
        members = [first, second, third]
        await eventually(lambda: len({one for m in members for one in m.processed}) == 2000)

        # A member that is cancelled has not finished the record in its hands; no other repeats.
        repeated = Counter(one for m in members for one in m.processed)
        assert sum(repeated.values()) == 2000
        await second.leave()
        await third.leave()
        assert await group.committed() == dict.fromkeys(PARTITIONS, 500)


@pytest.mark.parametrize("strategy", ["range", "cooperative-sticky"])
@virtual_time
async def test_a_partition_is_never_in_two_hands(strategy):
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=4)
        await produce(cluster, "orders", 4000, partitions=4)
        group = Group(cluster, partition_assignment_strategy=strategy)
        members = [group.member(seconds_per_record=0.05) for _ in range(3)]
        chance = random.Random(7)

        for _ in range(400):
            await asyncio.sleep(0.1)
            hands = Counter(m.in_hand[0] for m in members if m.in_hand is not None)
            assert all(count == 1 for count in hands.values()), hands
            if chance.random() < 0.05:
                await members.pop(chance.randrange(len(members))).leave()
                members.append(group.member(seconds_per_record=0.05))

        for member in members:
            await member.leave()


@virtual_time
async def test_a_cooperative_member_keeps_reading_while_another_joins():
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=4)
        listener = Recorder()
        consumer = make_consumer(
            cluster, group_id="g", partition_assignment_strategy="cooperative-sticky"
        )
        async with consumer:
            consumer.subscribe(["orders"], listener=listener)
            await eventually_polled(consumer, lambda: len(consumer.assignment()) == 4)
            other = Group(cluster, partition_assignment_strategy="cooperative-sticky").member()
            await eventually_polled(consumer, lambda: len(consumer.assignment()) == 2)

            assert listener.events[:2] == [("assigned", 4), ("revoked", 2)]
            await other.leave()
            await eventually_polled(consumer, lambda: len(consumer.assignment()) == 4)
            assert listener.events[-1] == ("assigned", 2)


async def eventually_polled(
    consumer: AsyncConsumer[Any, Any], condition: Any, timeout: float = 60
) -> None:
    deadline = current_clock().now() + timeout
    while not condition():
        assert current_clock().now() < deadline, "it did not come to pass"
        await consumer.poll(0.2)


@virtual_time
async def test_long_work_on_one_record_costs_no_membership():
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=4)
        await produce(cluster, "orders", 8, partitions=4)
        listener = Recorder()
        consumer = make_consumer(cluster, group_id="g", session_timeout_ms=10_000)
        async with consumer:
            consumer.subscribe(["orders"], listener=listener)
            processed = 0
            async for _ in consumer:
                await asyncio.sleep(120)  # twelve sessions long, but less than a poll interval
                processed += 1
                if processed == 8:
                    break

        assert listener.events == [("assigned", 4), ("revoked", 4)]


@virtual_time
async def test_an_application_that_stays_away_is_replaced_and_comes_back():
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=4)
        await produce(cluster, "orders", 40, partitions=4)
        listener = Recorder()
        group = Group(cluster, max_poll_interval_ms=20_000)
        consumer = make_consumer(cluster, group_id="g", max_poll_interval_ms=20_000)
        async with consumer:
            consumer.subscribe(["orders"], listener=listener)
            records = []
            while not records:
                records = await consumer.poll(1)
            other = group.member()

            await asyncio.sleep(60)

            assert consumer.assignment() == set()
            assert len(set(other.processed)) == 40  # nothing of it was committed
            with pytest.raises(CommitFailedError):
                await consumer.commit(records[0], timeout=1)
            await eventually_polled(consumer, lambda: len(consumer.assignment()) == 2)
            assert listener.events[:2] == [("assigned", 4), ("lost", 4)]
            await other.leave()


@virtual_time
async def test_what_a_crashed_member_had_not_finished_is_read_again():
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=4)
        await produce(cluster, "orders", 400, partitions=4)
        group = Group(cluster, session_timeout_ms=6_000, heartbeat_interval_ms=1_000)
        first = group.member(seconds_per_record=0.1, auto_commit_interval_ms=500)
        await eventually(lambda: len(first.processed) > 100)
        await first.crash()

        committed = await group.committed()
        done = set(first.processed)
        for partition, offset in committed.items():
            before = {(partition.partition, n) for n in range(offset)}
            assert before <= done  # never beyond the first record that is not finished
        second = group.member()
        await eventually(lambda: len(done | set(second.processed)) == 400)
        await second.leave()


@virtual_time
async def test_a_restarted_broker_costs_a_group_neither_records_nor_members():
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=4)
        group = Group(cluster)
        members = [group.member() for _ in range(2)]
        for number in range(5):
            await produce(cluster, "orders", 40, partitions=4)
            await eventually(
                lambda: len({one for m in members for one in m.processed}) == 40 * (number + 1)  # noqa: B023
            )
            await cluster.kill(0)
            await asyncio.sleep(3)
            await cluster.start(0)
        await produce(cluster, "orders", 40, partitions=4)
        await eventually(lambda: len({one for m in members for one in m.processed}) == 240)

        for member in members:
            await member.leave()
            assert member.task is not None
            assert member.task.cancelled()


@pytest.mark.parametrize("api", ["JoinGroup", "SyncGroup", "Heartbeat", "OffsetFetch"])
@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.REBALANCE_IN_PROGRESS,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.ILLEGAL_GENERATION,
    ],
)
@virtual_time
async def test_errors_of_the_coordinator_pass(api, code):
    if api == "OffsetFetch" and not code.retriable:
        return  # not an answer of that request
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=4)
        await produce(cluster, "orders", 40, partitions=4)
        with cluster.faults.on(api).times(3).error(code.name):
            # A member that is told it is unknown leaves its former self to the session timeout.
            consumer = make_consumer(
                cluster, group_id="g", topics=["orders"], session_timeout_ms=6_000
            )
            async with consumer:
                assert len(await read(consumer, 40, timeout=30)) >= 40
                await consumer.poll(20)

                assert consumer.health().is_healthy
                assert len(consumer.assignment()) == 4


@pytest.mark.parametrize(
    "api", ["JoinGroup", "SyncGroup", "Heartbeat", "OffsetFetch", "OffsetCommit"]
)
@virtual_time
async def test_lost_answers_of_the_coordinator_pass(api):
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=4)
        await produce(cluster, "orders", 40, partitions=4)
        with cluster.faults.on(api).times(2).apply_then_lose_response():
            consumer = make_consumer(
                cluster, group_id="g", topics=["orders"], session_timeout_ms=10_000
            )
            async with consumer:
                assert len(await read(consumer, 40, timeout=60)) >= 40
                await consumer.commit()
        assert set((await Group(cluster).committed()).values()) == {10}


@virtual_time
async def test_a_refused_group_is_raised_once_a_try_and_recovers():
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=4)
        await produce(cluster, "orders", 4, partitions=4)
        consumer = make_consumer(cluster, group_id="g", topics=["orders"])
        with cluster.faults.on("JoinGroup").times(2).error("GROUP_AUTHORIZATION_FAILED"):
            async with consumer:
                failures = 0
                values: list[bytes] = []
                while len(values) < 4:
                    try:
                        values += [record.value for record in await consumer.poll(1)]
                    except KafkaError:
                        failures += 1

        assert failures == 2


@virtual_time
async def test_members_without_a_strategy_in_common_are_told():
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=4)
        other = Group(cluster, partition_assignment_strategy="range").member()
        await eventually(lambda: len(other.consumer.assignment()) == 4)

        consumer = make_consumer(
            cluster, group_id="g", topics=["orders"], partition_assignment_strategy="roundrobin"
        )
        async with consumer:
            with pytest.raises(InconsistentGroupProtocolError):
                await read(consumer, 1)
        await other.leave()


@virtual_time
async def test_a_static_member_may_restart_without_a_rebalance():
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=4)
        listener = Recorder()
        stays = make_consumer(cluster, group_id="g", group_instance_id="stays")
        async with stays:
            stays.subscribe(["orders"], listener=listener)
            group = Group(cluster, group_instance_id="restarts")
            restarts = group.member()
            await eventually_polled(stays, lambda: len(stays.assignment()) == 2)
            before = list(listener.events)
            owned = restarts.consumer.assignment()
            await restarts.leave()
            restarts = group.member()
            await eventually_polled(stays, lambda: len(restarts.consumer.assignment()) == 2)
            await stays.poll(20)

            assert restarts.consumer.assignment() == owned
            assert listener.events == before
            await restarts.leave()


@virtual_time
async def test_a_newer_member_of_the_same_name_fences_the_older():
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=4)
        older = make_consumer(cluster, group_id="g", topics=["orders"], group_instance_id="i")
        async with older:
            await eventually_polled(older, lambda: len(older.assignment()) == 4)
            newer = Group(cluster, group_instance_id="i").member()
            await eventually(lambda: len(newer.consumer.assignment()) == 4)

            for _ in range(3):
                with pytest.raises(FencedInstanceIdError):
                    await read(older, 1)
            assert older.assignment() == set()
            await newer.leave()


@virtual_time
async def test_topics_that_match_a_pattern_are_read_as_they_appear():
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders-eu", partitions=2)
        await cluster.create_topic("other")
        consumer = make_consumer(cluster, group_id="g", metadata_max_age_ms=2_000)
        async with consumer:
            consumer.subscribe(pattern="orders-.*")
            await eventually_polled(consumer, lambda: len(consumer.assignment()) == 2)
            assert consumer.subscription() == {"orders-eu"}

            await cluster.create_topic("orders-us", partitions=3)
            await eventually_polled(consumer, lambda: len(consumer.assignment()) == 5)
            await produce(cluster, "orders-us", 3, partitions=3)
            assert sorted(await read(consumer, 3)) == [b"0", b"1", b"2"]


@pytest.mark.parametrize("options", [{"group_id": "g"}, {}], ids=["group", "no group"])
@virtual_time
async def test_partitions_that_are_added_to_a_topic_are_read_from_their_beginning(options):
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=2)
        consumer = make_consumer(
            cluster,
            topics=["orders"],
            metadata_max_age_ms=2_000,
            auto_offset_reset="earliest" if options else "latest",
            **options,
        )
        async with consumer:
            await eventually_polled(consumer, lambda: len(consumer.assignment()) == 2)
            async with AsyncAdmin(
                cluster.bootstrap, clock=current_clock(), network=network_of(cluster)
            ) as admin:
                await admin.create_partitions({"orders": 4})
            await produce(cluster, "orders", 4, partitions=4)

            assert sorted(await read(consumer, 4)) == [b"0", b"1", b"2", b"3"]


@virtual_time
async def test_a_commit_never_goes_back_behind_what_is_committed():
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=1)
        await produce(cluster, "orders", 100)
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
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=1)
        await produce(cluster, "orders", 10)
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
async def test_an_error_of_the_listener_passes_out_of_poll_and_the_rebalance_goes_on():
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=4)
        await produce(cluster, "orders", 4, partitions=4)
        consumer = make_consumer(cluster, group_id="g")

        class Breaks(RebalanceListener):
            def on_partitions_assigned(self, partitions: Any) -> None:
                raise RuntimeError("broken listener")

        async with consumer:
            consumer.subscribe(["orders"], listener=Breaks())
            with pytest.raises(RuntimeError, match="broken listener"):
                await read(consumer, 1)
            assert len(await read(consumer, 4)) == 4


@virtual_time
async def test_many_members_settle_in_few_generations():
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=4)
        group = Group(cluster, partition_assignment_strategy="cooperative-sticky")
        members = []
        for _ in range(30):
            members.append(group.member())
            await asyncio.sleep(0.5)
        await eventually(lambda: sum(len(m.consumer.assignment()) for m in members) == 4)
        generation = members[0].consumer._core.group.membership.generation_id  # type: ignore[union-attr]
        for member in members[:29]:
            await member.leave()
        await eventually(lambda: len(members[29].consumer.assignment()) == 4)

        assert generation < 100
        await members[29].leave()


@virtual_time
async def test_closing_returns_in_time_whatever_the_broker_does():
    for moment in (0.0, 0.001, 0.003, 0.01, 0.05, 1.0, 5.0):
        async with reference_cluster() as cluster:
            await cluster.create_topic("orders", partitions=4)
            await produce(cluster, "orders", 40, partitions=4)
            consumer = make_consumer(cluster, group_id="g", topics=["orders"])
            await consumer.start()
            polling = asyncio.create_task(consumer.poll(moment))
            await asyncio.sleep(moment)
            await cluster.kill(0)
            await asyncio.wait({polling})
            began = current_clock().now()

            await consumer.close(timeout=5)

            assert current_clock().now() - began <= 5.5
            await cluster.start(0)
