"""Records that were flushed are found by their time, and kept, after a power failure."""

from __future__ import annotations

import asyncio
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from pyk.runtime.filesystem.memory import MemoryFileSystem
from pyk.runtime.virtual_time import current_clock, run_virtual, virtual_time
from support.logs import batch
from support.nodes import Node, running


def append_now(node: Node, value: bytes) -> int:
    """Append a flushed record that is stamped with the time; return its timestamp."""
    partition = node.partition("one", 0)
    timestamp = current_clock().time_ms()
    partition.append(batch(value, timestamp_ms=timestamp))
    assert partition.high_watermark == partition.log_end_offset
    return timestamp


@settings(max_examples=60)
@given(
    seed=st.integers(0, 1 << 32),
    is_stopped=st.booleans(),
    pauses=st.lists(st.sampled_from([0, 1, 12, 61]), min_size=1, max_size=12),
)
def test_retention_keeps_flushed_records_after_a_power_failure(seed, is_stopped, pauses):
    async def scenario() -> None:
        memory = MemoryFileSystem(current_clock().time_ms)
        node = await Node(memory).start()
        await node.create("one", flush_messages="1", segment_ms="60000")
        timestamps = []
        for number, pause in enumerate(pauses):
            timestamps.append(append_now(node, b"%d" % number))
            await asyncio.sleep(pause)
        if is_stopped:
            await node.broker.stop()
        else:
            await node.broker.kill()
        memory.crash(loses_unflushed=True, random=Random(seed))

        async with running(memory) as again:
            partition = again.partition("one", 0)
            await asyncio.sleep(400)  # retention has run
            assert partition.log_start_offset == 0
            assert partition.log_end_offset == len(pauses)
            for timestamp in timestamps:
                found = partition.reader.list_offset(timestamp)
                assert found is not None
                assert found[:2] == (timestamps.index(timestamp), timestamp)

    run_virtual(scenario())


@virtual_time
async def test_records_are_found_by_time_after_a_clean_stop_and_a_power_failure() -> None:
    memory = MemoryFileSystem(current_clock().time_ms)
    node = await Node(memory).start()
    await node.create("one", flush_messages="1")
    timestamp = append_now(node, b"0")
    await node.broker.stop()
    memory.crash(loses_unflushed=True)

    async with running(memory) as again:
        assert again.broker._logs.data_directory.was_shut_down_cleanly
        found = again.partition("one", 0).reader.list_offset(timestamp)
        assert found is not None
        assert found.offset == 0
