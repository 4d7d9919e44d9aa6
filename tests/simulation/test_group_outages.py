"""Members of a group crash and idle, coordinators fail and refuse, and reading goes on."""

from __future__ import annotations

import asyncio
from itertools import product

import pytest

from pyk.clients import AsyncConsumer
from pyk.clients.errors import CommitFailedError, KafkaError
from pyk.protocol.errors import ErrorCode
from pyk.reference_broker import AsyncCluster, World
from pyk.runtime.virtual_time import current_clock, eventually, virtual_time
from support.consumer_groups import Group, Recorder, member_options, of_both_protocols
from support.consuming import eventually_polled, make_consumer, produce, read, reference_cluster


@of_both_protocols
@virtual_time
async def test_long_work_on_one_record_costs_no_membership(protocol):
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=4)
        await produce(cluster, "orders", 8, partitions=4)
        listener = Recorder()
        consumer = make_consumer(cluster, group_id="g", **member_options(protocol))
        async with consumer:
            consumer.subscribe(["orders"], listener=listener)
            processed = 0
            async for _ in consumer:
                await asyncio.sleep(120)  # several sessions long, but less than a poll interval
                processed += 1
                if processed == 8:
                    break

        assert listener.events == [("assigned", 4), ("revoked", 4)]


@of_both_protocols
@virtual_time
async def test_an_application_that_stays_away_is_replaced_and_comes_back(protocol):
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=4)
        await produce(cluster, "orders", 40, partitions=4)
        listener = Recorder()
        options = {"max_poll_interval_ms": 20_000, **member_options(protocol)}
        group = Group(cluster, **options)
        consumer = make_consumer(cluster, group_id="g", **options)
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


@of_both_protocols
@virtual_time
async def test_unfinished_records_of_a_crashed_member_are_read_again(protocol):
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=4)
        await produce(cluster, "orders", 400, partitions=4)
        group = Group(cluster, **member_options(protocol))
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


@of_both_protocols
@virtual_time
async def test_a_restarted_broker_costs_a_group_neither_records_nor_members(protocol):
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=4)
        group = Group(cluster, group_protocol=protocol)
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


PASSES = (
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
)
FENCED = ErrorCode.FENCED_MEMBER_EPOCH
LOSES_MEMBERSHIP = (
    ErrorCode.REBALANCE_IN_PROGRESS,
    ErrorCode.UNKNOWN_MEMBER_ID,
    ErrorCode.ILLEGAL_GENERATION,
)


@pytest.mark.parametrize(
    ("api", "code"),
    [
        *product(["JoinGroup", "SyncGroup", "Heartbeat"], PASSES + LOSES_MEMBERSHIP),
        *product(["OffsetFetch"], PASSES),
        *product(["ConsumerGroupHeartbeat"], (*PASSES, ErrorCode.UNKNOWN_MEMBER_ID, FENCED)),
    ],
)
@virtual_time
async def test_errors_of_the_coordinator_pass(api, code):
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=4)
        await produce(cluster, "orders", 40, partitions=4)
        with cluster.faults.on(api).times(3).error(code.name):
            # A member that the coordinator does not know leaves its former member id to the session
            # timeout.
            options = member_options(protocol_with(api))
            consumer = make_consumer(cluster, group_id="g", topics=["orders"], **options)
            async with consumer:
                assert len(await read(consumer, 40, timeout=30)) >= 40
                await consumer.poll(20)

                assert consumer.health().is_healthy
                assert len(consumer.assignment()) == 4


@pytest.mark.parametrize(
    "api",
    [
        "JoinGroup",
        "SyncGroup",
        "Heartbeat",
        "OffsetFetch",
        "OffsetCommit",
        "ConsumerGroupHeartbeat",
    ],
)
@virtual_time
async def test_lost_answers_of_the_coordinator_pass(api):
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=4)
        await produce(cluster, "orders", 40, partitions=4)
        with cluster.faults.on(api).times(2).apply_then_lose_response():
            options = member_options(protocol_with(api))
            consumer = make_consumer(cluster, group_id="g", topics=["orders"], **options)
            async with consumer:
                assert len(await read(consumer, 40, timeout=60)) >= 40
                await consumer.commit()
        assert set((await Group(cluster).committed()).values()) == {10}


def protocol_with(api):
    """Return the protocol whose members send this request."""
    return "consumer" if api == "ConsumerGroupHeartbeat" else "classic"


@pytest.mark.parametrize("api", ["JoinGroup", "ConsumerGroupHeartbeat"])
@virtual_time
async def test_a_refused_group_is_raised_once_a_try_and_recovers(api):
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=4)
        await produce(cluster, "orders", 4, partitions=4)
        options = member_options(protocol_with(api))
        consumer = make_consumer(cluster, group_id="g", topics=["orders"], **options)
        with cluster.faults.on(api).times(2).error("GROUP_AUTHORIZATION_FAILED"):
            async with consumer:
                failures = 0
                values: list[bytes] = []
                while len(values) < 4:
                    try:
                        values += [record.value for record in await consumer.poll(1)]
                    except KafkaError:
                        failures += 1

        assert failures == 2


@of_both_protocols
@virtual_time
async def test_closing_returns_in_time_whatever_the_broker_does(protocol):
    for moment in (0.0, 0.001, 0.003, 0.01, 0.05, 1.0, 5.0):
        async with reference_cluster() as cluster:
            await cluster.create_topic("orders", partitions=4)
            await produce(cluster, "orders", 40, partitions=4)
            options = {"group_id": "g", "topics": ["orders"], "group_protocol": protocol}
            consumer = make_consumer(cluster, **options)
            await consumer.start()
            polling = asyncio.create_task(consumer.poll(moment))
            await asyncio.sleep(moment)
            await cluster.kill(0)
            await asyncio.wait({polling})
            began = current_clock().now()

            await consumer.close(timeout=5)

            assert current_clock().now() - began <= 5.5
            await cluster.start(0)


@of_both_protocols
def test_a_member_tells_what_keeps_it_from_its_group_where_nothing_answers(protocol, caplog):
    world = World()

    async def problems() -> tuple[str, ...]:
        async with (
            AsyncCluster() as cluster,
            AsyncConsumer(
                cluster.bootstrap, group_id="g", topics=["orders"], group_protocol=protocol
            ) as consumer,
        ):
            await consumer.poll(10)
            world.network.cut("app", "kafka")
            await asyncio.sleep(120)
            found = consumer.health().problems
            world.network.heal()
            return found

    found = world.run(problems())

    assert any("the coordinator of 'g' in time: cannot connect to node 0" in one for one in found)
    warnings = [one for one in caplog.messages if one.startswith("Cannot join group g")]
    assert all("cannot connect to node 0" in one for one in warnings[1:])
    assert len(warnings) > 1
