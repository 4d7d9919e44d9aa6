"""One produce request: the batches in it, how it is encoded, and how its answer is read. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from uuid import UUID

from pyk.clients.producer.batch import ProducerBatch
from pyk.clients.producer.partition_queue import PartitionQueue
from pyk.clients.producer.produce_template import ProduceTemplate
from pyk.protocol.api_keys import ApiKey
from pyk.protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from pyk.protocol.versions import ALL_VERSIONS, VersionRange

VERSIONS_WITH_NAMES = VersionRange(0, 12)
_PRODUCE = int(ApiKey.PRODUCE)
_EMPTY = memoryview(b"")


class ProduceCall:
    """At most one batch for each of several partitions that one node leads.

    :meth:`address` it before it is sent.
    """

    __slots__ = ("_topic_ids", "acks", "api_key", "batches", "node_id", "queues", "timeout_ms")

    def __init__(self, node_id: int) -> None:
        self.node_id = node_id
        self.api_key = _PRODUCE
        self.acks = -1
        self.timeout_ms = 0
        self.queues: list[PartitionQueue] = []
        """Of each batch, that of its partition."""
        self.batches: list[ProducerBatch] = []
        self._topic_ids: list[UUID | None] = []

    def add(self, queue: PartitionQueue, batch: ProducerBatch) -> None:
        """Take a batch of another partition."""
        self.queues.append(queue)
        self.batches.append(batch)
        self._topic_ids.append(None)

    def address(
        self, acks: int, timeout_ms: int, topic_id_of: Callable[[str], UUID | None]
    ) -> VersionRange:
        """Take what the request needs beside the batches, and return the versions that can carry
        it: from 13 on topics go by their ids.
        """
        self.acks = acks
        self.timeout_ms = timeout_ms
        self._topic_ids = [topic_id_of(batch.topic) for batch in self.batches]
        return VERSIONS_WITH_NAMES if None in self._topic_ids else ALL_VERSIONS

    def encode_parts(self, version: int, out: bytearray) -> list[Any]:
        """Return the parts of the request, as a message does; raise as that."""
        if len(self.batches) > 1:
            return self._message([batch.data for batch in self.batches]).encode_parts(version, out)
        queue, topic_id, records = self.queues[0], self._topic_ids[0], self.batches[0].data
        assert records is not None, "a batch is sealed before it is sent"
        template = queue.template
        if template is None or template.version != version or template.topic_id is not topic_id:
            template = ProduceTemplate(self._message([_EMPTY]), topic_id, version)
            queue.template = template
        return template.fill(records, out)

    def answers(self, response: ProduceResponse) -> list[PartitionProduceResponse | None]:
        """Return the answer to each batch, None where the broker gave none.

        Answers for what was not asked, and second ones, are passed over.
        """
        found: dict[tuple[str | int, int], PartitionProduceResponse] = {}
        for topic in response.responses:
            name = topic.name or topic.topic_id.int  # UUID hashes itself with a Python function
            for partition in topic.partition_responses:
                place = name, partition.index
                if place not in found:
                    found[place] = partition
        answers = []
        for position, batch in enumerate(self.batches):
            topic_id = self._topic_ids[position]
            answer = None
            if topic_id is not None:
                answer = found.get((topic_id.int, batch.partition))
            if answer is None:
                answer = found.get(batch.place)
            answers.append(answer)
        return answers

    def _message(self, records: Sequence[memoryview | None]) -> ProduceRequest:
        """Return the request with these records; topics carry names and, where known, ids."""
        topics: dict[str, TopicProduceData] = {}
        for position, batch in enumerate(self.batches):
            topic = topics.get(batch.topic)
            if topic is None:
                topic = topics[batch.topic] = _topic(batch.topic, self._topic_ids[position])
            topic.partition_data.append(
                PartitionProduceData(index=batch.partition, records=records[position])
            )
        return ProduceRequest(
            acks=self.acks, timeout_ms=self.timeout_ms, topic_data=list(topics.values())
        )


def _topic(name: str, topic_id: UUID | None) -> TopicProduceData:
    if topic_id is None:
        return TopicProduceData(name=name)
    return TopicProduceData(name=name, topic_id=topic_id)
