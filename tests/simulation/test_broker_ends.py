"""A broker that ends, and callers that give up, while changes of metadata wait for the disk."""

from __future__ import annotations

import asyncio
import errno

import pytest

from pyk.protocol.errors import ErrorCode
from pyk.runtime.filesystem.faulty import Fault, FaultyFileSystem
from pyk.runtime.filesystem.memory import MemoryFileSystem
from pyk.runtime.virtual_time import virtual_time
from support.nodes import Node, running


def hold_metadata(filesystem: FaultyFileSystem) -> Fault:
    """Let no flush of the metadata log begin, so that appended records stay uncommitted."""
    return filesystem.on("open", "*/__cluster_metadata-0/*.index").fail(errno.ENOSPC)


@pytest.mark.parametrize("end", ["stop", "kill"])
@virtual_time
async def test_no_call_waits_for_a_topic_when_the_broker_has_ended(end: str) -> None:
    faulty = FaultyFileSystem(MemoryFileSystem())
    node = await Node(faulty).start()
    hold_metadata(faulty)
    creating = asyncio.create_task(node.create("orders"))
    await asyncio.sleep(1)
    assert not creating.done()

    if end == "kill":
        await node.broker.kill()
    else:
        with pytest.raises(Exception, match="could be written"):
            await node.broker.stop()

    assert await creating in (ErrorCode.NOT_CONTROLLER, ErrorCode.KAFKA_STORAGE_ERROR)


@virtual_time
async def test_a_caller_that_gives_up_on_a_topic_delays_no_other() -> None:
    faulty = FaultyFileSystem(MemoryFileSystem())
    async with running(faulty) as node:
        held = hold_metadata(faulty)
        given_up = asyncio.create_task(node.create("one"))
        waiting = asyncio.create_task(node.create("two"))
        await asyncio.sleep(1)
        given_up.cancel()
        await asyncio.sleep(1)

        held.heal()
        async with asyncio.timeout(120):
            assert await waiting is ErrorCode.NONE

        assert {"one", "two"} <= set(node.image.topics)
