"""What DescribeLogDirs tells of the data directory."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.describe_log_dirs import DescribeLogDirsRequest
from pyk.reference_broker.handlers.log_dirs import describe_log_dirs
from pyk.runtime.filesystem import OsFileSystem
from pyk.runtime.filesystem.memory import MemoryFileSystem
from pyk.runtime.virtual_time import virtual_time
from support.running_brokers import TOPIC, context, running_broker


@virtual_time
async def test_a_directory_in_memory_has_no_volume() -> None:
    async with running_broker() as broker:
        (found,) = describe_log_dirs(
            broker.services, DescribeLogDirsRequest(topics=None), context(5)
        ).results

    assert (found.total_bytes, found.usable_bytes) == (-1, -1)
    assert [topic.name for topic in found.topics if topic.name == TOPIC] == [TOPIC]


@virtual_time
async def test_a_directory_that_cannot_be_looked_at_has_failed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object) -> None:
        raise OSError

    async with running_broker() as broker:
        monkeypatch.setattr(MemoryFileSystem, "volume_bytes", fail)
        (found,) = describe_log_dirs(
            broker.services, DescribeLogDirsRequest(topics=None), context(5)
        ).results

    assert (found.error_code, found.topics) == (ErrorCode.KAFKA_STORAGE_ERROR, [])


def test_the_volume_of_a_directory_has_usable_bytes(tmp_path: Path) -> None:
    volume = OsFileSystem().volume_bytes(str(tmp_path))

    assert volume is not None
    total, usable = volume
    assert total >= usable > 0
