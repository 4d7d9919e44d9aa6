"""Which partitions lose or get a leader with the log directories of a broker (KIP-858). Pure.

A partition whose replicas are all in failed directories has no leader. It gets one again when a
broker registers with the directory.
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from pyk.protocol.messages.metadata_records import PartitionChangeRecord
from pyk.protocol.schema import Message

from .image import NO_LEADER, MetadataImage, PartitionImage
from .log_dirs import is_online_directory


def leader_changes(image: MetadataImage, node_id: int, online: Sequence[UUID]) -> list[Message]:
    """Return what changes for partitions now that these directories of a broker are online."""
    return [
        PartitionChangeRecord(partition_id=number, topic_id=topic.topic_id, leader=leader)
        for topic in image.topics.values()
        for number, partition in topic.partitions.items()
        if (leader := leader_with(partition, node_id, partition.directory_of(node_id), online))
        != partition.leader
    ]


def leader_with(
    partition: PartitionImage, node_id: int, directory: UUID, online: Sequence[UUID]
) -> int:
    """Return who leads a partition whose replica on a broker is in a directory."""
    if node_id not in partition.replicas:
        return partition.leader
    if not is_online_directory(directory, online):
        return NO_LEADER if partition.leader == node_id else partition.leader
    may_lead = partition.leader == NO_LEADER and node_id in partition.isr
    return node_id if may_lead else partition.leader
