from __future__ import annotations

from uuid import UUID

from pyk.clients.consumer.buffer.fetch_buffer import FetchBuffer
from pyk.clients.consumer.buffer.fetch_reader import FetchReader
from pyk.clients.consumer.buffer.fetch_writer import FetchWriter
from pyk.clients.consumer.commits.commits import AutoCommit, Finished
from pyk.clients.consumer.group.commit_progress import CommitProgress
from pyk.clients.consumer.positions.assigned_partitions import AssignedPartitions
from pyk.clients.consumer.positions.metadata_changes import MetadataChanges
from pyk.clients.consumer.positions.positions import Positions
from pyk.clients.engine.backoff import Backoff
from pyk.clients.engine.metadata import MetadataImage, TopicMetadata
from pyk.clients.topic_partition import OffsetAndMetadata, TopicPartition
from pyk.protocol.records import FetchedRecords
from pyk.runtime import slotted
from support.batches import batches

A0, A1 = TopicPartition("a", 0), TopicPartition("a", 1)


class Setting:
    """A consumer at offset 5 of the first partition, and at an unknown one of the second."""

    def __init__(self) -> None:
        self.buffer = FetchBuffer(lambda: None, lambda: None, lambda fetch: fetch())
        self.writer = FetchWriter(self.buffer)
        self.positions = Positions(self.writer, "none", Backoff(0.1, 1.0), lambda: 0.5)
        self.partitions = AssignedPartitions(self.writer, self.positions)
        self.partition, _ = self.partitions.assign([A0, A1], 0.0, has_group=True)
        self.positions.seek(self.partition, 5, -1)
        self.progress = CommitProgress(self.partitions, self.buffer, AutoCommit(5.0, 0.0))
        self.reader = FetchReader(self.buffer)

    def poll(self, values: int) -> None:
        """Fetch records and let the application take them."""
        offset = self.partition.buffer.position
        fetched = FetchedRecords("a", 0, batches(offset, values), offset)
        self.writer.append(self.partition.buffer, fetched, 80, offset + values)
        self.reader.take(values)
        self.reader.is_under_way = False

    def commit(self, offset: int) -> None:
        """Commit an offset of the present position."""
        self.progress.stored({A0: OffsetAndMetadata(offset)}, {A0: self.partition.version})

    def news(self) -> dict[TopicPartition, int]:
        return {p: one.offset.offset for p, one in self.progress.news().items()}


def test_what_the_application_has_in_hand_is_not_finished() -> None:
    setting = Setting()
    setting.poll(3)
    finished = Finished(OffsetAndMetadata(5), setting.partition.version)
    assert setting.progress.finished() == {A0: finished}

    setting.reader.finish()

    assert setting.news() == {A0: 8}


def test_the_beginning_of_a_log_is_an_offset_to_commit() -> None:
    setting = Setting()

    setting.positions.seek(setting.partition, 0, -1)

    assert setting.news() == {A0: 0}


def test_partitions_that_are_not_asked_for_are_left_out() -> None:
    setting = Setting()

    assert setting.progress.finished([A0]).keys() == {A0}
    assert setting.progress.finished([A1]) == {}


def test_what_is_committed_is_saved() -> None:
    setting = Setting()
    setting.poll(3)
    setting.reader.finish()

    setting.commit(8)

    assert setting.news() == {}
    assert setting.progress.finished().keys() == {A0}


def test_records_that_were_handed_out_are_uncommitted_until_all_of_them_are_committed() -> None:
    setting = Setting()
    assert setting.progress.uncommitted({A0, A1}) == {}

    setting.poll(3)
    assert setting.progress.uncommitted({A0, A1}) == {A0: 8}
    assert setting.progress.uncommitted({A1}) == {}
    setting.commit(7)
    assert setting.progress.uncommitted({A0}) == {A0: 8}

    setting.commit(8)

    assert setting.progress.uncommitted({A0}) == {}


def test_reading_starts_again_at_the_last_commit_or_where_the_position_was_set_since() -> None:
    setting = Setting()
    setting.poll(3)
    assert setting.progress.restart_offset(setting.partition) == 5

    setting.commit(7)
    assert setting.progress.restart_offset(setting.partition) == 7

    setting.positions.seek(setting.partition, 2, -1)
    assert setting.progress.restart_offset(setting.partition) == 2


def test_what_others_may_commit_is_forgotten() -> None:
    setting = Setting()
    setting.commit(7)

    setting.progress.forget([A0])

    assert setting.progress.restart_offset(setting.partition) == 5


def test_a_commit_of_a_partition_that_is_gone_is_not_remembered() -> None:
    setting = Setting()
    version = setting.partition.version
    setting.partitions.unassign([A0])

    setting.progress.stored({A0: OffsetAndMetadata(7)}, {A0: version})

    (setting.partition,) = setting.partitions.assign([A0], 1.0, has_group=True)
    setting.positions.seek(setting.partition, 5, -1)
    setting.poll(1)
    assert setting.progress.uncommitted({A0}) == {A0: 6}


def recreate(setting: Setting, topic_id: int, end: int) -> None:
    """Create the topic again, and read it to its end."""
    MetadataChanges(setting.partitions, setting.positions).topic_seen(
        setting.partition, UUID(int=topic_id)
    )
    setting.positions.seek(setting.partition, 0, -1)
    setting.poll(end)
    setting.reader.finish()


def test_what_was_committed_in_a_former_topic_is_not_committed_in_the_present_one() -> None:
    setting = Setting()
    setting.partition.topic_id = UUID(int=1)
    setting.commit(5)
    assert setting.news() == {}

    recreate(setting, 2, end=5)

    assert setting.news() == {A0: 5}
    assert setting.progress.uncommitted([A0]) == {A0: 5}
    setting.commit(5)
    assert setting.news() == {}
    assert setting.progress.uncommitted([A0]) == {}


def test_a_commit_that_ends_after_its_topic_was_created_again_is_of_the_former_one() -> None:
    setting = Setting()
    setting.partition.topic_id = UUID(int=1)
    version = setting.partition.version

    recreate(setting, 2, end=5)
    setting.progress.stored({A0: OffsetAndMetadata(5)}, {A0: version})

    assert setting.news() == {A0: 5}


def test_what_is_committed_stays_committed_after_a_false_topic_id() -> None:
    setting = Setting()
    setting.partition.topic_id = UUID(int=1)
    setting.commit(5)

    for topic_id in (2, 1):
        MetadataChanges(setting.partitions, setting.positions).topic_seen(
            setting.partition, UUID(int=topic_id)
        )

    assert setting.news() == {}


def image_of(topic_id: UUID) -> MetadataImage:
    return MetadataImage(topics={"a": TopicMetadata("a", topic_id)})


def test_nothing_is_committed_while_metadata_name_another_topic_than_was_assigned() -> None:
    setting = Setting()
    changes = MetadataChanges(setting.partitions, setting.positions)
    setting.partition.bind(UUID(int=1))
    setting.poll(1)
    setting.reader.finish()

    changes.apply(slotted.evolve(image_of(UUID(int=2)), version=1))
    assert setting.news() == setting.progress.uncommitted([A0]) == {}

    changes.apply(slotted.evolve(image_of(UUID(int=1)), version=2))
    assert setting.news() == setting.progress.uncommitted([A0]) == {A0: 6}
