"""Which errors mean that a directory is lost."""

from __future__ import annotations

import errno
from contextlib import suppress

import pytest

from pyk.reference_broker.storage.watched_filesystem import WatchedFileSystem
from pyk.runtime.filesystem.faulty import FaultyFileSystem
from pyk.runtime.filesystem.memory import MemoryFileSystem

ORDERS = "/data/orders-0/00000000000000000000.log"
MOVED = "/data/orders-0.0123456789abcdef0123456789abcdef-future/00000000000000000000.log"
METADATA = "/data/__cluster_metadata-0/00000000000000000000.log"
CHECKPOINT = "/data/replication-offset-checkpoint"
PATHS = (ORDERS, MOVED, METADATA, CHECKPOINT, "/data/meta.properties")


@pytest.fixture
def disk() -> FaultyFileSystem:
    memory = MemoryFileSystem()
    for path in PATHS:
        directory = path.rpartition("/")[0]
        if not memory.is_directory(directory):
            memory.make_directory(directory)
        memory.open(path, create=True).write_at(0, [b"1"])
    return FaultyFileSystem(memory)


def failure_after_touching(disk: FaultyFileSystem, path: str, vital_log: str) -> OSError | None:
    watched = WatchedFileSystem(disk, "/data", vital_log)
    with suppress(OSError):
        watched.open(path).read_at(0, 1)
    return watched.failure


@pytest.mark.parametrize("operation", ["open", "read"])
@pytest.mark.parametrize("error", [errno.EIO, errno.EROFS, errno.EACCES])
@pytest.mark.parametrize("path", PATHS)
def test_a_directory_without_the_metadata_log_is_lost_with_any_file(disk, operation, error, path):
    disk.on(operation, path).fail(error)

    assert failure_after_touching(disk, path, vital_log="") is not None


@pytest.mark.parametrize("operation", ["open", "read"])
@pytest.mark.parametrize(
    ("path", "is_lost"),
    [(ORDERS, False), (MOVED, False), (METADATA, True), (CHECKPOINT, True)],
)
def test_the_directory_of_the_metadata_log_is_not_lost_with_another_log(
    disk, operation, path, is_lost
):
    disk.on(operation, path).fail(errno.EIO)

    failure = failure_after_touching(disk, path, vital_log="__cluster_metadata-0")

    assert (failure is not None) is is_lost


def test_the_directory_of_the_metadata_log_is_lost_if_it_does_not_answer_any_more(disk):
    disk.fail("/data")

    assert failure_after_touching(disk, ORDERS, vital_log="__cluster_metadata-0") is not None


@pytest.mark.parametrize("vital_log", ["", "__cluster_metadata-0"])
@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EMFILE, errno.ENOENT])
def test_what_may_pass_is_no_failure(disk, vital_log, error):
    disk.on("open", METADATA).fail(error)

    assert failure_after_touching(disk, METADATA, vital_log) is None
