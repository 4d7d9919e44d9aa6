"""The logs in one data directory: what is known of them, and what is left of them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pyk.protocol.topics import TopicPartition
from pyk.reference_broker.storage import LogManager, StorageError, Task
from pyk.reference_broker.storage.log_directory import LogDirectory, _closing_error
from pyk.runtime.filesystem import FileSystem, OsFileSystem, read_if_exists, write_atomically
from pyk.runtime.filesystem.faulty import FaultyFileSystem
from pyk.runtime.filesystem.memory import MemoryFileSystem
from support.log_managers import ONE, TWO, log_config, open_manager
from support.logs import ORDERS, append, values
from support.moving_logs import MovingBroker

BILLS = TopicPartition("bills", 0)


@pytest.fixture
def filesystem() -> MemoryFileSystem:
    return MemoryFileSystem()


def with_three_records(filesystem: FileSystem, *names: TopicPartition) -> LogManager:
    """Return the logs of a broker, each with three records."""
    manager = open_manager(filesystem)
    for name in names or (ORDERS,):
        append(manager.get_or_create(name, log_config(), ONE), b"0", b"1", b"2")
    return manager


def only_directory(manager: LogManager) -> LogDirectory:
    (directory,) = manager.homes.directories
    return directory


# -- opening ---------------------------------------------------------------------------------------


def test_a_directory_has_logs_that_are_opened_and_those_that_are_not(
    filesystem: MemoryFileSystem,
) -> None:
    with_three_records(filesystem, ORDERS, BILLS).close()
    manager = open_manager(filesystem)
    manager.get_or_create(ORDERS, log_config(), ONE)
    filesystem.remove_tree("/data/orders-0")

    directory = only_directory(manager)

    assert directory.has(ORDERS)  # it is in use, although somebody has removed its files
    assert directory.has(BILLS)
    assert not directory.has(TopicPartition("others", 0))


@pytest.mark.parametrize(("written", "known"), [(0, 0), (2, 2), (3, 3), (99, 3)])
def test_what_checkpoints_have_of_a_log_is_never_beyond_its_end(
    filesystem: MemoryFileSystem, written: int, known: int
) -> None:
    with_three_records(filesystem).close()
    for name in ("replication-offset-checkpoint", "cleaner-offset-checkpoint"):
        write_atomically(filesystem, f"/data/{name}", f"0\n1\norders 0 {written}\n".encode())

    log = open_manager(filesystem).get_or_create(ORDERS, log_config(), ONE)

    assert (log.high_watermark, log.compacted_to) == (known, known)


def test_the_high_watermark_is_never_before_the_start_of_a_log(
    filesystem: MemoryFileSystem,
) -> None:
    manager = with_three_records(filesystem)
    manager.get_or_create(ORDERS, log_config(), ONE).advance_log_start_offset(2)
    manager.close()
    filesystem.remove("/data/replication-offset-checkpoint")

    assert open_manager(filesystem).get_or_create(ORDERS, log_config(), ONE).high_watermark == 2


# -- after a crash ---------------------------------------------------------------------------------


def crashed(filesystem: MemoryFileSystem) -> LogManager:
    """Return the logs of a broker that has crashed, with one log that is not opened yet."""
    with_three_records(filesystem, ORDERS, BILLS)
    filesystem.crash(loses_unflushed=False)
    manager = open_manager(filesystem)
    manager.get_or_create(ORDERS, log_config(), ONE)
    return manager


def test_a_stop_is_clean_once_all_logs_were_opened_after_a_crash(
    filesystem: MemoryFileSystem,
) -> None:
    manager = crashed(filesystem)
    manager.get_or_create(BILLS, log_config(), ONE)

    manager.close()

    assert open_manager(filesystem).was_shut_down_cleanly


def test_a_stop_is_clean_although_logs_were_not_opened_if_the_one_before_was(
    filesystem: MemoryFileSystem,
) -> None:
    with_three_records(filesystem, ORDERS, BILLS).close()
    manager = open_manager(filesystem)
    manager.get_or_create(ORDERS, log_config(), ONE)

    manager.close()

    assert open_manager(filesystem).was_shut_down_cleanly


def test_a_stop_is_clean_once_the_others_were_deleted_after_a_crash(
    filesystem: MemoryFileSystem,
) -> None:
    manager = crashed(filesystem)
    manager.delete(BILLS)

    manager.close()

    assert open_manager(filesystem).was_shut_down_cleanly


def test_an_unused_log_of_a_deleted_topic_is_deleted_and_not_set_aside(
    filesystem: MemoryFileSystem,
) -> None:
    manager = crashed(filesystem)
    manager.mark_deleted(BILLS)

    manager.get_or_create(BILLS, log_config(), TWO)

    names = filesystem.list_directory("/data")
    assert [name for name in names if name.startswith("bills")] != ["bills-0"]
    assert not [name for name in names if name.endswith("-stray")]


# -- deleting --------------------------------------------------------------------------------------


def test_checkpoints_leave_a_deleted_log_out(filesystem: MemoryFileSystem) -> None:
    manager = with_three_records(filesystem, ORDERS, BILLS)
    for _ in range(2):
        manager.perform(Task.CHECKPOINT_HIGH_WATERMARKS)
        written = read_if_exists(filesystem, "/data/replication-offset-checkpoint")
        manager.delete(BILLS)

    assert written == b"0\n1\norders 0 3\n"


def open_below(path: str) -> list[str]:
    """Return the files below a directory that this process has open."""
    links = [os.readlink(one) for one in Path("/proc/self/fd").iterdir() if one.is_symlink()]
    return [link for link in links if link.startswith(path)]


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")
def test_a_deleted_log_leaves_no_file_open(tmp_path: Path) -> None:
    broker = MovingBroker(OsFileSystem(), log_dirs=[f"{tmp_path}/a"], metadata_dir=f"{tmp_path}/a")
    append(broker.create(), b"0")
    assert open_below(f"{tmp_path}/a/orders-0")

    broker.logs.delete(ORDERS)

    assert open_below(f"{tmp_path}/a/orders-0") == []
    broker.logs.close()


# -- closing ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("operation", "path", "named"),
    [
        ("open", "*.snapshot*", "orders-0"),
        ("open", "*/recovery-point-offset-checkpoint.tmp", "CHECKPOINT_RECOVERY_POINTS"),
        ("rename", "*/recovery-point-offset-checkpoint", "Errno 5"),
        ("open", "*/.kafka_cleanshutdown*", "Errno 5"),
    ],
)
def test_what_cannot_be_written_at_a_stop_is_told_and_makes_it_unclean(
    filesystem: MemoryFileSystem, operation: str, path: str, named: str
) -> None:
    faulty = FaultyFileSystem(filesystem)
    manager = with_three_records(faulty, ORDERS, BILLS)
    append(
        manager.get_or_create(ORDERS, log_config(), ONE),
        b"3",
        producer_id=7,
        producer_epoch=0,
        base_sequence=0,
    )
    faulty.on(operation, path).fail()
    told: list[StorageError | None] = []

    manager.close(when_closed=told.append)

    assert named in str(told[0])
    reopened = open_manager(filesystem)
    assert not reopened.was_shut_down_cleanly
    assert len(values(reopened.get_or_create(ORDERS, log_config(), ONE))) == 4
    assert values(reopened.get_or_create(BILLS, log_config(), ONE)) == [b"0", b"1", b"2"]


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")
def test_a_stop_leaves_no_file_open(tmp_path: Path) -> None:
    manager = MovingBroker(OsFileSystem(), log_dirs=[f"{tmp_path}/a"], metadata_dir=f"{tmp_path}/a")
    append(manager.create(), b"0")

    manager.logs.close()

    assert open_below(f"{tmp_path}/") == []


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")
def test_a_broker_that_is_killed_in_its_process_leaves_no_file_open(tmp_path: Path) -> None:
    broker = MovingBroker(OsFileSystem(), log_dirs=[f"{tmp_path}/a"], metadata_dir=f"{tmp_path}/a")
    append(broker.create(), b"0")

    broker.logs.abandon()

    assert open_below(f"{tmp_path}/") == []


@pytest.mark.parametrize(
    ("failures", "named"),
    [(["a", "b", "c", "d", "e"], "(a, b, c, d, e)"), ([*"abcdef"], "(a, b, c, d, e, …)")],
)
def test_five_of_the_things_that_could_not_be_written_are_named(
    failures: list[object], named: str
) -> None:
    assert f"not everything in /data could be written {named}" in str(
        _closing_error("/data", failures)
    )
