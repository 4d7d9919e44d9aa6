"""The partitions of this broker: opened, led, configured and deleted as the metadata image says."""

from __future__ import annotations

import logging
from collections.abc import Callable

from pyk.protocol.errors import ErrorCode

from .config import BrokerConfigLayers, LogConfig, parse_topic_configs
from .controller.image import TOPIC_RESOURCE, MetadataImage, PartitionCreated, TopicImage
from .errors import ApiError
from .partition import Partition
from .storage import LogError, LogManager
from .topic_partition import TopicPartition

log = logging.getLogger(__name__)


class Replicas:
    """All partitions that have a replica here. ``on_moved`` is told whenever one changes."""

    def __init__(
        self,
        node_id: int,
        logs: LogManager,
        layers: BrokerConfigLayers,
        image: MetadataImage,
        on_moved: Callable[[Partition], None],
    ) -> None:
        self._node_id = node_id
        self._logs = logs
        self._layers = layers
        self._image = image
        self._on_moved = on_moved
        self._partitions: dict[tuple[str, int], Partition] = {}

    def get(self, topic: str, number: int) -> Partition:
        """Return a partition of this broker; raise :class:`ApiError` if it is none."""
        partition = self._partitions.get((topic, number))
        if partition is not None:
            return partition
        if self._image.partition(TopicPartition(topic, number)) is None:
            raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        raise ApiError(ErrorCode.KAFKA_STORAGE_ERROR, "The log of this partition is offline.")

    def of_topic(self, topic: str) -> list[Partition]:
        """Return the partitions of a topic, by number."""
        found = [each for (name, _), each in self._partitions.items() if name == topic]
        return sorted(found, key=lambda partition: partition.topic_partition.partition)

    def open(self, created: PartitionCreated) -> Partition | None:
        """Open the log of a partition and lead it; None where its disk fails."""
        name, image = created.topic_partition, created.partition
        if self._node_id not in image.replicas:
            return None
        try:
            opened = self._logs.get_or_create(name, self.log_config(name.topic), created.topic_id)
        except LogError:
            log.exception("%s is offline", name)
            return None
        partition = Partition(name, created.topic_id, self._node_id, opened)
        partition.become_leader(image.leader_epoch, image.replicas, image.isr)
        partition.add_listener(self._on_moved)
        self._partitions[name.topic, name.partition] = partition
        return partition

    def delete(self, topic: TopicImage) -> None:
        """Stop leading a topic that is gone, and delete its logs."""
        for number in topic.partitions:
            name = TopicPartition(topic.name, number)
            partition = self._partitions.pop((topic.name, number), None)
            if partition is not None:
                # Whoever waits for it is told, and finds that it is gone.
                partition.resign(-1, partition.leader_epoch)
            self._logs.delete(name)

    def log_config(self, topic: str) -> LogConfig:
        """Return the effective configuration of a topic."""
        return self._layers.log_config(
            parse_topic_configs(self._image.config(TOPIC_RESOURCE, topic))
        )

    def update_config(self, topic: str | None = None) -> None:
        """Let the logs of a topic, or of all, obey what is configured now."""
        for (name, _), partition in self._partitions.items():
            if topic in (None, name):
                partition.log.config = self.log_config(name)
