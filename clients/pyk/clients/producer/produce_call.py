"""One produce request: the batches in it, and how its answer is read. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from uuid import UUID

from pyk.clients.producer.batch import ProducerBatch
from pyk.protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)

LAST_VERSION_WITH_NAMES = 12


class ProduceCall:
    """At most one batch for each of several partitions that one node leads."""

    def __init__(self, node_id: int, batches: Sequence[ProducerBatch]) -> None:
        self.node_id = node_id
        self.batches = {(batch.topic, batch.partition): batch for batch in batches}
        self._names: dict[UUID, str] = {}

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
    def max_version(self) -> int | None:
        """The highest version that can carry the request: from 13 on topics go by their ids."""
        topics = {topic for topic, _ in self.batches}
        return None if topics <= set(self._names.values()) else LAST_VERSION_WITH_NAMES

    def answers(
        self, response: ProduceResponse
    ) -> Iterator[tuple[ProducerBatch, PartitionProduceResponse | None]]:
        """Yield each batch with its answer, None where the broker gave none.

        Answers for what was not asked, and second ones, are passed over.
        """
        found: dict[tuple[str, int], PartitionProduceResponse] = {}
        for topic in response.responses:
            name = topic.name or self._names.get(topic.topic_id, "")
            for partition in topic.partition_responses:
                found.setdefault((name, partition.index), partition)
        for place, batch in self.batches.items():
            yield batch, found.get(place)

    def _topic(self, name: str, topic_id: UUID | None) -> TopicProduceData:
        if topic_id is None:
            return TopicProduceData(name=name)
        self._names[topic_id] = name
        return TopicProduceData(name=name, topic_id=topic_id)
