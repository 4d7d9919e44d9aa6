"""What the checkpoint files of a data directory have of each log."""

from __future__ import annotations

import errno

import pytest

from pyk.protocol.topics import TopicPartition
from pyk.reference_broker.storage import Log, Task
from pyk.reference_broker.storage.log_checkpoints import LogCheckpoints
from pyk.runtime.filesystem import FileSystem, read_if_exists
from pyk.runtime.filesystem.faulty import FaultyFileSystem
from pyk.runtime.filesystem.memory import MemoryFileSystem
from support.logs import ORDERS, append, open_log

OTHER = TopicPartition("other", 0)
RECOVERY_POINTS = "recovery-point-offset-checkpoint"
LOG_START_OFFSETS = "log-start-offset-checkpoint"
COMPACTION = "cleaner-offset-checkpoint"


class Checkpoints:
    """The checkpoints of the one log of ``ORDERS``, which has four records in two segments."""

    def __init__(self, filesystem: FileSystem | None = None) -> None:
        self.filesystem = filesystem or MemoryFileSystem()
        self.log: Log = open_log(self.filesystem)
        append(self.log, b"0", b"1")
        self.log.roll()
        append(self.log, b"2", b"3")
        self.checkpoints = LogCheckpoints(self.filesystem, "/data", {ORDERS: self.log})

    def update(self, task: Task) -> bool:
        """Write a file; return whether it would have changed."""
        write = self.checkpoints.begin_update(task)
        if write is None:
            return False
        write.finish()
        self.checkpoints.end_update(task, None)
        return True

    def text(self, name: str) -> str | None:
        """Return the entries of a file, None if there is no such file."""
        content = read_if_exists(self.filesystem, f"/data/{name}")
        return None if content is None else content.decode().partition("\n")[2]


@pytest.mark.parametrize(
    ("task", "name", "text"),
    [
        (Task.CHECKPOINT_RECOVERY_POINTS, RECOVERY_POINTS, "1\norders 0 2\n"),
        (Task.CHECKPOINT_LOG_START_OFFSETS, LOG_START_OFFSETS, "1\norders 0 1\n"),
        (Task.CHECKPOINT_HIGH_WATERMARKS, "replication-offset-checkpoint", "1\norders 0 4\n"),
        (Task.CHECKPOINT_COMPACTION, COMPACTION, "1\norders 0 2\n"),
    ],
)
def test_each_task_writes_its_own_file(task: Task, name: str, text: str) -> None:
    checkpoints = Checkpoints()
    checkpoints.log.flusher.request(2)
    checkpoints.log.advance_log_start_offset(1)
    checkpoints.log.compacted_to = 2

    assert checkpoints.update(task)

    assert checkpoints.text(name) == text
    assert not checkpoints.update(task)


def test_a_log_that_begins_with_a_segment_needs_no_entry_of_its_start() -> None:
    checkpoints = Checkpoints()

    assert not checkpoints.update(Task.CHECKPOINT_LOG_START_OFFSETS)


def test_a_log_that_was_never_compacted_needs_no_entry_of_that() -> None:
    checkpoints = Checkpoints()

    assert not checkpoints.update(Task.CHECKPOINT_COMPACTION)


def test_a_log_that_is_not_compacted_any_more_has_that_written_down() -> None:
    checkpoints = Checkpoints()
    checkpoints.log.compacted_to = 2
    checkpoints.update(Task.CHECKPOINT_COMPACTION)

    checkpoints.log.truncate_to(0)
    checkpoints.update(Task.CHECKPOINT_COMPACTION)

    assert checkpoints.text(COMPACTION) == "1\norders 0 0\n"


def test_the_offsets_of_a_log_that_is_to_come_are_written_at_once() -> None:
    checkpoints = Checkpoints()

    assert checkpoints.checkpoints.write_now(OTHER, recovery_point=5, log_start_offset=3)

    assert checkpoints.text(RECOVERY_POINTS) == "1\nother 0 5\n"
    assert checkpoints.text(LOG_START_OFFSETS) == "1\nother 0 3\n"


def test_a_log_that_is_to_come_and_begins_with_a_segment_has_its_recovery_point_written() -> None:
    checkpoints = Checkpoints()

    assert checkpoints.checkpoints.write_now(OTHER, recovery_point=5, log_start_offset=None)

    assert checkpoints.text(RECOVERY_POINTS) == "1\nother 0 5\n"
    assert checkpoints.text(LOG_START_OFFSETS) is None


def test_offsets_that_are_written_already_are_written() -> None:
    checkpoints = Checkpoints()
    for _ in range(2):
        assert checkpoints.checkpoints.write_now(OTHER, recovery_point=5, log_start_offset=3)


@pytest.mark.parametrize(
    "task", [Task.CHECKPOINT_RECOVERY_POINTS, Task.CHECKPOINT_LOG_START_OFFSETS]
)
def test_nothing_is_written_at_once_while_one_of_the_files_is_being_written(task: Task) -> None:
    checkpoints = Checkpoints()
    checkpoints.log.flusher.request(2)
    checkpoints.log.advance_log_start_offset(1)
    write = checkpoints.checkpoints.begin_update(task)
    assert write is not None

    assert not checkpoints.checkpoints.write_now(OTHER, recovery_point=5, log_start_offset=3)

    assert checkpoints.text(RECOVERY_POINTS) is None
    assert checkpoints.text(LOG_START_OFFSETS) is None
    write.finish()
    checkpoints.checkpoints.end_update(task, None)
    assert checkpoints.checkpoints.write_now(OTHER, recovery_point=5, log_start_offset=3)


def test_a_write_at_once_that_fails_can_be_tried_again() -> None:
    filesystem = FaultyFileSystem(MemoryFileSystem())
    checkpoints = Checkpoints(filesystem)
    filesystem.on("rename", f"*/{RECOVERY_POINTS}").once().fail(errno.EIO)
    with pytest.raises(OSError, match=r"Input.output error"):
        checkpoints.checkpoints.write_now(OTHER, recovery_point=5, log_start_offset=None)

    assert checkpoints.checkpoints.write_now(OTHER, recovery_point=5, log_start_offset=None)

    assert checkpoints.text(RECOVERY_POINTS) == "1\nother 0 5\n"


def test_a_forgotten_log_is_in_the_files_that_named_it_until_they_are_written() -> None:
    checkpoints = Checkpoints()
    checkpoints.checkpoints.write_now(OTHER, recovery_point=5, log_start_offset=None)
    assert checkpoints.checkpoints.tasks_with_forgotten() == []

    checkpoints.checkpoints.forget(OTHER)

    assert checkpoints.checkpoints.may_name(OTHER)
    assert not checkpoints.checkpoints.may_name(ORDERS)
    assert checkpoints.checkpoints.tasks_with_forgotten() == [Task.CHECKPOINT_RECOVERY_POINTS]
    checkpoints.update(Task.CHECKPOINT_RECOVERY_POINTS)
    assert not checkpoints.checkpoints.may_name(OTHER)
    assert checkpoints.checkpoints.tasks_with_forgotten() == []
