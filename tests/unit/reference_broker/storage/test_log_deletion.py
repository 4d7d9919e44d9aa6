"""Deleted logs, the names they free, and the checkpoints that still name them."""

from __future__ import annotations

import pytest

from pyk.protocol.topics import TopicPartition
from pyk.reference_broker.storage import StorageError, Task
from pyk.runtime.filesystem import read_if_exists
from pyk.runtime.filesystem.faulty import FaultyFileSystem
from pyk.runtime.filesystem.memory import MemoryFileSystem
from pyk.runtime.virtual_time import VirtualClock
from support.disks import HeldDisk
from support.log_managers import ONE, TWO, log_config, open_manager
from support.logs import ORDERS, append, values


@pytest.fixture
def filesystem() -> MemoryFileSystem:
    return MemoryFileSystem()


def test_deleted_log_frees_its_name_at_once_and_its_files_later(filesystem):
    clock = VirtualClock()
    manager = open_manager(filesystem, clock)
    append(manager.get_or_create(ORDERS, log_config(file_delete_delay_ms=30_000), ONE), b"0")

    manager.delete(ORDERS)

    assert manager.get(ORDERS) is None
    assert manager.data_directory.partitions() == []
    assert manager.get_or_create(ORDERS, log_config(), TWO).log_end_offset == 0
    deleted = [name for name in filesystem.list_directory("/data") if name.endswith("-delete")]
    assert len(deleted) == 1
    assert deleted[0].startswith("orders-0.")
    clock.advance(29)
    manager.perform(Task.REMOVE_DELETED_FILES)
    assert deleted[0] in filesystem.list_directory("/data")
    clock.advance(1)
    manager.perform(Task.REMOVE_DELETED_FILES)
    assert deleted[0] not in filesystem.list_directory("/data")


def test_interrupted_deletion_is_finished_at_the_next_start(filesystem):
    manager = open_manager(filesystem)
    manager.get_or_create(ORDERS, log_config(), ONE)
    manager.delete(ORDERS)
    filesystem.crash(loses_unflushed=False)

    open_manager(filesystem)

    assert not [n for n in filesystem.list_directory("/data") if n.endswith("-delete")]


def test_deleting_a_missing_log_does_nothing(filesystem):
    open_manager(filesystem).delete(ORDERS)


def test_unopened_log_can_be_deleted(filesystem):
    manager = open_manager(filesystem)
    append(manager.get_or_create(ORDERS, log_config(), ONE), b"0")
    manager.close()
    manager = open_manager(filesystem)

    manager.delete(ORDERS)

    assert manager.data_directory.partitions() == []
    assert manager.get_or_create(ORDERS, log_config(), TWO).log_start_offset == 0


def test_long_topic_name_can_be_deleted(filesystem):
    manager = open_manager(filesystem)
    long_name = TopicPartition("x" * 249, 12345)
    manager.get_or_create(long_name, log_config(), ONE)

    manager.delete(long_name)

    (name,) = [n for n in filesystem.list_directory("/data") if n.endswith("-delete")]
    assert len(name) <= 255


def test_log_of_a_deleted_topic_of_that_name_makes_room(filesystem):
    manager = open_manager(filesystem)
    append(manager.get_or_create(ORDERS, log_config(), ONE), b"old")
    manager.close()
    manager = open_manager(filesystem)

    log = manager.get_or_create(ORDERS, log_config(), TWO)

    assert log.log_end_offset == 0


def test_new_log_waits_until_no_checkpoint_names_a_deleted_one(filesystem):
    disk = HeldDisk()
    manager = open_manager(filesystem, disk=disk)
    append(manager.get_or_create(ORDERS, log_config(), ONE), b"0", b"1")
    manager.perform(Task.CHECKPOINT_HIGH_WATERMARKS)  # in flight while the log is deleted
    manager.delete(ORDERS)
    made = []

    assert not manager.free_name(ORDERS, TWO, lambda: made.append(True))
    with pytest.raises(StorageError, match="the checkpoints still name an earlier log of orders-0"):
        manager.get_or_create(ORDERS, log_config(), TWO)
    manager.free_name(ORDERS, TWO, lambda: made.append(True))
    disk.do_one()
    assert made == []
    disk.do_all()

    assert made == [True]
    assert manager.get_or_create(ORDERS, log_config(), TWO).log_end_offset == 0
    path = "/data/replication-offset-checkpoint"
    assert read_if_exists(filesystem, path) == b"0\n0\n"


def test_new_log_waits_for_the_next_checkpoint_if_one_could_not_be_written(filesystem):
    faulty = FaultyFileSystem(filesystem)
    manager = open_manager(faulty)
    append(manager.get_or_create(ORDERS, log_config(), ONE), b"0", b"1")
    manager.perform(Task.CHECKPOINT_HIGH_WATERMARKS)
    manager.delete(ORDERS)
    faulty.on("rename", "*/replication-offset-checkpoint").once().fail()
    made = []

    assert not manager.free_name(ORDERS, TWO, lambda: made.append(True))
    assert made == []
    manager.perform(Task.CHECKPOINT_HIGH_WATERMARKS)

    assert made == [True]
    assert manager.free_name(ORDERS, TWO)


def test_log_is_not_written_to_files_of_an_earlier_one_that_could_not_be_opened(filesystem):
    manager = open_manager(filesystem)
    append(manager.get_or_create(ORDERS, log_config(), ONE), b"old")
    manager.close()
    faulty = FaultyFileSystem(filesystem)
    manager = open_manager(faulty)
    # The records are read, and then a snapshot of the producers cannot be.
    unreadable = faulty.on("open", "/data/orders-0/*.snapshot").fail()
    with pytest.raises(StorageError):
        manager.get_or_create(ORDERS, log_config(), ONE)
    unreadable.heal()
    manager.delete(ORDERS)

    append(manager.get_or_create(ORDERS, log_config(), TWO), b"new")

    manager.abandon()
    assert values(open_manager(filesystem).get_or_create(ORDERS, log_config(), TWO)) == [b"new"]
