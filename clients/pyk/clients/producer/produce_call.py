"""One produce request: the batches in it, and how its answer is read. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from uuid import UUID

from pyk.clients.producer.batch import ProducerBatch
from pyk.protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from pyk.protocol.versions import ALL_VERSIONS, VersionRange

VERSIONS_WITH_NAMES = VersionRange(0, 12)


class ProduceCall:
    """At most one batch for each of several partitions that one node leads."""

    __slots__ = ("_lacks_topic_id", "_names", "batches", "node_id")

    def __init__(self, node_id: int, batches: Sequence[ProducerBatch]) -> None:
        self.node_id = node_id
        self.batches = {batch.place: batch for batch in batches}
        # By the number of the topic's id: UUID hashes itself with a Python function.
        self._names: dict[int, str] = {}
        self._lacks_topic_id = False

    def request(
        self, acks: int, timeout_ms: int, topic_id_of: Callable[[str], UUID | None]
    ) -> ProduceRequest:
        """Return the request; topics carry their names and, where it is known, their ids."""
        topics: dict[str, TopicProduceData] = {}
        for batch in self.batches.values():
            topic = topics.get(batch.topic)
            if topic is None:
                topic = topics[batch.topic] = self._topic(batch.topic, topic_id_of(batch.topic))
            topic.partition_data.append(
                PartitionProduceData(index=batch.partition, records=batch.data)
            )
        return ProduceRequest(acks=acks, timeout_ms=timeout_ms, topic_data=list(topics.values()))

    @property
    def versions(self) -> VersionRange:
        """The versions that can carry the request, once it was made: from 13 on topics go by their
        ids."""
        return VERSIONS_WITH_NAMES if self._lacks_topic_id else ALL_VERSIONS

    def answers(
        self, response: ProduceResponse
    ) -> list[tuple[ProducerBatch, PartitionProduceResponse | None]]:
        """Return each batch with its answer, None where the broker gave none.

        Answers for what was not asked, and second ones, are passed over.
        """
        found: dict[tuple[str, int], PartitionProduceResponse] = {}
        for topic in response.responses:
            name = topic.name or self._names.get(topic.topic_id.int, "")
            for partition in topic.partition_responses:
                found.setdefault((name, partition.index), partition)
        return [(batch, found.get(place)) for place, batch in self.batches.items()]

    def _topic(self, name: str, topic_id: UUID | None) -> TopicProduceData:
        if topic_id is None:
            self._lacks_topic_id = True
            return TopicProduceData(name=name)
        self._names[topic_id.int] = name
        return TopicProduceData(name=name, topic_id=topic_id)
