"""Replicas that move between the log directories of a broker, while clients use them."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from random import Random
from typing import Any

import pytest

from pyk.clients import (
    AsyncAdmin,
    AsyncConsumer,
    AsyncProducer,
    NewTopic,
    TopicPartition,
    TopicPartitionReplica,
)
from pyk.clients.errors import (
    InvalidTopicError,
    KafkaError,
    KafkaStorageError,
    LogDirNotFoundError,
    UnknownTopicOrPartitionError,
)
from pyk.reference_broker import AsyncCluster, World
from pyk.reference_broker.storage import StorageError
from support.logs import batch

PLACE = TopicPartition("orders", 0)
REPLICA = TopicPartitionReplica("orders", 0, 0)
RATE = "replica.alter.log.dirs.io.max.bytes.per.second"


def run(scenario: Coroutine[Any, Any, None]) -> None:
    World().run(scenario)


async def path_of(admin: AsyncAdmin, replica: TopicPartitionReplica = REPLICA) -> str | None:
    return (await admin.describe_replica_log_dirs([replica]))[replica].path


async def until_at(admin: AsyncAdmin, path: str) -> None:
    async with asyncio.timeout(600):
        while await path_of(admin) != path:
            await asyncio.sleep(0.1)


def test_records_are_produced_and_consumed_while_their_partition_moves() -> None:
    async def scenario() -> None:
        async with (
            AsyncCluster(log_dirs=3, config={RATE: "20000"}) as cluster,
            AsyncAdmin(cluster.bootstrap) as admin,
            AsyncProducer(cluster.bootstrap, linger_ms=0) as producer,
            AsyncConsumer(cluster.bootstrap, auto_offset_reset="earliest") as consumer,
        ):
            await cluster.create_topic("orders", configs={"segment.bytes": 1 << 20})
            consumer.assign([PLACE])
            sent, read = 0, 0
            for target in (1, 2, 0, 1):
                await admin.alter_replica_log_dirs({REPLICA: cluster.log_dirs()[target]})
                for _ in range(20):
                    await producer.send_and_wait("orders", b"%05d" % sent + b"x" * 1000)
                    sent += 1
                    read += len(await consumer.poll(0.01))
                await until_at(admin, cluster.log_dirs()[target])
            while read < sent:
                read += len(await consumer.poll(1))

            stored = [each.value for each in await cluster.records("orders")]
            assert [int(value[:5]) for value in stored if value] == list(range(sent))
            assert read == sent

    run(scenario())


def test_a_move_is_seen_until_it_is_done() -> None:
    async def scenario() -> None:
        async with (
            AsyncCluster(log_dirs=2, config={RATE: "1000"}) as cluster,
            AsyncAdmin(cluster.bootstrap) as admin,
        ):
            first, second = cluster.log_dirs()
            await cluster.create_topic("orders")
            await cluster.seed({"orders": [b"x" * 1000] * 5})
            await admin.alter_replica_log_dirs({REPLICA: second})
            await asyncio.sleep(0.5)

            found = (await admin.describe_replica_log_dirs([REPLICA]))[REPLICA]
            assert (found.path, found.offset_lag) == (first, 0)
            assert (found.future_path, found.future_offset_lag) == (second, 0)
            future = (await admin.describe_log_dirs([0]))[0][second].replicas[PLACE]
            assert future.is_future
            assert future.size > 5000

            await until_at(admin, second)
            found = (await admin.describe_replica_log_dirs([REPLICA]))[REPLICA]
            assert (found.path, found.future_path) == (second, None)
            (broker,) = cluster._brokers.values()
            await asyncio.sleep(1)
            image = broker.image.topics["orders"].partitions[0]
            assert image.directory_of(0) == broker._logs.homes.at(second).directory_id

    run(scenario())


def test_a_move_back_ends_a_move() -> None:
    async def scenario() -> None:
        async with (
            AsyncCluster(log_dirs=2, config={RATE: "1000"}) as cluster,
            AsyncAdmin(cluster.bootstrap) as admin,
        ):
            first, second = cluster.log_dirs()
            await cluster.create_topic("orders")
            await cluster.seed({"orders": [b"x" * 1000] * 5})
            await admin.alter_replica_log_dirs({REPLICA: second})
            await asyncio.sleep(0.1)

            await admin.alter_replica_log_dirs({REPLICA: first})

            found = (await admin.describe_replica_log_dirs([REPLICA]))[REPLICA]
            assert (found.path, found.future_path) == (first, None)

    run(scenario())


def test_a_topic_that_is_deleted_while_it_moves_is_gone_from_both_directories() -> None:
    async def scenario() -> None:
        async with (
            AsyncCluster(log_dirs=2, config={RATE: "1000"}) as cluster,
            AsyncAdmin(cluster.bootstrap) as admin,
        ):
            await cluster.create_topic("orders")
            await cluster.seed({"orders": [b"x" * 1000] * 5})
            await admin.alter_replica_log_dirs({REPLICA: cluster.log_dirs()[1]})
            await asyncio.sleep(0.1)

            await admin.delete_topics(["orders"])

            found = (await admin.describe_log_dirs([0]))[0].values()
            assert [dict(each.replicas) for each in found] == [{}, {}]
            await cluster.create_topic("orders")
            await cluster.seed({"orders": [b"new"]})
            assert [each.value for each in await cluster.records("orders")] == [b"new"]

    run(scenario())


def test_a_partition_that_is_created_later_begins_in_the_directory_asked_for() -> None:
    async def scenario() -> None:
        async with AsyncCluster(log_dirs=3) as cluster, AsyncAdmin(cluster.bootstrap) as admin:
            third = cluster.log_dirs()[2]
            with pytest.raises(UnknownTopicOrPartitionError):
                await admin.alter_replica_log_dirs({REPLICA: third})

            await admin.create_topics([NewTopic("orders")])

            assert await path_of(admin) == third

    run(scenario())


def test_a_move_that_is_not_possible_is_refused_as_by_kafka() -> None:
    async def scenario() -> None:
        async with (
            AsyncCluster(log_dirs=3) as cluster,
            AsyncAdmin(cluster.bootstrap) as admin,
        ):
            long_name = TopicPartitionReplica("x" * 220, 0, 0)
            await cluster.create_topic("orders", 2)
            await cluster.create_topic(long_name.topic)

            with pytest.raises(LogDirNotFoundError):
                await admin.alter_replica_log_dirs({REPLICA: "/elsewhere"})
            with pytest.raises(InvalidTopicError):
                await admin.alter_replica_log_dirs({long_name: cluster.log_dirs()[2]})
            cluster.disk.fail(cluster.log_dirs()[1])
            for partition in cluster._partitions_of("orders"):
                with suppress(StorageError):
                    partition.append(batch(b"touch"))
            await asyncio.sleep(1)
            for target in (1, 2):  # while a directory is offline nothing moves
                with pytest.raises(KafkaStorageError):
                    await admin.alter_replica_log_dirs({REPLICA: cluster.log_dirs()[target]})

    run(scenario())


def test_a_move_goes_on_after_a_restart() -> None:
    async def scenario() -> None:
        async with (
            AsyncCluster(log_dirs=2, config={RATE: "1000"}) as cluster,
            AsyncAdmin(cluster.bootstrap) as admin,
        ):
            second = cluster.log_dirs()[1]
            await cluster.create_topic("orders")
            await cluster.seed({"orders": [b"x" * 1000] * 5})
            await admin.alter_replica_log_dirs({REPLICA: second})
            await asyncio.sleep(0.1)

            for stop in (cluster.kill, cluster.stop):
                await stop()
                await cluster.start()

            await until_at(admin, second)
            assert len(await cluster.records("orders")) == 5

    run(scenario())


@pytest.mark.parametrize("stop", [AsyncCluster.stop, AsyncCluster.kill])
def test_a_log_that_has_moved_is_not_used_while_the_directory_that_it_moved_to_is_offline(
    caplog: pytest.LogCaptureFixture, stop: Callable[[AsyncCluster], Awaitable[None]]
) -> None:
    async def scenario() -> None:
        async with (
            AsyncCluster(log_dirs=3) as cluster,
            AsyncAdmin(cluster.bootstrap) as admin,
            AsyncProducer(cluster.bootstrap) as producer,
        ):
            first, _, third = cluster.log_dirs()
            await cluster.create_topic("orders")
            await producer.send_and_wait("orders", b"before")
            cluster.disk.on("rename", f"{first}/*-delete").fail(errno.ENOSPC)
            await admin.alter_replica_log_dirs({REPLICA: third})
            await until_at(admin, third)
            await producer.send_and_wait("orders", b"after")
            await asyncio.sleep(1)
            await stop(cluster)
            cluster.disk.fail(third)
            await cluster.start()
            await asyncio.sleep(1)

            found = (await admin.describe_topics(["orders"]))["orders"].partitions[0]
            assert found.leader_id is None
            assert f"{first}/orders-0 is not used" in caplog.text

            cluster.disk.heal()
            await cluster.stop()
            await cluster.start()
            await producer.send_and_wait("orders", b"later")
            stored = [each.value for each in await cluster.records("orders")]
            assert stored == [b"before", b"after", b"later"]

    run(scenario())


def directory_in_the_metadata(cluster: AsyncCluster) -> str:
    """Return where the controller knows the replica to be."""
    (broker,) = cluster._brokers.values()
    known = broker.image.topics["orders"].partitions[0].directory_of(0)
    return next(e.path for e in broker._logs.homes.directories if e.directory_id == known)


def test_a_log_does_not_move_before_the_controller_knows_where_to() -> None:
    async def scenario() -> None:
        async with AsyncCluster(log_dirs=2) as cluster, AsyncAdmin(cluster.bootstrap) as admin:
            first, second = cluster.log_dirs()
            await cluster.create_topic("orders")
            await cluster.seed({"orders": [b"0"]})
            (broker,) = cluster._brokers.values()
            controller = broker._directory_reports._controller
            broker._directory_reports._controller = None  # nothing is told any more

            await admin.alter_replica_log_dirs({REPLICA: second})
            await asyncio.sleep(5)
            assert await path_of(admin) == first
            broker._directory_reports._controller = controller
            await until_at(admin, second)

            assert directory_in_the_metadata(cluster) == second

    run(scenario())


def test_the_controller_is_told_that_a_move_was_given_up() -> None:
    async def scenario() -> None:
        async with AsyncCluster(log_dirs=2) as cluster, AsyncAdmin(cluster.bootstrap) as admin:
            first, second = cluster.log_dirs()
            await cluster.create_topic("orders")
            await cluster.seed({"orders": [b"0"]})
            full = cluster.disk.on("open", f"{second}/orders-0/*").fail(errno.ENOSPC)

            await admin.alter_replica_log_dirs({REPLICA: second})
            await asyncio.sleep(5)

            assert directory_in_the_metadata(cluster) == first
            full.heal()
            await until_at(admin, second)
            assert directory_in_the_metadata(cluster) == second

    run(scenario())


def test_a_log_that_may_have_moved_is_not_used_while_the_other_directory_is_offline() -> None:
    async def scenario() -> None:
        async with (
            AsyncCluster(log_dirs=3) as cluster,
            AsyncAdmin(cluster.bootstrap) as admin,
            AsyncProducer(cluster.bootstrap) as producer,
        ):
            first, _, third = cluster.log_dirs()
            await cluster.create_topic("orders")
            await producer.send_and_wait("orders", b"before")
            cluster.disk.on("open", f"{third}/orders-0/*").fail(errno.ENOSPC)
            cluster.disk.on("write", f"{first}/orders-0/move.metadata*").fail(errno.ENOSPC)
            await admin.alter_replica_log_dirs({REPLICA: third})
            await asyncio.sleep(30)
            await cluster.kill()
            cluster.disk.heal()
            cluster.disk.fail(third)
            await cluster.start()
            await asyncio.sleep(1)

            found = (await admin.describe_topics(["orders"]))["orders"].partitions[0]
            assert found.leader_id is None

            cluster.disk.heal()
            await cluster.stop()
            await cluster.start()
            await producer.send_and_wait("orders", b"after")
            stored = [each.value for each in await cluster.records("orders")]
            assert stored == [b"before", b"after"]

    run(scenario())


def test_the_offsets_of_groups_move() -> None:
    async def scenario() -> None:
        config = {"offsets.topic.num.partitions": "1"}
        async with (
            AsyncCluster(log_dirs=2, config=config) as cluster,
            AsyncAdmin(cluster.bootstrap) as admin,
            AsyncConsumer(
                cluster.bootstrap, group_id="readers", auto_offset_reset="earliest"
            ) as consumer,
        ):
            await cluster.create_topic("orders")
            await cluster.seed({"orders": [b"0", b"1"]})
            consumer.subscribe(["orders"])
            while not await consumer.poll(1):
                pass
            await consumer.commit()
            offsets = TopicPartitionReplica("__consumer_offsets", 0, 0)
            for path in cluster.log_dirs():
                await admin.alter_replica_log_dirs({offsets: path})
                async with asyncio.timeout(60):
                    while await path_of(admin, offsets) != path:
                        await asyncio.sleep(0.1)
                await cluster.seed({"orders": [b"more"]})
                while not await consumer.poll(1):
                    pass
                await consumer.commit()
            await cluster.kill()
            await cluster.start()

            committed = await admin.list_consumer_group_offsets("readers")
            assert committed[PLACE].offset == 4

    run(scenario())


@pytest.mark.parametrize("seed", range(10))
def test_nothing_acknowledged_is_lost_or_doubled_through_moves_kills_and_failing_disks(
    seed: int,
) -> None:
    async def scenario() -> None:
        random = Random(seed)
        acknowledged: set[bytes] = set()
        config = {RATE: "50000", "offsets.topic.num.partitions": "1"}
        async with (
            AsyncCluster(log_dirs=3, config=config) as cluster,
            AsyncAdmin(cluster.bootstrap, default_api_timeout_ms=1_000) as admin,
        ):
            await cluster.create_topic("orders", 6, configs={"segment.bytes": 1 << 20})
            producing = asyncio.create_task(produce(cluster.bootstrap, acknowledged))
            for _ in range(25):
                await asyncio.sleep(random.uniform(0, 2))
                await disturb(cluster, admin, random)
            producing.cancel()
            await asyncio.gather(producing, return_exceptions=True)
            await cluster.heal()
            await cluster.stop()
            await cluster.start()
            await asyncio.sleep(5)

            stored = [each.value for each in await cluster.records("orders")]
            assert len(stored) == len(set(stored))
            assert acknowledged <= set(stored)
            assert len(acknowledged) > 100
            leaders = (await admin.describe_topics(["orders"]))["orders"].partitions
            assert [each.leader_id for each in leaders] == [0] * 6

    run(scenario())


async def produce(bootstrap: str, acknowledged: set[bytes]) -> None:
    """Produce to all partitions until cancelled, and note what was acknowledged."""
    async with AsyncProducer(
        bootstrap, linger_ms=0, delivery_timeout_ms=3_000, request_timeout_ms=1_000
    ) as producer:
        number = 0
        while True:
            value = b"%06d" % number
            delivery = await producer.send("orders", value + b"x" * 500, partition=number % 6)
            delivery.add_done_callback(
                lambda done, value=value: note(done, value + b"x" * 500, acknowledged)
            )
            number += 1
            await asyncio.sleep(0.02)


def note(done: Any, value: bytes, acknowledged: set[bytes]) -> None:
    if done.exception() is None:
        acknowledged.add(value)


async def disturb(cluster: AsyncCluster, admin: AsyncAdmin, random: Random) -> None:
    """Move a partition, kill or stop the broker, break a disk or repair it."""
    what = random.choice(["move"] * 6 + ["kill", "stop", "break", "repair"])
    if what == "move":
        replica = TopicPartitionReplica("orders", random.randrange(6), 0)
        with suppress(KafkaError):
            await admin.alter_replica_log_dirs({replica: random.choice(cluster.log_dirs())})
    elif what == "break":
        path = random.choice(cluster.log_dirs()[1:])
        cluster.disk.fail(path).after(random.randrange(30))
    else:
        if what == "repair":
            cluster.disk.heal()
        with suppress(StorageError):  # a disk that fails meanwhile cannot be written
            await (cluster.kill() if what == "kill" else cluster.stop())
        await cluster.start()
