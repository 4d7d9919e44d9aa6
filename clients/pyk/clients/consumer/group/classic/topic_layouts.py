"""The layouts of the topics that the leader of a group divides. Pure.

The leader makes the group rebalance when a layout changes. So a layout leaves out what changes for
other reasons: a topic is there until it was unknown for some seconds, racks count only where a
member has one (as in Kafka, KIP-881), and a broker that is away keeps its rack.
"""

from __future__ import annotations

from pyk.clients.consumer.group.classic.subscription import TopicLayout
from pyk.clients.consumer.positions.topic_watch import MissingTopics
from pyk.clients.engine.metadata import MetadataImage, TopicMetadata


class TopicLayouts:
    """Remembers the metadata of the group's topics that matters to its leader."""

    def __init__(self) -> None:
        self.topics: frozenset[str] = frozenset()
        self._uses_racks = False
        self._racks: dict[int, str] = {}
        self._missing = MissingTopics()

    def watch(self, topics: frozenset[str], *, uses_racks: bool) -> None:
        """Watch exactly these topics from now on."""
        self.topics = topics
        self._uses_racks = uses_racks

    def observe(self, image: MetadataImage, now: float) -> dict[str, TopicLayout]:
        """Return the layouts of the topics that exist."""
        self._missing.observe(self.topics, image, now)
        self._racks |= {node.node_id: node.rack for node in image.nodes.values() if node.rack}
        found = map(image.topic, self.topics - self._missing.gone(now))
        return {topic.name: self._layout(topic) for topic in found if topic is not None}

    def _layout(self, topic: TopicMetadata) -> TopicLayout:
        if not self._uses_racks:
            return TopicLayout(topic.partition_count)
        racks = tuple(
            frozenset(self._racks[node] for node in partition.replicas if node in self._racks)
            for partition in topic.partitions
        )
        return TopicLayout(topic.partition_count, racks if any(racks) else ())
