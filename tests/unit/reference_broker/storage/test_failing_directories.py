"""The logs of a broker while one of its data directories fails."""

from __future__ import annotations

import contextlib
import errno
import gc
import os
from pathlib import Path

import pytest

from pyk.protocol.topics import TopicPartition
from pyk.reference_broker.storage import LogManager, StorageError, Task
from pyk.runtime.filesystem.faulty import FaultyFileSystem
from pyk.runtime.filesystem.memory import MemoryFileSystem
from pyk.runtime.filesystem.operating_system import OsFileSystem
from support.disks import HeldDisk
from support.log_managers import ONE, TWO, log_config
from support.logs import ORDERS, append
from support.several_directories import A, B, create, home, open_logs


@pytest.fixture
def filesystem() -> MemoryFileSystem:
    return MemoryFileSystem()


def fail_at_run(logs: LogManager) -> list[TopicPartition]:
    """Take the directories offline that fail, and return the list of lost partitions."""
    lost: list[TopicPartition] = []
    logs.when_failed(lambda directory, error: lost.extend(logs.take_offline(directory, error)))
    return lost


def test_a_directory_that_fails_takes_its_logs_with_it_and_no_others(filesystem, caplog):
    faulty = FaultyFileSystem(filesystem)
    logs = open_logs(faulty, A, B)
    create(logs, "orders", 4)
    lost = fail_at_run(logs)
    faulty.fail(B)

    with pytest.raises(StorageError):
        append(logs.get(TopicPartition("orders", 1)), b"lost")

    assert lost == [TopicPartition("orders", 1), TopicPartition("orders", 3)]
    assert "/b is offline until the broker is restarted, with 2 partitions" in caplog.text
    append(logs.get_or_create(ORDERS, log_config(), ONE), b"fine")
    create(logs, "later", 2)
    assert {home(logs, TopicPartition("later", n)) for n in range(2)} == {A}
    assert logs.homes.is_lost(TopicPartition("orders", 3))


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")
def test_a_directory_that_fails_leaves_no_file_open(tmp_path):
    paths = [f"{tmp_path}/{name}" for name in "ab"]
    logs = open_logs(OsFileSystem(), *paths)
    create(logs, "orders", 2)
    lost = logs.get(TopicPartition("orders", 1))
    append(lost, b"0")
    assert open_below(paths[1])

    logs.take_offline(logs.homes.at(paths[1]), OSError(errno.EIO, "broken"))

    assert open_below(paths[1]) == []
    with pytest.raises(StorageError, match=r"/b has failed: .*broken"):
        append(lost, b"1")
    logs.close()


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")
def test_the_error_that_a_directory_failed_with_keeps_no_file_open(tmp_path):
    paths = [f"{tmp_path}/{name}" for name in "ab"]
    faulty = FaultyFileSystem(OsFileSystem())
    logs = open_logs(faulty, *paths)
    create(logs, "orders", 2)
    append(logs.get(TopicPartition("orders", 1)), b"kept")
    fail_at_run(logs)
    faulty.fail(paths[1])

    with contextlib.suppress(StorageError):
        append(logs.get(TopicPartition("orders", 1)), b"lost")

    gc.collect()
    assert open_below(paths[1]) == []


def open_below(path: str) -> list[str]:
    """Return the files below a directory that this process has open."""
    links = [os.readlink(one) for one in Path("/proc/self/fd").iterdir() if one.is_symlink()]
    return [link for link in links if link.startswith(path)]


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EMFILE])
def test_a_full_disk_does_not_take_a_directory_offline(filesystem, error):
    faulty = FaultyFileSystem(filesystem)
    logs = open_logs(faulty, A, B)
    create(logs, "orders", 2)
    lost = fail_at_run(logs)
    fault = faulty.on("write", "/b/*").fail(error)

    with pytest.raises(StorageError):
        append(logs.get(TopicPartition("orders", 1)), b"refused")
    fault.heal()

    assert lost == []
    append(logs.get(TopicPartition("orders", 1)), b"taken")


def test_a_directory_that_somebody_has_removed_is_offline(filesystem):
    logs = open_logs(filesystem, A, B)
    create(logs, "orders", 2)
    lost = fail_at_run(logs)
    filesystem.remove_tree(B)

    for partition in (ORDERS, TopicPartition("orders", 1)):
        log = logs.get(partition)
        assert log is not None
        with contextlib.suppress(StorageError):
            append(log, b"0")

    assert lost == [TopicPartition("orders", 1)]


def test_a_directory_that_is_removed_during_the_start_is_offline(filesystem):
    logs = open_logs(filesystem, A, B)
    create(logs, "orders", 2)
    logs.close()
    logs = open_logs(filesystem, A, B)
    lost = fail_at_run(logs)
    filesystem.remove_tree(B)

    logs.set_strays_aside(lambda *_: True)

    assert lost == [TopicPartition("orders", 1)]


def test_a_directory_that_nobody_uses_is_missed_with_the_next_checkpoint(filesystem):
    logs = open_logs(filesystem, A, B)
    create(logs, "orders", 2)
    logs.perform(Task.CHECKPOINT_HIGH_WATERMARKS)
    lost = fail_at_run(logs)
    filesystem.remove_tree(B)

    logs.perform(Task.CHECKPOINT_HIGH_WATERMARKS)

    assert lost == [TopicPartition("orders", 1)]


def test_a_broker_with_one_directory_goes_on_without_the_log_that_failed(filesystem):
    faulty = FaultyFileSystem(filesystem)
    logs = open_logs(faulty, A)
    create(logs, "orders", 2)
    lost = fail_at_run(logs)
    faulty.on("flush", "/a/orders-0/*.log").once().fail()

    append(logs.get(ORDERS), b"0")
    logs.get(ORDERS).flusher.request(1)

    assert lost == []
    assert logs.get(ORDERS).failure is not None
    append(logs.get(TopicPartition("orders", 1)), b"fine")


def test_a_name_of_a_lost_log_is_free_for_another_topic(filesystem):
    faulty = FaultyFileSystem(filesystem)
    logs = open_logs(faulty, A, B)
    create(logs, "orders", 2)
    fail_at_run(logs)
    second = TopicPartition("orders", 1)
    faulty.fail(B)
    with pytest.raises(StorageError):
        append(logs.get(second), b"lost")

    logs.mark_deleted(second)

    assert not logs.homes.is_lost(second)
    assert logs.get_or_create(second, log_config(), TWO).log_end_offset == 0


def test_a_log_that_waits_for_its_name_in_a_failing_directory_is_opened_in_another(filesystem):
    faulty, disk = FaultyFileSystem(filesystem), HeldDisk()
    logs = open_logs(faulty, A, B, disk=disk)
    create(logs, "orders", 2)
    second, freed = TopicPartition("orders", 1), []
    append(logs.get(second), b"0")
    logs.perform(Task.CHECKPOINT_HIGH_WATERMARKS)
    logs.delete(second)
    assert not logs.free_name(second, TWO, lambda: freed.append(True))
    fail_at_run(logs)
    faulty.fail(B)

    disk.do_all()

    assert freed == [True]
    assert logs.free_name(second, TWO)
    assert home_after_opening(logs, second) == A


def home_after_opening(logs: LogManager, partition: TopicPartition) -> str:
    logs.get_or_create(partition, log_config(), TWO)
    return home(logs, partition)


def test_a_clean_stop_without_a_failed_directory_is_no_error(filesystem):
    faulty, told = FaultyFileSystem(filesystem), []
    logs = open_logs(faulty, A, B)
    create(logs, "orders", 2)
    fail_at_run(logs)
    faulty.fail(B)
    with pytest.raises(StorageError):
        append(logs.get(TopicPartition("orders", 1)), b"lost")

    logs.close(when_closed=told.append)

    assert told == [None]
    faulty.heal()
    logs = open_logs(filesystem, A, B)
    assert not logs.was_shut_down_cleanly
    assert filesystem.exists("/a/.lock")
