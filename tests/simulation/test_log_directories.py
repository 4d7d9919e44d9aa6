"""A broker with several log directories, and disks that fail below it."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import attrs
import pytest

from pyk.clients import (
    AsyncAdmin,
    AsyncConsumer,
    AsyncProducer,
    LogDirDescription,
    NewTopic,
    PartitionDescription,
    TopicPartition,
)
from pyk.clients.errors import KafkaStorageError
from pyk.protocol.errors import ErrorCode
from pyk.reference_broker import AsyncCluster, World
from pyk.reference_broker.errors import ApiError
from pyk.reference_broker.storage import StorageError
from support.logs import batch

LOST = "orders-1"


@attrs.define
class Disks:
    """A cluster whose node has several log directories, and its administrator."""

    cluster: AsyncCluster
    admin: AsyncAdmin

    async def directories(self) -> dict[str, LogDirDescription]:
        return (await self.admin.describe_log_dirs([0]))[0]

    async def partitions(self, topic: str = "orders") -> tuple[PartitionDescription, ...]:
        return tuple((await self.admin.describe_topics([topic]))[topic].partitions)

    async def fail(self, number: int) -> None:
        """Let a disk fail, and touch it."""
        self.cluster.disk.fail(self.cluster.log_dirs()[number])
        await self.touch()

    async def touch(self) -> None:
        """Append to all partitions of the topic, whatever comes of it."""
        for partition in self.cluster._partitions_of("orders"):
            with suppress(StorageError):
                partition.append(batch(b"touch"))
        await asyncio.sleep(1)

    async def restart(self) -> None:
        await self.cluster.stop()
        await self.cluster.start()


@asynccontextmanager
async def three_disks(**config: str) -> AsyncIterator[Disks]:
    """A cluster with three log directories, and a topic with a partition in each."""
    names = {name.replace("_", "."): value for name, value in config.items()}
    async with (
        AsyncCluster(log_dirs=3, config=names) as cluster,
        AsyncAdmin(cluster.bootstrap) as admin,
    ):
        await cluster.create_topic("orders", 3)
        yield Disks(cluster, admin)


def names(directory: LogDirDescription) -> set[str]:
    return {f"{name.topic}-{name.partition}" for name in directory.replicas}


def run(scenario: object) -> None:
    World().run(scenario)  # type: ignore[arg-type]


def test_partitions_are_spread_over_the_directories() -> None:
    async def scenario() -> None:
        async with three_disks() as disks:
            found = await disks.directories()

            assert tuple(found) == disks.cluster.log_dirs()
            assert list(map(names, found.values())) == [{"orders-0"}, {"orders-1"}, {"orders-2"}]
            assert all(each.error is None for each in found.values())

    run(scenario())


def test_the_metadata_name_the_directory_of_each_partition() -> None:
    async def scenario() -> None:
        async with three_disks() as disks:
            await asyncio.sleep(1)
            (broker,) = disks.cluster._brokers.values()
            assigned = [
                each.directory_of(0) for each in broker.image.topics["orders"].partitions.values()
            ]

            assert set(assigned) == set(broker.image.brokers[0].registration.log_dirs)
            assert len(set(assigned)) == 3

    run(scenario())


def test_a_partition_on_a_failed_disk_has_no_leader_and_the_others_go_on() -> None:
    async def scenario() -> None:
        async with three_disks() as disks, AsyncProducer(disks.cluster.bootstrap) as producer:
            await producer.send_and_wait("orders", b"before", partition=0)
            epochs = [each.leader_epoch for each in await disks.partitions()]

            await disks.fail(1)

            healthy, lost, _ = await disks.partitions()
            assert (healthy.leader_id, healthy.offline_replicas) == (0, ())
            assert (lost.leader_id, lost.offline_replicas, lost.replicas) == (None, (0,), (0,))
            assert lost.leader_epoch == epochs[1] + 1
            assert (lost.in_sync_replicas, lost.eligible_leader_replicas) == ((), (0,))
            assert lost.last_known_eligible_leader_replicas == (0,)
            await producer.send_and_wait("orders", b"after", partition=0)
            found = list((await disks.directories()).values())
            assert isinstance(found[1].error, KafkaStorageError)
            assert names(found[1]) == set()
            assert names(found[0]) == {"orders-0"}

    run(scenario())


def test_requests_for_a_partition_on_a_failed_disk_are_answered_with_a_storage_error() -> None:
    async def scenario() -> None:
        async with three_disks() as disks:
            await disks.fail(1)
            lost = disks.cluster._controller().services.replicas.get("orders", 1)

            with pytest.raises(StorageError):
                lost.append(batch(b"x"))
            with pytest.raises(StorageError):
                lost.reader.read(0, 100)

    run(scenario())


def test_new_topics_avoid_a_failed_disk() -> None:
    async def scenario() -> None:
        async with three_disks() as disks:
            await disks.fail(1)

            await disks.admin.create_topics([NewTopic("later", partitions=4)])
            found = list((await disks.directories()).values())

            assert [each.leader_id for each in await disks.partitions("later")] == [0] * 4
            assert len(names(found[0])) == len(names(found[2])) == 3

    run(scenario())


def test_a_disk_that_is_broken_at_the_start_takes_only_its_partitions_offline() -> None:
    async def scenario() -> None:
        async with three_disks() as disks, AsyncProducer(disks.cluster.bootstrap) as producer:
            for number in range(3):
                await producer.send_and_wait("orders", b"kept", partition=number)
            await asyncio.sleep(1)
            await disks.cluster.stop()
            fault = disks.cluster.disk.fail(disks.cluster.log_dirs()[1])
            await disks.cluster.start()

            leaders = [each.leader_id for each in await disks.partitions()]
            assert leaders == [0, None, 0]
            with pytest.raises(ApiError) as refused:
                disks.cluster._controller().services.replicas.get("orders", 1)
            assert refused.value.code is ErrorCode.KAFKA_STORAGE_ERROR
            found = list((await disks.directories()).values())
            assert isinstance(found[1].error, KafkaStorageError)

            fault.heal()
            await disks.restart()

            assert [each.leader_id for each in await disks.partitions()] == [0, 0, 0]
            assert [each.value for each in await disks.cluster.records("orders")] == [b"kept"] * 3

    run(scenario())


@pytest.mark.parametrize("stop", [AsyncCluster.stop, AsyncCluster.kill])
def test_a_disk_that_failed_is_used_again_after_it_was_repaired(stop: object) -> None:
    async def scenario() -> None:
        async with three_disks() as disks, AsyncProducer(disks.cluster.bootstrap) as producer:
            await producer.send_and_wait("orders", b"kept", partition=1)
            await disks.fail(1)

            await stop(disks.cluster)  # type: ignore[operator]
            disks.cluster.disk.heal()
            await disks.cluster.start()

            (record, *_) = [
                each for each in await disks.cluster.records("orders") if each.partition == 1
            ]
            assert record.value == b"kept"
            assert (await disks.partitions())[1].leader_id == 0
            await producer.send_and_wait("orders", b"more", partition=1)

    run(scenario())


def test_no_empty_log_takes_the_place_of_one_that_was_never_assigned() -> None:
    async def scenario() -> None:
        async with three_disks() as disks:
            (broker,) = disks.cluster._brokers.values()
            broker._directory_reports._controller = None  # nothing is told any more
            await disks.cluster.create_topic("untold", 3)
            await disks.cluster.kill()
            disks.cluster.disk.fail(disks.cluster.log_dirs()[1])
            await disks.cluster.start()

            found = await disks.directories()
            assert sum("untold" in name for each in found.values() for name in names(each)) == 2

    run(scenario())


def test_a_topic_on_a_failed_disk_can_be_deleted_and_created_again() -> None:
    async def scenario() -> None:
        async with three_disks() as disks, AsyncProducer(disks.cluster.bootstrap) as producer:
            await disks.fail(1)
            await disks.admin.delete_topics(["orders"])
            await disks.cluster.create_topic("orders", 3)

            for number in range(3):
                await producer.send_and_wait("orders", b"new", partition=number)
            assert [each.value for each in await disks.cluster.records("orders")] == [b"new"] * 3

            disks.cluster.disk.heal()
            await disks.restart()
            assert [each.value for each in await disks.cluster.records("orders")] == [b"new"] * 3

    run(scenario())


def test_groups_whose_log_is_on_a_failed_disk_come_back_with_it() -> None:
    async def scenario() -> None:
        async with three_disks(offsets_topic_num_partitions="1") as disks:
            async with AsyncConsumer(
                disks.cluster.bootstrap, group_id="readers", auto_offset_reset="earliest"
            ) as consumer:
                await disks.cluster.seed({"orders": [{"value": b"0", "partition": 0}]})
                consumer.subscribe(["orders"])
                async for record in consumer:
                    await consumer.commit(record)
                    break
            home = next(
                path
                for path, each in (await disks.directories()).items()
                if "__consumer_offsets-0" in names(each)
            )
            await disks.cluster.stop()
            disks.cluster.disk.fail(home)
            if home != disks.cluster.log_dirs()[0]:
                await disks.cluster.start()
                await asyncio.sleep(1)
                await disks.cluster.stop()
            disks.cluster.disk.heal()
            await disks.cluster.start()

            offsets = await disks.admin.list_consumer_group_offsets("readers")
            assert offsets[TopicPartition("orders", 0)].offset == 1

    run(scenario())


@pytest.mark.parametrize("operation", range(0, 60, 2))
def test_a_disk_that_fails_at_any_operation_refuses_nothing_of_the_others(operation: int) -> None:
    async def scenario() -> None:
        acknowledged: dict[int, list[bytes]] = {0: [], 1: [], 2: []}
        async with (
            three_disks(
                log_initial_task_delay_ms="100",
                log_retention_check_interval_ms="300",
                log_flush_scheduler_interval_ms="100",
                replica_high_watermark_checkpoint_interval_ms="300",
            ) as disks,
            AsyncProducer(disks.cluster.bootstrap, linger_ms=0) as producer,
        ):
            (lost,) = disks.cluster.log_dirs()[1:2]
            await disks.admin.create_topics([NewTopic("more", partitions=3)])
            disks.cluster.disk.fail(lost).after(operation)
            for number in range(30):
                value = b"%d" % number
                for partition in (0, 2):
                    await producer.send_and_wait("orders", value, partition=partition)
                    acknowledged[partition].append(value)
                with suppress(StorageError):
                    replicas = disks.cluster._controller().services.replicas
                    replicas.get("orders", 1).append(batch(value))
                    acknowledged[1].append(value)
                await asyncio.sleep(0.1)
            assert [each.leader_id for each in await disks.partitions()] == [0, None, 0]
            await disks.cluster.kill()
            disks.cluster.disk.heal()
            await disks.cluster.start()

            stored = await disks.cluster.records("orders")
            for partition, values in acknowledged.items():
                found = [each.value for each in stored if each.partition == partition]
                assert found[: len(values)] == values

    run(scenario())


@pytest.mark.parametrize("operation", range(0, 40, 4))
@pytest.mark.parametrize("stop", [AsyncCluster.stop, AsyncCluster.kill])
def test_a_disk_that_fails_at_any_operation_of_a_start_does_not_refuse_it(
    operation: int, stop: object
) -> None:
    async def scenario() -> None:
        async with three_disks() as disks, AsyncProducer(disks.cluster.bootstrap) as producer:
            await disks.cluster.seed(
                {"orders": [{"value": b"%d" % number, "partition": number} for number in range(3)]}
            )
            await asyncio.sleep(1)
            await stop(disks.cluster)  # type: ignore[operator]
            disks.cluster.disk.fail(disks.cluster.log_dirs()[1]).after(operation)

            await disks.cluster.start()

            for number in (0, 2):
                await producer.send_and_wait("orders", b"more", partition=number)
            disks.cluster.disk.heal()
            await disks.restart()
            stored = {each.value for each in await disks.cluster.records("orders")}
            assert stored == {b"0", b"1", b"2", b"more"}

    run(scenario())


@pytest.mark.parametrize("operation", range(1, 12, 2))
def test_a_log_that_could_not_be_created_on_a_full_disk_refuses_no_start(operation: int) -> None:
    async def scenario() -> None:
        async with three_disks() as disks, AsyncProducer(disks.cluster.bootstrap) as producer:
            full = disks.cluster.disk.on("any", disks.cluster.log_dirs()[0] + "/later-0")
            full.after(operation).fail(errno.ENOSPC)
            await disks.admin.create_topics([NewTopic("later", partitions=2)])
            await asyncio.sleep(5)
            full.heal()
            await asyncio.sleep(10)
            for number in range(2):
                await producer.send_and_wait("later", b"%d" % number, partition=number)

            await disks.restart()

            stored = await disks.cluster.records("later")
            assert sorted(each.value for each in stored) == [b"0", b"1"]

    run(scenario())
