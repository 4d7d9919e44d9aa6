"""Where batches go: the leaders and topic ids of partitions, as metadata say. Pure."""

from __future__ import annotations

from uuid import UUID

from pyk.clients.engine.metadata import MetadataImage
from pyk.clients.topic_partition import TopicPartition


class Routes:
    """What an image of metadata says of the partitions that are sent to, looked up once in each.

    An image never changes, and is asked for every batch.
    """

    __slots__ = ("_image", "_leaders", "_topic_ids")

    def __init__(self) -> None:
        self._image: MetadataImage | None = None
        self._leaders: dict[TopicPartition, int | None] = {}
        self._topic_ids: dict[str, UUID | None] = {}

    def use(self, image: MetadataImage) -> None:
        """Answer from ``image`` from now on."""
        if self._image is not image:
            self._image = image
            self._leaders = {}
            self._topic_ids = {}

    def leader(self, partition: TopicPartition) -> int | None:
        """Return the node id of a partition's leader, None if there is none or it is not known."""
        if partition not in self._leaders:
            assert self._image is not None
            self._leaders[partition] = self._image.leader(partition)
        return self._leaders[partition]

    def topic_id(self, topic: str) -> UUID | None:
        """Return the id of a topic, None if it is not known."""
        if topic not in self._topic_ids:
            assert self._image is not None
            self._topic_ids[topic] = self._image.topic_id(topic)
        return self._topic_ids[topic]
