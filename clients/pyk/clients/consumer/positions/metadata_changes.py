"""Apply new metadata to assigned partitions: leaders, their epochs and topic ids. Pure."""

from __future__ import annotations

from uuid import UUID

from pyk.clients.consumer.buffer.partition_buffer import UNKNOWN
from pyk.clients.consumer.positions.assigned_partition import AssignedPartition, PositionState
from pyk.clients.consumer.positions.assigned_partitions import AssignedPartitions
from pyk.clients.consumer.positions.positions import Positions
from pyk.clients.engine.metadata import MetadataImage
from pyk.protocol.fields import ZERO_UUID


class MetadataChanges:
    """Compares assigned partitions with the metadata, and applies what has changed."""

    def __init__(self, partitions: AssignedPartitions, positions: Positions) -> None:
        self._partitions = partitions
        self._positions = positions
        self._compared_version = UNKNOWN
        """The version of the metadata with which all partitions were last compared."""

    def apply(self, image: MetadataImage) -> None:
        """Apply new leaders, their epochs, and topics that were created again."""
        if not self._positions.is_comparison_due and self._compared_version == image.version:
            return
        self._positions.is_comparison_due = False
        self._compared_version = image.version
        for assigned in self._partitions.all():
            if assigned.seen_version != image.version:
                assigned.seen_version = image.version
                self._compare(assigned, image)

    def _compare(self, assigned: AssignedPartition, image: MetadataImage) -> None:
        topic = image.topic(assigned.topic_partition.topic)
        topic_id = None if topic is None else topic.topic_id
        assigned.is_disputed = assigned.is_assigned_by_id and topic_id not in (
            None,
            assigned.topic_id,
        )
        if assigned.is_disputed:  # then they say nothing about this topic
            return
        assigned.named_id = topic_id or ZERO_UUID
        if topic_id is not None:
            self.topic_seen(assigned, topic_id)
        leader = image.leader(assigned.topic_partition)
        if leader != assigned.leader:
            assigned.leader = leader
            assigned.ask_at_once()  # the failures were those of another node
        epoch = image.leader_epoch(assigned.topic_partition)
        assigned.named_epoch = UNKNOWN if epoch is None else epoch
        if epoch is not None:
            self.leader_changed(assigned, epoch)

    def topic_seen(self, assigned: AssignedPartition, topic_id: UUID) -> None:
        """Apply the topic's id: with another id than before, it was deleted and created again."""
        former_id = assigned.topic_id
        assigned.topic_id = topic_id
        if former_id is None:
            assigned.buffer.assignment.topic_id = topic_id
        elif former_id != topic_id:
            self._positions.topic_recreated(assigned, former_id)

    def leader_changed(self, assigned: AssignedPartition, leader_epoch: int) -> None:
        """Validate that the leader has the records that were read from, or by, another (KIP-320).

        A committed offset, and one given to ``seek``, may carry an epoch too.
        """
        if assigned.state is not PositionState.KNOWN or leader_epoch <= assigned.leader_epoch:
            return
        if assigned.fetched_epoch != UNKNOWN:
            assigned.state = PositionState.VALIDATE
        else:
            assigned.leader_epoch = leader_epoch
        assigned.ask_at_once()
