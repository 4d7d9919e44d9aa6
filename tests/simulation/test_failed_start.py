"""A start whose disk fails once, at each of its operations in turn."""

from __future__ import annotations

import errno

import pytest

from pyk.reference_broker.storage import StorageError
from pyk.runtime.filesystem.faulty import FaultyFileSystem
from pyk.runtime.filesystem.memory import MemoryFileSystem
from pyk.runtime.virtual_time import virtual_time
from support.nodes import DATA, running

MANY = 1_000


async def used_disk(*, is_clean: bool) -> MemoryFileSystem:
    """Return a disk with the data of a broker that was stopped or killed."""
    memory = MemoryFileSystem()
    async with running(memory) as node:
        await node.create("orders")
        node.append("orders", b"one")
        if is_clean:
            await node.broker.stop()
    memory.crash(loses_unflushed=False)
    return memory


async def start(faulty: FaultyFileSystem) -> BaseException | None:
    """Start a broker and kill it; return why that failed."""
    try:
        async with running(faulty):
            return None
    except Exception as error:
        return error


@pytest.mark.parametrize("error", [errno.EACCES, errno.ENOSPC])
@pytest.mark.parametrize("is_clean", [True, False])
@virtual_time
async def test_a_start_whose_disk_fails_succeeds_or_says_where(
    caplog: pytest.LogCaptureFixture, error: int, is_clean: bool
) -> None:
    failures: list[tuple[BaseException, str]] = []
    for operations_before in range(MANY):
        faulty = FaultyFileSystem(await used_disk(is_clean=is_clean))
        fault = faulty.on("any").after(operations_before).once().fail(error)
        caplog.clear()
        failed = await start(faulty)
        if fault.times_left:
            break
        if failed is not None:
            failures.append((failed, f"{caplog.text} {failed}"))

    assert fault.times_left, "no start went through"
    assert len(failures) > 10
    assert [each for each, _ in failures if not isinstance(each, StorageError)] == []
    assert [text for _, text in failures if DATA not in text] == []
