"""Which partitions lose or get a leader with the log directories of a broker (KIP-858). Pure.

A partition whose replicas are all in failed directories has no leader. It gets one again when a
broker registers with the directory. So do those that Apache Kafka has left without a leader when it
stopped, and those of a broker that was unregistered while it ran, if there is no replica elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from pyk.protocol.messages.metadata_records import PartitionChangeRecord
from pyk.protocol.schema import Message

from .features import ELR_VERSION
from .image import NO_LEADER, MetadataImage, PartitionImage
from .log_dirs import is_online_directory


def leader_changes(image: MetadataImage, node_id: int, online: Sequence[UUID]) -> list[Message]:
    """Return what changes for partitions now that these directories of a broker are online."""
    return [
        leader_change(image, topic.topic_id, number, leader)
        for topic in image.topics.values()
        for number, partition in topic.partitions.items()
        if (leader := leader_with(partition, node_id, partition.directory_of(node_id), online))
        != partition.leader
    ]


def leader_change(
    image: MetadataImage, topic_id: UUID, number: int, leader: int
) -> PartitionChangeRecord:
    """Return the record that gives a partition another leader, or none.

    With eligible leader replicas (KIP-966) a leader without successor is the last one in sync. It
    is no longer, but may become the leader again.
    """
    partition = image.topics_by_id[topic_id].partitions[number]
    record = PartitionChangeRecord(partition_id=number, topic_id=topic_id, leader=leader)
    if leader == NO_LEADER:
        if ELR_VERSION in image.features:
            record.isr = []
            record.eligible_leader_replicas = record.last_known_elr = [partition.leader]
    elif leader not in partition.isr:
        record.isr = [leader]
        record.eligible_leader_replicas = [] if partition.eligible_leader_replicas else None
        record.last_known_elr = [] if partition.last_known_elr else None
    return record


def leader_with(
    partition: PartitionImage, node_id: int, directory: UUID, online: Sequence[UUID]
) -> int:
    """Return who leads a partition whose replica on a broker is in a directory."""
    if node_id not in partition.replicas:
        return partition.leader
    if not is_online_directory(directory, online):
        return NO_LEADER if partition.leader == node_id else partition.leader
    may_lead = node_id in partition.isr or partition.replicas == (node_id,)
    return node_id if partition.leader == NO_LEADER and may_lead else partition.leader
