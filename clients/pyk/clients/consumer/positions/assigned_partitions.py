"""The partitions that a consumer is assigned now. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING
from uuid import UUID

from pyk.clients.consumer.positions.assigned_partition import AssignedPartition, PositionState
from pyk.clients.consumer.positions.positions import Positions
from pyk.clients.engine.metadata import MetadataImage
from pyk.clients.topic_partition import TopicPartition

if TYPE_CHECKING:
    from pyk.clients.consumer.buffer.fetch_writer import FetchWriter


class AssignedPartitions:
    """All assigned partitions, in the order in which they were assigned."""

    def __init__(self, writer: FetchWriter, positions: Positions) -> None:
        self._writer = writer
        self._positions = positions
        self._saved = positions.saved
        self._assigned: dict[TopicPartition, AssignedPartition] = {}
        self.consumer = object()
        """Tells records of this consumer from others, and does not keep it in memory."""

    # -- look-ups ----------------------------------------------------------------------------------

    def __contains__(self, topic_partition: object) -> bool:
        return topic_partition in self._assigned

    def __iter__(self) -> Iterator[AssignedPartition]:
        """Iterate over the partitions as they are now: another thread may change them meanwhile."""
        return iter(self.all())

    def __getitem__(self, topic_partition: TopicPartition) -> AssignedPartition:
        return self._assigned[topic_partition]

    @property
    def topic_partitions(self) -> set[TopicPartition]:
        return set(self._assigned)

    def all(self) -> list[AssignedPartition]:
        """Return all partitions, in the order in which they were assigned."""
        return list(self._assigned.values())

    def current(self, topic_partition: TopicPartition, version: int) -> AssignedPartition | None:
        """Return a partition if its position still has this version."""
        assigned = self._assigned.get(topic_partition)
        return assigned if assigned is not None and assigned.version == version else None

    def is_assigned(self, assigned: AssignedPartition) -> bool:
        """Return whether a partition is still assigned, without interruption."""
        return self._assigned.get(assigned.topic_partition) is assigned

    def in_state(self, state: PositionState, now: float) -> list[AssignedPartition]:
        """Return the partitions in a state whose next try is due."""
        return [p for p in self._assigned.values() if p.state is state and p.retry_at <= now]

    def next_retry(self, now: float) -> float | None:
        """Return when the next partition that waits for another try is due."""
        return min((p.retry_at for p in self._assigned.values() if p.retry_at > now), default=None)

    def lacks_leaders(self, image: MetadataImage) -> bool:
        """Return whether a partition waits for a leader."""
        return any(image.leader(partition) is None for partition in self._assigned)

    # -- assignment --------------------------------------------------------------------------------

    def assign(
        self,
        partitions: Iterable[TopicPartition],
        now: float,
        *,
        has_group: bool,
        topic_ids: Mapping[str, UUID | None] = MappingProxyType({}),
        has_grown: bool = False,
    ) -> list[AssignedPartition]:
        """Add partitions; the position is what the group committed, if there is a group.

        Without a group, a partition with a saved position is read on if its topic is still the
        same, and a partition that was added to a topic while it was read (``has_grown``) is read
        from its beginning.
        """
        grown_topics = self._topics if has_grown else frozenset()
        state = PositionState.COMMITTED if has_group else PositionState.RESET
        added = []
        for partition in partitions:
            if partition not in self._assigned:
                buffer = self._writer.add_partition(partition)
                buffer.assignment.consumer = self.consumer
                assigned = AssignedPartition(buffer, state, topic_ids.get(partition.topic), now)
                self._assigned[partition] = assigned
                self._positions.is_comparison_due = True
                added.append(assigned)
                if not has_group:
                    self._positions.begin(assigned, is_new=partition.topic in grown_topics)
        return added

    @property
    def _topics(self) -> frozenset[str]:
        """The topics that are read, or were until they disappeared."""
        return self._saved.topics.union(partition.topic for partition in self._assigned)

    def unassign(self, partitions: Iterable[TopicPartition]) -> None:
        """Remove partitions, and forget where they were read."""
        for partition in partitions:
            self._saved.take(partition)
            self._remove(partition)

    def set_aside(self, partitions: Iterable[TopicPartition]) -> None:
        """Remove partitions that disappeared; they are read on if they come back."""
        for partition in partitions:
            assigned = self._remove(partition)
            if assigned is not None:
                self._saved.save(assigned.buffer, assigned.topic_id)

    def _remove(self, partition: TopicPartition) -> AssignedPartition | None:
        assigned = self._assigned.pop(partition, None)
        if assigned is not None:
            self._writer.remove_partition(assigned.buffer)
        return assigned

    def keep_topics(self, topics: Collection[str]) -> None:
        """Forget where other topics were read that disappeared."""
        self._saved.keep_topics(topics)
