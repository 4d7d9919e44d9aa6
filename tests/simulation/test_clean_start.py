"""After a clean shutdown a log is opened on its first use."""

from __future__ import annotations

import asyncio

import pytest

from pyk.protocol.errors import ErrorCode
from pyk.reference_broker.errors import ApiError
from pyk.reference_broker.metadata_follower import CHANGES_IN_A_TURN
from pyk.runtime.filesystem.faulty import FaultyFileSystem
from pyk.runtime.filesystem.memory import MemoryFileSystem
from pyk.runtime.virtual_time import virtual_time
from support.nodes import DATA, running

PARTITIONS = 200


async def stopped_cleanly(memory: MemoryFileSystem, *names: str, **configs: str) -> None:
    """Leave topics with a record in each partition, as a clean shutdown does."""
    async with running(memory) as node:
        for name in names:
            await node.create(name, PARTITIONS, **configs)
            for number in range(PARTITIONS):
                node.append(name, b"%d" % number, number)
        await node.broker.stop()


@virtual_time
async def test_no_log_is_opened_before_its_first_use() -> None:
    memory = MemoryFileSystem()
    await stopped_cleanly(memory, "orders")

    async with running(memory) as node:
        assert node.broker.services.replicas.of_topic("orders") == []

        assert node.values("orders", 7) == [b"7"]
        assert node.partition("orders", 7).high_watermark == 1
        assert len(node.broker.services.replicas.of_topic("orders")) == 1


@virtual_time
async def test_the_maintenance_opens_the_other_logs_and_deletes_old_segments() -> None:
    memory = MemoryFileSystem()
    await stopped_cleanly(memory, "orders", retention_ms="1000")

    async with running(memory) as node:
        node.append("orders", b"new", 7)
        await asyncio.sleep(31)

        assert len(node.broker.services.replicas.of_topic("orders")) == PARTITIONS
        assert node.broker.services.replicas.unopened() == []
        assert node.partition("orders", 8).log_start_offset == 1


@virtual_time
async def test_the_maintenance_opens_some_logs_in_each_turn_and_begins_after_the_last() -> None:
    memory = MemoryFileSystem()
    await stopped_cleanly(memory, "orders")

    async with running(memory) as node:
        replicas, follower = node.broker.services.replicas, node.broker.follower
        began_behind: list[int] = []
        follower.follow_unused(lambda: began_behind.append(len(replicas.of_topic("orders"))))
        opened_at_once = len(replicas.of_topic("orders"))
        await asyncio.sleep(1)

        assert opened_at_once == CHANGES_IN_A_TURN
        assert began_behind == [PARTITIONS]


@virtual_time
async def test_unused_logs_outlive_any_number_of_stops() -> None:
    memory = MemoryFileSystem()
    await stopped_cleanly(memory, "orders")

    for _ in range(3):
        async with running(memory) as node:
            await node.broker.stop()
    async with running(memory) as node:
        assert node.append("orders", b"more", 3)
    memory.crash(loses_unflushed=False)

    async with running(memory) as node:
        opened = node.broker.services.replicas.of_topic("orders")
        assert len(opened) == PARTITIONS, "after a crash all are recovered"
        assert node.values("orders", 3) == [b"3", b"more"]
        assert node.values("orders", 4) == [b"4"]


@virtual_time
async def test_a_log_that_cannot_be_opened_is_offline_until_it_can() -> None:
    memory = MemoryFileSystem()
    await stopped_cleanly(memory, "orders")
    faulty = FaultyFileSystem(memory)
    faulty.on("open", "*/orders-7/*").times(2).fail()

    async with running(faulty) as node:
        for _ in range(2):
            with pytest.raises(ApiError) as refused:
                node.partition("orders", 7)
            assert refused.value.code is ErrorCode.KAFKA_STORAGE_ERROR
        assert node.values("orders", 8) == [b"8"]

        await asyncio.sleep(2)
        assert node.values("orders", 7) == [b"7"]


@virtual_time
async def test_an_unused_topic_can_be_deleted_and_created_again() -> None:
    memory = MemoryFileSystem()
    await stopped_cleanly(memory, "orders")

    async with running(memory) as node:
        node.delete("orders")
        with pytest.raises(ApiError) as refused:
            node.partition("orders", 7)
        assert refused.value.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        await node.create("orders", PARTITIONS)

        assert node.values("orders", 7) == []
        assert node.append("orders", b"new", 7)


@virtual_time
async def test_the_logs_of_a_deleted_topic_go_although_its_name_is_used_again_at_once() -> None:
    memory = MemoryFileSystem()
    await stopped_cleanly(memory, "orders")

    async with running(memory) as node:
        node.delete("orders")
        await node.create("orders", PARTITIONS)
        await asyncio.sleep(100)

        left = [name for name in memory.list_directory(DATA) if name.startswith("orders-")]
        assert len(left) == PARTITIONS


@virtual_time
async def test_the_log_of_another_topic_is_set_aside_when_its_name_is_used(caplog) -> None:
    memory = MemoryFileSystem()
    await stopped_cleanly(memory, "orders", "others")
    memory.remove_tree(f"{DATA}/orders-7")
    memory.rename(f"{DATA}/others-7", f"{DATA}/orders-7")

    async with running(memory) as node:
        assert node.values("orders", 7) == []

        (stray,) = [name for name in memory.list_directory(DATA) if name.endswith("-stray")]
        assert stray.startswith("orders-7.")
        assert f"{DATA}/{stray} belongs to no topic" in caplog.text
