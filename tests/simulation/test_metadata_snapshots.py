"""Snapshots of the metadata: restarts from them, and crashes at every step of writing them."""

from __future__ import annotations

import asyncio
import errno
from random import Random

import pytest

from pyk.protocol.errors import ErrorCode
from pyk.reference_broker.controller.snapshot_format import SnapshotId
from pyk.reference_broker.storage import StorageError
from pyk.runtime.filesystem.faulty import FaultyFileSystem
from pyk.runtime.filesystem.memory import MemoryFileSystem
from pyk.runtime.virtual_time import run_virtual, virtual_time
from support.nodes import DATA, Node, running

DIRECTORY = f"{DATA}/__cluster_metadata-0"
OFTEN = {"metadata.log.max.record.bytes.between.snapshots": "300"}
AND_NO_OLD_ONES = {**OFTEN, "metadata.max.retention.bytes": "1"}
HOUR = 3600


def snapshots(filesystem: MemoryFileSystem) -> list[str]:
    return [name for name in filesystem.list_directory(DIRECTORY) if SnapshotId.of_file(name)]


async def create_and_delete(node: Node, topics: int = 12) -> list[str]:
    """Create topics and delete every third; return those that must be there."""
    names = []
    for number in range(topics):
        name = f"topic-{number}"
        if await node.create(name, 2, flush_messages="1") is ErrorCode.NONE:
            names.append(name)
        if number % 3 == 2 and name in names:
            names.remove(name)
            node.delete(name)
    return names


@virtual_time
async def test_restart_from_a_snapshot_reads_the_same_metadata() -> None:
    memory = MemoryFileSystem()
    async with running(memory, **AND_NO_OLD_ONES) as node:
        names = await create_and_delete(node, 30)
        topics, configs = node.image.topics, node.image.configs
        epoch = node.broker.controller._log.leader_epoch
        await node.broker.stop()

    async with running(memory, **AND_NO_OLD_ONES) as again:
        assert again.broker.controller._log._partition.log.log_start_offset > 0
        assert again.broker.controller._log.leader_epoch == epoch + 1
        assert sorted(again.image.topics) == sorted(names)
        assert again.image.topics == again.decided_image.topics == topics
        assert again.image.configs == again.decided_image.configs == configs
        end = again.broker.controller._log.end_offset
        assert again.image.record_count == again.decided_image.record_count == end
        assert len(snapshots(memory)) == 1


@virtual_time
async def test_log_behind_the_snapshots_goes() -> None:
    memory = MemoryFileSystem()
    async with running(memory, **AND_NO_OLD_ONES, **{"log.segment.delete.delay.ms": "0"}) as node:
        await create_and_delete(node)
        await asyncio.sleep(2 * HOUR)  # segments are deleted by the maintenance

        names = memory.list_directory(DIRECTORY)
        assert f"{0:020d}.log" not in names
        assert await node.create("one-more") is ErrorCode.NONE
        topics = set(node.image.topics)
        await node.broker.stop()

    async with running(memory) as again:
        assert set(again.image.topics) == topics


@virtual_time
async def test_changed_metadata_has_a_snapshot_after_the_interval_and_unchanged_has_no_other() -> (
    None
):
    memory = MemoryFileSystem()
    async with running(memory) as node:
        await node.create("one")
        assert snapshots(memory) == []

        await asyncio.sleep(HOUR)
        assert len(snapshots(memory)) == 1

        await asyncio.sleep(10 * HOUR)
        assert len(snapshots(memory)) == 1


@virtual_time
async def test_old_snapshots_and_their_log_stay_as_long_as_retention_says() -> None:
    memory = MemoryFileSystem()
    async with running(memory, **OFTEN) as node:
        await create_and_delete(node)

        assert len(snapshots(memory)) > 2
        assert node.broker.controller._log._partition.log.log_start_offset == 0


@virtual_time
async def test_damaged_snapshot_is_set_aside_and_an_older_one_is_loaded(caplog) -> None:
    memory = MemoryFileSystem()
    async with running(memory, **OFTEN) as node:
        await create_and_delete(node)
        topics = node.image.topics
        await node.broker.stop()
    newest = f"{DIRECTORY}/{snapshots(memory)[-1]}"
    memory.open(newest).truncate(memory.size(newest) - 1)
    memory.open(f"{newest}.part", create=True)
    memory.rename(f"{newest}.part", f"{DIRECTORY}/{'9' * 20}-0000000000.checkpoint.part")

    async with running(memory) as again:
        assert again.image.topics == topics
        assert f"{newest} is damaged" in caplog.text
        names = memory.list_directory(DIRECTORY)
        assert [name for name in names if name.endswith(".part")] == []
        assert [f"{DIRECTORY}/{name}" for name in names if "damaged" in name] == [
            f"{newest}.damaged"
        ]


@virtual_time
async def test_start_without_the_snapshot_before_the_log_is_an_error_that_says_so() -> None:
    memory = MemoryFileSystem()
    async with running(memory, **AND_NO_OLD_ONES) as node:
        await create_and_delete(node)
        await node.broker.stop()
    (only,) = snapshots(memory)
    memory.remove(f"{DIRECTORY}/{only}")

    with pytest.raises(StorageError, match=r"no snapshot .* stands for the records before"):
        await Node(memory).start()


@pytest.mark.parametrize("loses_unflushed", [False, True])
def test_crash_at_any_step_of_writing_snapshots_loses_no_acknowledged_topic(
    loses_unflushed: bool,
) -> None:
    async def crash_after(operations: int) -> bool:
        """Let the disk fail for good after so many operations; return whether it did."""
        memory = MemoryFileSystem()
        faulty = FaultyFileSystem(memory)
        node = await Node(faulty, **AND_NO_OLD_ONES).start()
        fault = faulty.on("any", "*/__cluster_metadata-0/*").after(operations).fail(errno.EIO)
        kept: list[str] = []
        for number in range(4):
            name = f"topic-{number}"
            if await node.create(name, flush_messages="1") is ErrorCode.NONE:
                kept.append(name)
        has_failed = fault.skips_left < 0
        memory.crash(loses_unflushed=loses_unflushed, random=Random(operations))
        await node.broker.kill()

        async with running(memory, **AND_NO_OLD_ONES) as again:
            assert set(kept) <= set(again.image.topics)
            assert await again.create("after") is ErrorCode.NONE
        return has_failed

    operations = 0
    while run_virtual(crash_after(operations)):
        operations += 1
    assert operations > 20
