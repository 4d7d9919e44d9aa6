"""The positions of one consumer, with what sets them in the test's hands."""

from __future__ import annotations

from pyk.clients.consumer.buffer.fetch_buffer import FetchBuffer
from pyk.clients.consumer.buffer.fetch_writer import FetchWriter
from pyk.clients.consumer.positions.assigned_partition import AssignedPartition
from pyk.clients.consumer.positions.assigned_partitions import AssignedPartitions
from pyk.clients.consumer.positions.metadata_changes import MetadataChanges
from pyk.clients.consumer.positions.positions import Positions
from pyk.clients.engine.backoff import Backoff
from pyk.clients.offsets import OffsetSpec
from pyk.clients.topic_partition import OffsetAndMetadata, TopicPartition

A0, A1 = TopicPartition("a", 0), TopicPartition("a", 1)
ENDS = [("earliest", OffsetSpec.EARLIEST), ("latest", OffsetSpec.LATEST)]


class Setting:
    """The assigned partitions of one consumer, and what sets their positions."""

    def __init__(self, policy: str = "latest") -> None:
        buffer = FetchBuffer(lambda: None, lambda: None, lambda fetch: fetch())
        writer = FetchWriter(buffer)
        self.positions = Positions(writer, policy, Backoff(0.1, 1.0), lambda: 0.5)
        self.partitions = AssignedPartitions(writer, self.positions)
        self.changes = MetadataChanges(self.partitions, self.positions)


def assigned(setting: Setting, *, has_group: bool = True) -> AssignedPartition:
    (partition,) = setting.partitions.assign([A0], 0.0, has_group=has_group)
    return partition


def known(
    policy: str = "latest", offset: int = 10, epoch: int = 3
) -> tuple[Setting, AssignedPartition]:
    setting = Setting(policy)
    partition = assigned(setting)
    committed = OffsetAndMetadata(offset, "", epoch)
    setting.positions.found_committed(partition, partition.version, committed, 0.0)
    partition.leader_epoch = epoch
    return setting, partition
