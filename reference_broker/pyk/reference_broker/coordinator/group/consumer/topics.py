"""The topics of the cluster as groups see them that the coordinator assigns. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from hashlib import blake2b
from uuid import UUID

from pyk.protocol.patterns import Pattern
from pyk.reference_broker.controller.image import MetadataImage

from .assignment import PartitionCounts


class Topics:
    """Looks at the metadata image, which changes between two requests."""

    def __init__(self, image: MetadataImage) -> None:
        self._image = image

    @property
    def version(self) -> int:
        """How many records of the metadata log are known."""
        return self._image.record_count

    def ids(self, names: Iterable[str]) -> frozenset[UUID]:
        """Return the ids of the topics that exist."""
        topics = self._image.topics
        return frozenset(topics[name].topic_id for name in names if name in topics)

    def name(self, topic_id: UUID) -> str | None:
        """Return the name of a topic, None if it was deleted."""
        topic = self._image.topics_by_id.get(topic_id)
        return None if topic is None else topic.name

    def partition_count(self, topic_id: UUID) -> int:
        """Return how many partitions a topic has, 0 if it does not exist."""
        topic = self._image.topics_by_id.get(topic_id)
        return 0 if topic is None else len(topic.partitions)

    def partition_counts(self) -> PartitionCounts:
        return {
            topic_id: len(topic.partitions) for topic_id, topic in self._image.topics_by_id.items()
        }

    def count_of(self, name: str) -> int:
        """Return how many partitions a topic has, 0 if it does not exist."""
        return self.counts_of([name]).get(name, 0)

    def counts_of(self, names: Iterable[str]) -> dict[str, int]:
        """Return how many partitions each of these topics has, without those that do not exist."""
        topics = self._image.topics
        return {name: len(topics[name].partitions) for name in names if name in topics}

    def matching(self, pattern: Pattern, may_see: Callable[[str], bool]) -> frozenset[str]:
        """Return the topics that match a pattern, of those that the member may see."""
        return frozenset(
            name for name in self._image.topics if pattern.matches(name) and may_see(name)
        )

    def hash_of(self, names: Iterable[str]) -> int:
        """Return a number that is another one when these topics are others, or have grown.

        It goes into the log, so it is the same after a restart; 0 stands for no topics. Kafka also
        hashes racks, which no assignor looks at (KIP-1101).
        """
        known = sorted(set(names) & self._image.topics.keys())
        if not known:
            return 0
        digest = blake2b(digest_size=8)
        for name in known:
            topic = self._image.topics[name]
            digest.update(f"{name} {topic.topic_id} {len(topic.partitions)}\n".encode())
        return int.from_bytes(digest.digest(), "big", signed=True)
