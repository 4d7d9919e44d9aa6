"""Save the positions of topics that disappeared, in case they come back. Pure.

A topic may be called unknown for a while by brokers that lag, and answers may name the id of a
topic that was deleted. Neither may make a consumer skip records or read them again: as long as the
topic id is the same, its offsets mean the same.
"""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from pyk.clients.consumer.buffer.partition_buffer import PartitionBuffer
from pyk.clients.consumer.records.assignment import Assignment
from pyk.clients.topic_partition import TopicPartition
from pyk.runtime import slotted


@slotted.frozen
class SavedPosition:
    """A saved position, and the topic id that it belongs to; None with brokers without topic
    ids."""

    topic_id: UUID | None
    offset: int
    """-1 if that was not known yet."""
    epoch: int
    is_paused: bool
    assignment: Assignment
    """The assignment under which the records before it were handed out."""


class SavedPositions:
    """The last positions of partitions that are not read now, or that belong to another topic."""

    def __init__(self) -> None:
        self._saved: dict[TopicPartition, SavedPosition] = {}

    @property
    def topics(self) -> frozenset[str]:
        """The topics with saved positions."""
        return frozenset(partition.topic for partition in self._saved)

    def save(self, buffer: PartitionBuffer, topic_id: UUID | None) -> None:
        """Remember the position of a partition, and whether the application has paused it."""
        saved = SavedPosition(
            topic_id,
            buffer.position,
            buffer.position_epoch,
            buffer.is_paused,
            buffer.assignment,
        )
        if saved.offset >= 0 or saved.is_paused:
            self._saved[buffer.topic_partition] = saved

    def take(self, partition: TopicPartition) -> SavedPosition | None:
        """Return the position that was saved last, and forget it."""
        return self._saved.pop(partition, None)

    def keep_topics(self, topics: Collection[str]) -> None:
        """Forget the positions of all other topics."""
        self._saved = {p: saved for p, saved in self._saved.items() if p.topic in topics}
