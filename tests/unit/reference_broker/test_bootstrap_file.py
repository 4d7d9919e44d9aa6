"""The file with which the metadata log of a new cluster begins."""

from __future__ import annotations

import errno

import pytest

from pyk.reference_broker.bootstrap_file import BOOTSTRAP_FILE, read_or_write_bootstrap
from pyk.reference_broker.controller.bootstrap import default_bootstrap
from pyk.reference_broker.controller.snapshot_format import encode_snapshot
from pyk.reference_broker.storage import StorageError
from pyk.runtime.filesystem import read_if_exists
from pyk.runtime.filesystem.faulty import FaultyFileSystem
from pyk.runtime.filesystem.memory import MemoryFileSystem

PATH = f"/data/{BOOTSTRAP_FILE}"
TIME_MS = 1_000


@pytest.fixture
def filesystem() -> FaultyFileSystem:
    filesystem = MemoryFileSystem()
    filesystem.make_directory("/data")
    return FaultyFileSystem(filesystem)


def test_a_directory_without_the_file_gets_one_with_the_records_of_a_new_cluster(
    filesystem: FaultyFileSystem,
) -> None:
    records = read_or_write_bootstrap(filesystem, "/data", TIME_MS)

    assert records == default_bootstrap()
    content = read_if_exists(filesystem, PATH)
    assert content == encode_snapshot(default_bootstrap(), 0, 0, TIME_MS)


def test_a_file_that_is_there_is_left_as_it_is(filesystem: FaultyFileSystem) -> None:
    read_or_write_bootstrap(filesystem, "/data", TIME_MS)
    before = read_if_exists(filesystem, PATH)

    read_or_write_bootstrap(filesystem, "/data", TIME_MS + 1)

    assert read_if_exists(filesystem, PATH) == before


@pytest.mark.parametrize("operation", ["open", "write"])
def test_a_disk_that_fails_is_told_with_the_file(
    filesystem: FaultyFileSystem, operation: str
) -> None:
    filesystem.on(operation).fail(errno.EIO)

    with pytest.raises(StorageError, match=r"cannot use /data/bootstrap\.checkpoint: .*Errno 5"):
        read_or_write_bootstrap(filesystem, "/data", TIME_MS)
