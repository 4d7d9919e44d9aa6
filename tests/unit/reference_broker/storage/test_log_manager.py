"""All logs of a broker, and their data directory."""

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


def test_log_is_created_once_and_found_again(filesystem):
    manager = open_manager(filesystem)

    log = manager.get_or_create(ORDERS, log_config(), ONE)
    append(log, b"0")

    assert manager.get_or_create(ORDERS, log_config(), ONE) is log
    assert manager.get(ORDERS) is log
    assert manager.get(TopicPartition("other", 0)) is None
    assert manager.data_directory.partitions() == [ORDERS]


def test_clean_shutdown_is_believed(filesystem):
    manager = open_manager(filesystem)
    log = manager.get_or_create(ORDERS, log_config(), ONE)
    append(log, b"0", b"1")
    log.advance_log_start_offset(1)

    manager.close(broker_epoch=11)

    assert read_if_exists(filesystem, "/data/recovery-point-offset-checkpoint") == (
        b"0\n1\norders 0 2\n"
    )
    assert read_if_exists(filesystem, "/data/log-start-offset-checkpoint") == b"0\n1\norders 0 1\n"
    manager = open_manager(filesystem)
    assert manager.data_directory.was_shut_down_cleanly
    assert manager.data_directory.previous_broker_epoch == 11
    log = manager.get_or_create(ORDERS, log_config(), ONE)
    assert (log.log_start_offset, log.log_end_offset, log.high_watermark) == (1, 2, 2)
    assert values(log) == [b"1"]


def test_kill_loses_nothing_and_is_no_clean_shutdown(filesystem):
    manager = open_manager(filesystem)
    append(manager.get_or_create(ORDERS, log_config(), ONE), b"0")
    filesystem.crash(loses_unflushed=False)

    manager = open_manager(filesystem)

    assert not manager.data_directory.was_shut_down_cleanly
    log = manager.get_or_create(ORDERS, log_config(), ONE)
    assert values(log) == [b"0"]


def test_mark_of_a_clean_shutdown_does_not_outlive_the_next_start(filesystem):
    open_manager(filesystem).close()
    open_manager(filesystem).abandon()

    assert not open_manager(filesystem).data_directory.was_shut_down_cleanly


def test_two_brokers_cannot_share_a_data_directory(filesystem):
    manager = open_manager(filesystem)

    with pytest.raises(StorageError, match="another broker is using this directory"):
        open_manager(filesystem)

    manager.close()
    open_manager(filesystem).close()


def test_data_directory_belongs_to_one_node_of_one_cluster(filesystem):
    manager = open_manager(filesystem, node_id=3, cluster_id="prod")
    assert manager.cluster_id == "prod"
    manager.close()

    with pytest.raises(StorageError, match="belongs to node 3, not 4"):
        open_manager(filesystem, node_id=4)
    with pytest.raises(StorageError, match="belongs to cluster prod, not test"):
        open_manager(filesystem, node_id=3, cluster_id="test")
    assert open_manager(filesystem, node_id=3).cluster_id == "prod"


def test_new_data_directory_gets_a_cluster_id(filesystem):
    manager = open_manager(filesystem)
    assert len(manager.cluster_id) == 22
    manager.close()

    assert open_manager(filesystem).cluster_id == manager.cluster_id


def test_log_without_a_topic_id_gets_one(filesystem):
    manager = open_manager(filesystem)
    append(manager.get_or_create(ORDERS, log_config()), b"0")
    manager.close()

    log = open_manager(filesystem).get_or_create(ORDERS, log_config(), ONE)

    assert values(log) == [b"0"]
    assert filesystem.exists("/data/orders-0/partition.metadata")


def test_other_files_and_directories_are_no_logs(filesystem):
    manager = open_manager(filesystem)
    filesystem.make_directory("/data/notes")
    filesystem.make_directory("/data/a-01")
    filesystem.open("/data/b-0", create=True)
    filesystem.make_directory("/data/with-dashes-7")

    assert manager.data_directory.partitions() == [TopicPartition("with-dashes", 7)]


def test_tasks_are_due_at_their_intervals():
    clock = VirtualClock()
    manager = open_manager(
        MemoryFileSystem(),
        clock,
        log_retention_check_interval_ms=300_000,
        replica_high_watermark_checkpoint_interval_ms=5_000,
    )

    assert manager.due() == []
    clock.advance(30)
    first = manager.due()
    assert Task.DELETE_OLD_SEGMENTS in first
    assert Task.CHECKPOINT_HIGH_WATERMARKS in first
    assert manager.due() == []
    assert manager.next_due() == clock.now() + 5
    clock.advance(5)
    assert manager.due() == [Task.CHECKPOINT_HIGH_WATERMARKS]
    for task in Task:
        manager.perform(task)


class TurnedBackClock(VirtualClock):
    """Somebody sets the wall clock back by a day in its fifth second."""

    def time_ms(self) -> int:
        return super().time_ms() - (86_400_000 if self.seconds >= 5 else 0)


def test_maintenance_goes_on_when_the_wall_clock_is_set_back(filesystem):
    clock = TurnedBackClock()
    manager = open_manager(filesystem, clock)
    config = log_config(flush_ms=1000, file_delete_delay_ms=1000, retention_bytes=0)
    log = manager.get_or_create(ORDERS, config, ONE)
    append(log, b"0")
    other = TopicPartition("other", 0)
    manager.get_or_create(other, config, TWO)
    manager.delete(other)
    log.delete_old_segments(clock.time_ms())
    append(log, b"1")

    clock.advance(60)
    for task in manager.due():
        manager.perform(task)

    assert log.recovery_point == 2
    assert not any(name.endswith("-delete") for name in filesystem.list_directory("/data"))
    assert f"{0:020d}.log.deleted" not in filesystem.list_directory(log.directory)


def test_finished_segments_are_flushed_and_remembered(filesystem):
    manager = open_manager(filesystem)
    log = manager.get_or_create(ORDERS, log_config(internal_segment_bytes=200), ONE)
    for number in range(5):
        append(log, b"%d" % number)

    manager.perform(Task.FLUSH)
    manager.perform(Task.CHECKPOINT_RECOVERY_POINTS)
    filesystem.crash(loses_unflushed=True)

    manager = open_manager(filesystem)
    log = manager.get_or_create(ORDERS, log_config(internal_segment_bytes=200), ONE)
    assert values(log) == [b"0", b"1", b"2", b"3"]
    assert log.recovery_point == 4


def test_topic_with_a_flush_interval_is_flushed_to_its_end(filesystem):
    clock = VirtualClock()
    manager = open_manager(filesystem, clock)
    log = manager.get_or_create(ORDERS, log_config(flush_ms=1000), ONE)
    append(log, b"0")

    manager.perform(Task.FLUSH)
    assert log.recovery_point == 0
    clock.advance(1)
    manager.perform(Task.FLUSH)

    assert log.recovery_point == 1


def test_flush_runs_elsewhere_while_the_log_goes_on(filesystem):
    disk = HeldDisk()
    manager = open_manager(filesystem, disk=disk)
    log = manager.get_or_create(ORDERS, log_config(flush_ms=0), ONE)
    append(log, b"0")
    manager.perform(Task.FLUSH)

    append(log, b"1")
    disk.do_one()

    assert (log.recovery_point, log.log_end_offset) == (1, 2)


def test_checkpoints_are_written_elsewhere_one_after_the_other(filesystem):
    disk = HeldDisk()
    manager = open_manager(filesystem, disk=disk)
    log = manager.get_or_create(ORDERS, log_config(), ONE)
    append(log, b"0")
    manager.perform(Task.CHECKPOINT_HIGH_WATERMARKS)
    append(log, b"1")

    manager.perform(Task.CHECKPOINT_HIGH_WATERMARKS)
    assert len(disk) == 1
    disk.do_one()
    manager.perform(Task.CHECKPOINT_HIGH_WATERMARKS)
    disk.do_one()

    path = "/data/replication-offset-checkpoint"
    assert read_if_exists(filesystem, path) == b"0\n1\norders 0 2\n"


def test_a_log_in_use_makes_room_for_one_of_another_topic(filesystem):
    manager = open_manager(filesystem)
    append(manager.get_or_create(ORDERS, log_config(), ONE), b"old")
    assert manager.free_name(ORDERS, ONE)
    assert manager.get(ORDERS) is not None

    assert manager.free_name(ORDERS, TWO)

    assert values(manager.get_or_create(ORDERS, log_config(), TWO)) == []
    manager.close()
    manager = open_manager(filesystem)
    assert manager.free_name(ORDERS, TWO)
    assert filesystem.exists("/data/orders-0")


def test_recovery_point_is_not_written_down_before_its_flush(filesystem):
    disk = HeldDisk()
    manager = open_manager(filesystem, disk=disk)
    append(manager.get_or_create(ORDERS, log_config(flush_ms=0), ONE), b"0")
    manager.perform(Task.FLUSH)

    manager.perform(Task.CHECKPOINT_RECOVERY_POINTS)
    disk.do_all()
    path = "/data/recovery-point-offset-checkpoint"
    assert read_if_exists(filesystem, path) == b"0\n1\norders 0 0\n"

    manager.perform(Task.CHECKPOINT_RECOVERY_POINTS)
    disk.do_all()
    assert read_if_exists(filesystem, path) == b"0\n1\norders 0 1\n"


def test_recovery_point_is_not_written_down_over_a_failed_flush(filesystem):
    faulty = FaultyFileSystem(filesystem)
    manager = open_manager(faulty)
    append(manager.get_or_create(ORDERS, log_config(flush_ms=0), ONE), b"0")
    faulty.on("flush", "*.log").once().fail()

    for _ in range(2):
        manager.perform(Task.FLUSH)
        manager.perform(Task.CHECKPOINT_RECOVERY_POINTS)

    path = "/data/recovery-point-offset-checkpoint"
    assert read_if_exists(filesystem, path) == b"0\n1\norders 0 0\n"


@pytest.mark.parametrize("error", [OSError("a failing disk"), ZeroDivisionError("a bug")])
@pytest.mark.parametrize("task", [Task.DELETE_OLD_SEGMENTS, Task.FLUSH, Task.EXPIRE_PRODUCERS])
def test_log_that_fails_does_not_starve_those_after_it(filesystem, caplog, task, error):
    clock = VirtualClock()
    manager = open_manager(filesystem, clock, producer_id_expiration_ms=1000)
    config = log_config(retention_ms=1000, flush_ms=0)
    first = manager.get_or_create(ORDERS, config, ONE)
    second = manager.get_or_create(TopicPartition("second", 0), config, TWO)
    for log in (first, second):
        append(log, b"0", producer_id=1, producer_epoch=0, base_sequence=0)
    clock.advance(5)

    def fail(*_: object) -> None:
        raise error

    first.delete_old_segments = fail
    first.producers.expire = fail
    first.flusher.request = fail
    manager.perform(task)

    assert f"{task.name} of Log(orders-0" in caplog.text
    assert (second.log_start_offset, second.recovery_point, len(second.producers)) == {
        Task.DELETE_OLD_SEGMENTS: (1, 0, 1),
        Task.FLUSH: (0, 1, 1),
        Task.EXPIRE_PRODUCERS: (0, 0, 0),
    }[task]


def test_log_flushes_itself_after_so_many_records(filesystem):
    log = open_manager(filesystem).get_or_create(ORDERS, log_config(flush_messages=3), ONE)

    append(log, b"0", b"1")
    assert log.recovery_point == 0
    append(log, b"2")
    assert log.recovery_point == 3


def test_silent_producers_are_forgotten(filesystem):
    clock = VirtualClock()
    manager = open_manager(filesystem, clock, producer_id_expiration_ms=1000)
    log = manager.get_or_create(ORDERS, log_config(), ONE)
    append(log, b"0", producer_id=1, producer_epoch=0, base_sequence=0)
    clock.advance(1)

    manager.perform(Task.EXPIRE_PRODUCERS)

    assert len(log.producers) == 0


def test_old_segments_are_deleted(filesystem):
    clock = VirtualClock()
    manager = open_manager(filesystem, clock)
    log = manager.get_or_create(ORDERS, log_config(retention_ms=1000), ONE)
    append(log, b"0")
    clock.advance(2)

    manager.perform(Task.DELETE_OLD_SEGMENTS)

    assert log.log_start_offset == 1


def test_failed_task_is_logged_and_tried_again(filesystem, caplog):
    faulty = FaultyFileSystem(filesystem)
    manager = open_manager(faulty)
    append(manager.get_or_create(ORDERS, log_config(), ONE), b"0")
    faulty.on("rename", "*/replication-offset-checkpoint").once().fail()

    manager.perform(Task.CHECKPOINT_HIGH_WATERMARKS)
    assert "CHECKPOINT_HIGH_WATERMARKS failed" in caplog.text
    manager.perform(Task.CHECKPOINT_HIGH_WATERMARKS)

    assert filesystem.exists("/data/replication-offset-checkpoint")


def test_shutdown_that_could_not_write_everything_is_not_clean(filesystem, caplog):
    faulty = FaultyFileSystem(filesystem)
    manager = open_manager(faulty)
    append(manager.get_or_create(ORDERS, log_config(), ONE), b"0")
    faulty.on("flush", "*.log").fail()

    told = []
    manager.close(when_closed=told.append)

    assert "Could not flush orders-0" in caplog.text
    assert "Log(orders-0, 0..1)" in str(told[0])
    manager = open_manager(filesystem)
    assert not manager.data_directory.was_shut_down_cleanly
    assert values(manager.get_or_create(ORDERS, log_config(), ONE)) == [b"0"]


def test_clean_shutdown_reports_no_failure(filesystem):
    told = []

    open_manager(filesystem).close(when_closed=told.append)

    assert told == [None]


def test_log_that_was_not_recovered_is_not_believed_after_the_next_shutdown(filesystem):
    append(open_manager(filesystem).get_or_create(ORDERS, log_config(), ONE), b"0")
    filesystem.crash(loses_unflushed=False)

    open_manager(filesystem).close()

    assert not open_manager(filesystem).data_directory.was_shut_down_cleanly


def test_damaged_checkpoint_does_not_keep_the_directory_locked(filesystem):
    open_manager(filesystem).close()
    path = "/data/recovery-point-offset-checkpoint"
    filesystem.open(path, create=True).write_at(0, [b"garbage"])

    for _ in range(2):
        with pytest.raises(StorageError, match="recovery-point-offset-checkpoint is damaged"):
            open_manager(filesystem)


def test_log_that_cannot_be_opened_says_why(filesystem):
    faulty = FaultyFileSystem(filesystem)
    manager = open_manager(faulty)
    faulty.on("make_directory", "/data/orders-0").fail()

    with pytest.raises(StorageError, match=r"cannot open the log of orders-0: .*Input/output"):
        manager.get_or_create(ORDERS, log_config(), ONE)


def test_log_whose_topic_id_a_power_failure_took_is_set_aside(filesystem):
    append(open_manager(filesystem).get_or_create(ORDERS, log_config(), ONE), b"old")
    filesystem.crash(loses_unflushed=False)
    filesystem.open("/data/orders-0/partition.metadata").truncate(5)

    manager = open_manager(filesystem)
    manager.set_strays_aside(lambda *_: True)

    assert manager.get_or_create(ORDERS, log_config(), TWO).log_end_offset == 0
    assert [n for n in filesystem.list_directory("/data") if n.endswith("-stray")]


def test_log_whose_directory_is_missing_is_reported(filesystem, caplog):
    manager = open_manager(filesystem)
    append(manager.get_or_create(ORDERS, log_config(), ONE), b"0", b"1")
    manager.close()
    filesystem.remove_tree(f"/data/{ORDERS}")

    manager = open_manager(filesystem)

    assert manager.free_name(ORDERS, ONE)
    assert f"/data/{ORDERS} is missing: it had records up to offset 2" in caplog.text


def test_deleted_log_is_not_reported_as_missing(filesystem, caplog):
    manager = open_manager(filesystem)
    append(manager.get_or_create(ORDERS, log_config(), ONE), b"0")
    manager.perform(Task.FLUSH)
    manager.perform(Task.CHECKPOINT_RECOVERY_POINTS)

    manager.delete(ORDERS)
    manager.get_or_create(ORDERS, log_config(), TWO)

    assert "is missing" not in caplog.text


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"", "it has no version"),
        (b"version=1\nnode.id=0\n", "it has no cluster.id"),
        (b"version=1\nnode.id=x\ncluster.id=a", "'x'"),
        (b"version=1\ndirectory.id=AAAAAAAAAAAAAAAAAAAAAA", "is reserved"),
        (b"version=1\ndirectory.id=AAAAAAAAAAAAAAAAAAAAYw", "is reserved"),
        (b"version=1\ndirectory.id=AAAAAAAAAAAAAAAAAAAAZA", "it has no cluster.id"),
    ],
)
def test_damaged_meta_properties_are_refused_with_what_to_do(filesystem, content, text):
    open_manager(filesystem).close()
    properties = filesystem.open("/data/meta.properties")
    properties.truncate(0)
    properties.write_at(0, [content])

    with pytest.raises(StorageError, match="restore it, or remove it") as refused:
        open_manager(filesystem)

    assert text in str(refused.value)
