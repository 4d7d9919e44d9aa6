"""After any disk fault, the state of the controller matches what a restart reads."""

from __future__ import annotations

import asyncio
import contextlib
import errno
from random import Random
from uuid import UUID

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pyk.protocol.errors import ErrorCode
from pyk.reference_broker.controller.image import MetadataImage
from pyk.reference_broker.coordinator.group.offsets import OffsetToCommit
from pyk.reference_broker.errors import ApiError
from pyk.reference_broker.storage import LogError, StorageError
from pyk.runtime.filesystem.faulty import FaultyFileSystem
from pyk.runtime.filesystem.memory import MemoryFileSystem
from pyk.runtime.virtual_time import run_virtual, virtual_time
from support.nodes import DATA, Node, NotAnsweredYetError, running

CHANGES = st.lists(
    st.tuples(
        st.sampled_from(["create", "delete", "grow", "append", "commit"]),
        st.sampled_from(["one", "two"]),
    ),
    min_size=1,
    max_size=12,
)


async def change(node: Node, what: str, name: str, number: int) -> None:
    """Do something that clients do, and live with its failure as they do."""
    try:
        if what == "create":
            await node.create(name, 2, flush_messages="1")
        elif what == "delete":
            node.delete(name)
        elif what == "grow":
            node.add_partitions(name, len(node.image.topics[name].partitions) + 1)
        elif what == "append":
            node.append(name, b"%d" % number)
        else:
            node.commit([OffsetToCommit(topic=name, partition=0, offset=number)])
    except (ApiError, LogError, KeyError, NotAnsweredYetError):
        pass


def partitions(image: MetadataImage) -> dict[str, tuple[UUID, dict[int, tuple[int, ...]]]]:
    """Return topics and partitions without their leader epochs, which a restart raises."""
    return {
        name: (topic.topic_id, {number: each.replicas for number, each in topic.partitions.items()})
        for name, topic in image.topics.items()
    }


@settings(max_examples=60)
@given(changes=CHANGES, failing=st.integers(0, 60), times=st.integers(1, 4))
def test_a_restart_reads_the_state_of_the_controller_after_any_failed_operation(
    changes, failing, times
):
    async def scenario() -> None:
        memory = MemoryFileSystem()
        faulty = FaultyFileSystem(memory)
        node = await Node(faulty).start()
        await node.create_groups_topic()
        faulty.on("any").after(failing).times(times).fail()
        for number, (what, name) in enumerate(changes):
            await change(node, what, name, number)
        faulty.heal()
        await asyncio.sleep(120)  # steps that failed are repeated
        decided = node.decided_image
        has_lost_metadata_log = node.has_lost_metadata_log

        memory.crash(loses_unflushed=False)
        await node.broker.kill()
        async with running(memory) as again:
            read = again.decided_image
            assert partitions(read) == partitions(decided)
            assert read.configs == decided.configs
            assert again.image.topics == read.topics
            for name, each in read.topics.items():
                for number in each.partitions:
                    again.partition(name, number)
            strays = [n for n in memory.list_directory(DATA) if n.endswith("-stray")]
            # A deletion that could not be flushed was not published, and yet is read.
            assert strays == [] or has_lost_metadata_log

    run_virtual(scenario())


@settings(max_examples=60)
@given(changes=CHANGES, failing=st.integers(0, 60))
def test_published_image_follows_the_controller_when_the_disk_is_well_again(changes, failing):
    async def scenario() -> None:
        faulty = FaultyFileSystem(MemoryFileSystem())
        async with running(faulty) as node:
            faulty.on("any", "*/one-*").after(failing).times(2).fail(errno.ENOSPC)
            for number, (what, name) in enumerate(changes):
                await change(node, what, name, number)
            faulty.heal()
            await asyncio.sleep(120)

            assert node.image.topics == node.decided_image.topics
            for name, each in node.image.topics.items():
                for number in each.partitions:
                    assert node.partition(name, number).topic_id == each.topic_id

    run_virtual(scenario())


@settings(max_examples=80)
@given(
    changes=CHANGES, failing=st.integers(0, 150), times=st.integers(1, 2), seed=st.integers(0, 999)
)
@example(changes=[("create", "one"), ("delete", "one")], failing=15, times=1, seed=0)
@example(changes=[("create", "one"), ("delete", "one")], failing=10_000, times=1, seed=0)
def test_power_cut_loses_nothing_acknowledged_whatever_failed_before(changes, failing, times, seed):
    async def scenario() -> None:
        memory = MemoryFileSystem()
        faulty = FaultyFileSystem(memory)
        node = await Node(faulty).start()
        faulty.on("any").after(failing).times(times).fail()
        topics: dict[str, list[bytes]] = {}
        for number, (what, name) in enumerate(changes):
            value = b"%d" % number
            with contextlib.suppress(ApiError, LogError, NotAnsweredYetError):
                if what == "create":
                    if await node.create(name, flush_messages="1") is ErrorCode.NONE:
                        topics[name] = []
                elif what == "delete":
                    topics.pop(name, None)  # it may be gone, acknowledged or not
                    node.delete(name)
                elif node.append(name, value) and name in topics:
                    topics[name].append(value)
        memory.crash(loses_unflushed=True, random=Random(seed))
        await node.broker.kill()

        async with running(memory) as again:
            for name, values in topics.items():
                assert name in again.image.topics
                found = again.values(name)
                assert [value for value in found if value in values] == values

    run_virtual(scenario())


@virtual_time
async def test_topic_whose_log_cannot_be_opened_is_served_when_the_disk_is_well_again() -> None:
    faulty = FaultyFileSystem(MemoryFileSystem())
    async with running(faulty) as node:
        fault = faulty.on("open", "*/one-1/*").fail(errno.ENOSPC)

        assert await node.create("one", 3) is ErrorCode.NONE

        assert node.append("one", b"x", partition=0)
        assert node.append("one", b"x", partition=2)
        with pytest.raises(ApiError) as refused:
            node.append("one", b"x", partition=1)
        assert refused.value.code is ErrorCode.KAFKA_STORAGE_ERROR
        fault.heal()
        await asyncio.sleep(60)
        assert node.append("one", b"x", partition=1)


@virtual_time
async def test_deletion_that_fails_halfway_is_finished_and_others_go_on() -> None:
    memory = MemoryFileSystem()
    faulty = FaultyFileSystem(memory)
    async with running(faulty) as node:
        await node.create("one", 3)
        fault = faulty.on("rename", "*/one-1.*").fail(errno.EIO)

        assert node.delete("one") == ErrorCode.NONE

        assert "one-1" in memory.list_directory(DATA)
        assert "one-2" not in memory.list_directory(DATA)
        fault.heal()
        await asyncio.sleep(60)
        assert "one-1" not in memory.list_directory(DATA)


@virtual_time
async def test_change_that_cannot_be_flushed_is_neither_acknowledged_nor_published() -> None:
    faulty = FaultyFileSystem(MemoryFileSystem())
    async with running(faulty) as node:
        faulty.on("flush", "*__cluster_metadata-0/*").once().fail()

        assert await node.create("one") is ErrorCode.KAFKA_STORAGE_ERROR
        assert await node.create("two") is ErrorCode.KAFKA_STORAGE_ERROR

        assert node.image.topics == {}


@virtual_time
async def test_power_failure_loses_no_acknowledged_topic_and_no_flushed_record() -> None:
    memory = MemoryFileSystem()
    async with running(memory) as node:
        assert await node.create("one", 2, flush_messages="1") is ErrorCode.NONE
        assert node.append("one", b"flushed")
        memory.crash(loses_unflushed=True)

    async with running(memory) as again:
        assert list(again.image.topics) == ["one"]
        assert again.values("one") == [b"flushed"]


@virtual_time
async def test_power_failure_brings_no_deleted_topic_back() -> None:
    memory = MemoryFileSystem()
    async with running(memory) as node:
        await node.create("one", flush_messages="1")
        node.append("one", b"old")
        assert node.delete("one") == ErrorCode.NONE
        assert await node.create("one", flush_messages="1") is ErrorCode.NONE
        memory.crash(loses_unflushed=True)

    async with running(memory) as again:
        assert again.values("one") == []


@virtual_time
async def test_logs_that_no_metadata_names_are_set_aside_and_named(caplog) -> None:
    memory = MemoryFileSystem()
    async with running(memory) as node:
        await node.create("one")
        await node.create("two")
        node.append("two", b"precious")
    memory.crash(loses_unflushed=False)
    memory.rename(f"{DATA}/two-0", f"{DATA}/lost-0")

    for _ in range(2):
        caplog.clear()
        async with running(memory) as again:
            assert list(again.image.topics)[:2] == ["one", "two"]
            assert await again.create("lost") in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS)
            assert again.values("lost") == []
        memory.crash(loses_unflushed=False)
        (stray,) = [name for name in memory.list_directory(DATA) if name.endswith("-stray")]
        assert stray.startswith("lost-0.")
        assert f"{DATA}/{stray} belongs to no topic" in caplog.text


@virtual_time
async def test_recreated_topic_has_no_old_offsets_however_many_there_were() -> None:
    memory = MemoryFileSystem()
    async with running(memory, offsets_topic_num_partitions="1") as node:
        await node.create_groups_topic()
        await node.create("one", 3)
        metadata = "m" * 4000
        for group in range(300):
            offsets = [
                OffsetToCommit(topic="one", partition=number, offset=7, metadata=metadata)
                for number in range(3)
            ]
            assert node.commit(offsets, f"{'g' * 6000}{group}") == ErrorCode.NONE

        node.delete("one")
        await node.create("one", 3)

        for group in range(300):
            assert node.committed("one", 0, f"{'g' * 6000}{group}") is None
        memory.crash(loses_unflushed=False)
    async with running(memory, offsets_topic_num_partitions="1") as again:
        assert again.committed("one", 2, f"{'g' * 6000}299") is None


@virtual_time
async def test_offsets_that_could_not_be_forgotten_are_when_the_disk_is_well_again() -> None:
    faulty = FaultyFileSystem(MemoryFileSystem())
    async with running(faulty) as node:
        await node.create_groups_topic()
        await node.create("one")
        node.commit([OffsetToCommit(topic="one", partition=0, offset=7)])
        fault = faulty.on("write", "*/__consumer_offsets-*").fail(errno.ENOSPC)

        node.delete("one")

        assert node.committed("one") == 7
        fault.heal()
        await asyncio.sleep(60)
        assert node.committed("one") is None


@virtual_time
async def test_offsets_of_a_recreated_topic_outlive_the_forgetting_of_the_old_ones() -> None:
    faulty = FaultyFileSystem(MemoryFileSystem())
    async with running(faulty) as node:
        await node.create_groups_topic()
        await node.create("one")
        node.commit([OffsetToCommit(topic="one", partition=0, offset=7)])
        fault = faulty.on("write", "*/__consumer_offsets-*").fail(errno.ENOSPC)
        node.delete("one")
        await node.create("one")

        assert node.committed("one") is None
        fault.heal()
        assert node.commit([OffsetToCommit(topic="one", partition=0, offset=3)]) == ErrorCode.NONE
        await asyncio.sleep(60)

        assert node.committed("one") == 3


@virtual_time
async def test_recreated_topic_has_no_old_offsets_after_a_power_failure() -> None:
    memory = MemoryFileSystem()
    async with running(memory) as node:
        await node.create_groups_topic()
        await node.create("one")
        node.commit([OffsetToCommit(topic="one", partition=0, offset=7)])
        for runtime in node.broker.shards.of_topic("__consumer_offsets"):
            runtime._log._partition.log.flusher.flush_now()
        node.delete("one")  # what forgets the offset is not on the disk
        await node.create("one")
        memory.crash(loses_unflushed=True)

    async with running(memory) as again:
        assert again.committed("one") is None


@virtual_time
async def test_offsets_of_a_topic_deleted_just_before_a_crash_are_forgotten() -> None:
    memory = MemoryFileSystem()
    faulty = FaultyFileSystem(memory)
    async with running(faulty) as node:
        await node.create_groups_topic()
        await node.create("one")
        node.commit([OffsetToCommit(topic="one", partition=0, offset=7)])
        faulty.on("write", "*/__consumer_offsets-*").fail(errno.ENOSPC)
        node.delete("one")
        memory.crash(loses_unflushed=False)

    async with running(memory) as again:
        assert again.committed("one") is None
        await again.create("one")
        assert again.committed("one") is None


@virtual_time
async def test_start_that_fails_unlocks_the_directory_and_keeps_the_mark_of_a_clean_stop() -> None:
    memory = MemoryFileSystem()
    node = await Node(memory).start()
    await node.create("one")
    await node.broker.stop()
    mark = f"{DATA}/.kafka_cleanshutdown"
    assert memory.exists(mark)

    taken = Node(memory)
    await taken.broker._environment.network.listen(lambda _: None, "broker", 9092)
    for _ in range(2):
        with pytest.raises(OSError, match="taken"):
            await taken.start()
        assert memory.exists(mark)

    async with running(memory) as again:
        assert again.broker._logs.data_directory.was_shut_down_cleanly


@virtual_time
async def test_damaged_metadata_log_is_an_error_that_names_it_and_leaves_no_lock() -> None:
    memory = MemoryFileSystem()
    node = await Node(memory).start()
    await node.create("one")
    await node.broker.stop()
    file = memory.open(f"{DATA}/__cluster_metadata-0/{0:020d}.log")
    flip(file, file.size() - 3)

    for _ in range(2):
        with pytest.raises(StorageError, match="cannot read __cluster_metadata-0 at offset"):
            await Node(memory).start()


@virtual_time
async def test_damaged_offsets_take_only_their_groups_out_of_service(caplog) -> None:
    memory = MemoryFileSystem()
    node = await Node(memory).start()
    await node.create_groups_topic()
    await node.create("one")
    groups = {node.group(name): name for name in ("a", "b", "c", "d")}
    first, second = list(groups.values())[:2]
    for group in (first, second):
        node.commit([OffsetToCommit(topic="one", partition=0, offset=7)], group)
    from pyk.reference_broker.coordinator.shards import partition_for

    damaged = partition_for(first, 2)
    await node.broker.stop()
    file = memory.open(f"{DATA}/__consumer_offsets-{damaged}/{0:020d}.log")
    flip(file, file.size() - 3)

    async with running(memory) as again:
        assert again.append("one", b"served")
        assert again.committed("one", 0, second) == 7
        with pytest.raises(ApiError) as refused:
            again.group(first)
        assert refused.value.code is ErrorCode.NOT_COORDINATOR
        assert f"cannot read __consumer_offsets-{damaged} at offset" in caplog.text


@virtual_time
async def test_deleted_offsets_topic_ends_its_shards() -> None:
    memory = MemoryFileSystem()
    async with running(memory) as node:
        await node.create_groups_topic()
        await node.create("one")
        runtime = node.group("readers")
        node.commit([OffsetToCommit(topic="one", partition=0, offset=7)])

        node.delete("__consumer_offsets")

        with pytest.raises(ApiError):
            node.group("readers")
        await node.create_groups_topic()
        assert node.group("readers") is not runtime
        assert node.committed("one") is None


def flip(file, position: int) -> None:
    byte = file.read_at(position, 1)[0]
    file.write_at(position, [bytes([byte ^ 1])])


@virtual_time
async def test_each_of_two_topics_that_were_flushed_survives_a_power_failure() -> None:
    memory = MemoryFileSystem()
    async with running(memory) as node:
        for name in ("one", "two"):
            await node.create(name, flush_messages="1")
        for name in ("one", "two"):
            assert node.append(name, name.encode())
        memory.crash(loses_unflushed=True)

    async with running(memory) as again:
        assert (again.values("one"), again.values("two")) == ([b"one"], [b"two"])


@virtual_time
@pytest.mark.parametrize("cuts_power", [True, False])
async def test_lost_records_end_with_their_leader_epoch(cuts_power) -> None:
    memory = MemoryFileSystem()
    async with running(memory) as node:
        await node.create("one", 2)
        node.append("one", b"flushed")
        node.partition("one", 0).log.flusher.flush_now()
        node.append("one", b"lost")
        before = node.partition("one", 0).leader_epoch
        memory.crash(loses_unflushed=cuts_power)

    async with running(memory) as again:
        partition = again.partition("one", 0)
        end = 1 if cuts_power else 2
        assert partition.leader_epoch == before + 1
        assert again.image.topics["one"].partitions[1].leader_epoch == before + 1
        again.append("one", b"new")
        assert partition.reader.end_offset_of_epoch(before) == (before, end)
        assert partition.reader.end_offset_of_epoch(before + 1) == (before + 1, end + 1)


@virtual_time
async def test_leader_epochs_stay_after_a_clean_stop() -> None:
    memory = MemoryFileSystem()
    node = await Node(memory).start()
    await node.create("one")
    before = node.partition("one", 0).leader_epoch
    await node.broker.stop()

    async with running(memory) as again:
        assert again.partition("one", 0).leader_epoch == before
