"""A topic that is deleted and created again begins without a trace of the old one."""

from __future__ import annotations

import asyncio
from random import Random

from hypothesis import example, given, settings
from hypothesis import strategies as st

from pyk.protocol.errors import ErrorCode
from pyk.runtime.filesystem.memory import MemoryFileSystem
from pyk.runtime.virtual_time import run_virtual, virtual_time
from support.nodes import DATA, Node, running


async def delete_after_checkpoints(node: Node, **configs: str) -> None:
    """Create a topic, delete some of its records, have that checkpointed, delete the topic."""
    assert await node.create("one", **configs) is ErrorCode.NONE
    for number in range(100):
        assert node.append("one", b"old %d" % number)
    node.partition("one", 0).delete_records(80)
    await asyncio.sleep(61)
    assert node.delete("one") == ErrorCode.NONE


@virtual_time
async def test_records_of_a_recreated_topic_survive_a_kill() -> None:
    memory = MemoryFileSystem()
    async with running(memory) as node:
        await delete_after_checkpoints(node)
        await node.create("one")
        new = [b"new %d" % number for number in range(50)]
        for value in new:
            assert node.append("one", value)
        memory.crash(loses_unflushed=False)

    async with running(memory) as again:
        assert again.values("one") == new


@settings(max_examples=60)
@given(seed=st.integers(0, 1 << 32), waits=st.sampled_from([0, 3, 12, 61]))
def test_flushed_records_of_a_recreated_topic_survive_a_power_failure(seed, waits):
    async def scenario() -> None:
        memory = MemoryFileSystem()
        async with running(memory) as node:
            await delete_after_checkpoints(node, flush_messages="1")
            await node.create("one", flush_messages="1")
            new = [b"new %d" % number for number in range(50)]
            for value in new:
                assert node.append("one", value)
            await asyncio.sleep(waits)
            memory.crash(loses_unflushed=True, random=Random(seed))

        async with running(memory) as again:
            assert again.values("one") == new

    run_virtual(scenario())


@settings(max_examples=60)
@given(seed=st.integers(0, 1 << 32))
@example(seed=631)
def test_recreated_topic_never_has_records_of_the_old_one(seed):
    async def scenario() -> None:
        memory = MemoryFileSystem()
        async with running(memory) as node:
            await node.create("one")
            for number in range(20):
                node.append("one", b"old %d" % number)
            node.delete("one")
            await node.create("one")
            memory.crash(loses_unflushed=True, random=Random(seed))

        async with running(memory) as again:
            assert again.values("one") == []
            assert again.append("one", b"new")

    run_virtual(scenario())


@virtual_time
async def test_topic_with_the_name_of_a_stray_begins_at_zero() -> None:
    memory = MemoryFileSystem()
    async with running(memory) as node:
        await node.create("one")
        for number in range(100):
            assert node.append("one", b"old %d" % number)
        node.partition("one", 0).delete_records(80)
        await asyncio.sleep(61)
    memory.crash(loses_unflushed=False)
    memory.remove_tree(f"{DATA}/__cluster_metadata-0")

    async with running(memory) as again:
        await again.create("one")
        for number in range(50):
            assert again.append("one", b"new %d" % number)
        assert again.partition("one", 0).log_start_offset == 0
        memory.crash(loses_unflushed=False)

    async with running(memory) as last:
        assert len(last.values("one")) == 50
