"""The partitions that a coordinator assigns by topic id, and their names. Pure.

A topic keeps its name for as long as its id exists. A topic that was deleted and created again has
the same name and another id: its partitions are other ones, which are revoked and assigned like any
others.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from uuid import UUID

from pyk.clients.engine.metadata import MetadataImage
from pyk.clients.topic_partition import TopicPartition
from pyk.protocol.messages.consumer_group_heartbeat import Assignment, TopicPartitions
from pyk.runtime import slotted


@slotted.frozen(order=True)
class TopicIdPartition:
    """One partition of one topic, which is known by its id and its name."""

    topic_id: UUID
    topic: str
    number: int

    @property
    def topic_partition(self) -> TopicPartition:
        return TopicPartition(self.topic, self.number)


Owned = frozenset[TopicIdPartition]


@slotted.frozen
class Target:
    """All partitions that a member is to have."""

    partitions: frozenset[tuple[UUID, int]] = frozenset()

    @classmethod
    def of(cls, assignment: Assignment) -> Target:
        """Return what a heartbeat brought, without numbers that no partition can have."""
        return cls(
            frozenset(
                (topic.topic_id, number)
                for topic in assignment.topic_partitions
                for number in topic.partitions
                if number >= 0
            )
        )

    def resolved(self, image: MetadataImage, owned: Owned) -> Owned:
        """Return the partitions whose topics have a known name.

        A topic of which something is owned needs no metadata, which may have forgotten it, or name
        another topic: then it was deleted, which the coordinator will find out, too, or the broker
        that was asked lags.
        """
        names = {one.topic_id: one.topic for one in owned}
        names |= {topic_id: image.names[topic_id] for topic_id in self._ids & image.names.keys()}
        return frozenset(
            TopicIdPartition(topic_id, names[topic_id], number)
            for topic_id, number in self.partitions
            if topic_id in names
        )

    def is_resolved(self, image: MetadataImage, owned: Owned) -> bool:
        """Return whether the names of all topics are known, and metadata name no other topic."""
        known = {one.topic_id for one in owned if not is_disputed(one, image)}
        return self._ids <= image.names.keys() | known

    @property
    def _ids(self) -> frozenset[UUID]:
        return frozenset(topic_id for topic_id, _ in self.partitions)


def is_disputed(one: TopicIdPartition, image: MetadataImage) -> bool:
    """Return whether metadata name another topic than the one that is owned."""
    return image.topic_id(one.topic) not in (None, one.topic_id)


def named(partitions: Iterable[TopicIdPartition]) -> frozenset[TopicPartition]:
    """Return partitions by the names of their topics."""
    return frozenset(one.topic_partition for one in partitions)


def by_topic_id(partitions: Collection[TopicIdPartition]) -> list[TopicPartitions]:
    """Return partitions as a request names them."""
    numbers: dict[UUID, list[int]] = {}
    for one in sorted(partitions):
        numbers.setdefault(one.topic_id, []).append(one.number)
    return [TopicPartitions(topic_id=each, partitions=some) for each, some in numbers.items()]
