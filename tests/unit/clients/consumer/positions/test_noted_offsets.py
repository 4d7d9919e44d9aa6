"""Which committed offset may say by its note what is finished of a log."""

from __future__ import annotations

from uuid import UUID

import pytest

from pyk.clients.consumer.buffer.fetch_buffer import FetchBuffer
from pyk.clients.consumer.buffer.fetch_writer import FetchWriter
from pyk.clients.consumer.positions.assigned_partition import AssignedPartition
from pyk.clients.consumer.positions.assigned_partitions import AssignedPartitions
from pyk.clients.consumer.positions.metadata_changes import MetadataChanges
from pyk.clients.consumer.positions.positions import FoundOffset, Positions
from pyk.clients.engine.backoff import Backoff
from pyk.clients.offsets import OffsetSpec
from pyk.clients.topic_partition import OffsetAndMetadata, TopicPartition


class Setting:
    """A partition that is read from the committed offset 10 on."""

    def __init__(self) -> None:
        buffer = FetchBuffer(lambda: None, lambda: None, lambda fetch: fetch())
        writer = FetchWriter(buffer)
        self.positions = Positions(writer, "earliest", Backoff(0.1, 1.0), lambda: 0.5)
        partitions = AssignedPartitions(writer, self.positions)
        self.changes = MetadataChanges(partitions, self.positions)
        self.partition: AssignedPartition
        (self.partition,) = partitions.assign([TopicPartition("a", 0)], 0.0, has_group=True)
        committed = OffsetAndMetadata(10, "", 3)
        self.positions.found_committed(self.partition, self.partition.version, committed, 0.0)
        self.partition.leader_epoch = 3

    def find(self, offset: int) -> None:
        partition = self.partition
        self.positions.found_offset(partition, partition.version, FoundOffset(offset), 0.0)


def test_it_is_the_offset_that_the_group_has_committed():
    assert Setting().partition.noted_offset == 10


def test_it_is_the_offset_that_was_sought():
    setting = Setting()

    setting.positions.seek(setting.partition, 5, -1)

    assert setting.partition.noted_offset == 5


@pytest.mark.parametrize(("found", "noted"), [(9, -1), (10, 10), (30, 10)])
def test_it_stays_if_the_log_begins_behind_it(found, noted):
    setting = Setting()

    setting.positions.out_of_range(setting.partition, 0.0)
    setting.find(found)

    assert setting.partition.noted_offset == noted


def test_there_is_none_once_a_later_position_was_out_of_range():
    setting = Setting()
    setting.partition.noted_offset = 9  # a record was read since

    setting.positions.out_of_range(setting.partition, 0.0)
    setting.find(10)

    assert setting.partition.noted_offset == -1


def test_there_is_none_after_a_seek_to_an_end_of_the_log():
    setting = Setting()

    setting.positions.seek_to(setting.partition, OffsetSpec.EARLIEST)
    setting.find(10)

    assert setting.partition.noted_offset == -1


@pytest.mark.parametrize("end", [7, 10, 15])
def test_there_is_none_once_the_log_was_truncated(end):
    setting = Setting()
    setting.partition.buffer.fetch_offset = 20
    setting.changes.leader_changed(setting.partition, 4)

    setting.positions.found_epoch_end(setting.partition, setting.partition.version, end, 4, 0.0)

    assert setting.partition.noted_offset == -1


@pytest.mark.parametrize(("ends", "noted_end"), [([30], 30), ([30, 40], 30), ([40, 30], 30)])
@pytest.mark.parametrize("is_out_of_range", [False, True])
def test_the_note_ends_where_the_log_has_other_records_than_were_read(
    ends, noted_end, is_out_of_range
):
    setting = Setting()
    partition = setting.partition

    for epoch, end in enumerate(ends, 4):
        setting.changes.leader_changed(partition, epoch)
        setting.positions.found_epoch_end(partition, partition.version, end, epoch, 0.0)
    if is_out_of_range:
        setting.positions.out_of_range(partition, 0.0)
        setting.find(20)

    assert (partition.noted_offset, partition.noted_end) == (10, noted_end)


def test_a_leader_that_does_not_know_epochs_leaves_the_note_as_it_is():
    setting = Setting()
    partition = setting.partition

    setting.changes.leader_changed(partition, 4)
    setting.positions.found_epoch_end(partition, partition.version, None, 4, 0.0)

    assert (partition.noted_offset, partition.noted_end) == (10, -1)


def test_another_position_has_another_note():
    setting = Setting()
    setting.partition.noted_end = 30

    setting.positions.seek(setting.partition, 5, -1)

    assert setting.partition.noted_end == -1


@pytest.mark.parametrize("is_out_of_range", [False, True])
def test_there_is_none_once_the_topic_was_created_again(is_out_of_range):
    setting = Setting()

    setting.changes.topic_seen(setting.partition, UUID(int=1))
    if is_out_of_range:
        setting.positions.out_of_range(setting.partition, 0.0)
    setting.changes.topic_seen(setting.partition, UUID(int=2))
    setting.find(10)

    assert setting.partition.noted_offset == -1
