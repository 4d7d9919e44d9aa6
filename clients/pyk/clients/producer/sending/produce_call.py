"""One produce request: its batches, its encoding, and the reading of its response. Pure."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from pyk.clients.producer.batching.batch import ProducerBatch
from pyk.clients.producer.sending.node_traffic import NodeTraffic
from pyk.clients.producer.sending.partition_queue import PartitionQueue
from pyk.clients.producer.sending.produce_template import ProduceTemplate, ProduceTerms
from pyk.protocol.api_keys import ApiKey
from pyk.protocol.connection import SelfCodedRequest
from pyk.protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)

_PRODUCE = int(ApiKey.PRODUCE)


class AllWritten:
    """Stands for a response in which every batch was written; each batch knows its offset."""

    __slots__ = ()

    throttle_time_ms = 0


ALL_WRITTEN = AllWritten()
_ALL_WRITTEN = ALL_WRITTEN


class ProduceCall(SelfCodedRequest):
    """At most one batch for each of several partitions that one node leads."""

    __slots__ = ("_terms", "batches", "node", "queues", "within")

    def __init__(self, node: NodeTraffic, terms: ProduceTerms) -> None:
        self._begin(node, terms)

    def _begin(self, node: NodeTraffic, terms: ProduceTerms) -> None:
        self.api_key = _PRODUCE
        self.is_answered = terms.acks != 0
        self.node = node
        self.queues: list[PartitionQueue] = []
        """Of each batch, that of its partition."""
        self.batches: list[ProducerBatch] = []
        self.within = terms.versions
        """The versions that can carry it."""
        self._terms = terms

    def add(self, queue: PartitionQueue, batch: ProducerBatch) -> None:
        """Take a batch of another partition."""
        self.queues.append(queue)
        self.batches.append(batch)
        batch.topic_id = queue.topic_id
        if queue.topic_id is None:
            self.within = self._terms.versions_with_names

    def encode_parts(self, version: int, out: bytearray) -> list[Any]:
        """Return the parts of the encoded request, and raise, as a message does."""
        if len(self.batches) > 1:
            return self._message().encode_parts(version, out)
        queue, batch = self.queues[0], self.batches[0]
        records, template = batch.data, queue.template
        assert records is not None, "a batch is sealed before it is sent"
        if template is None or not template.fits(version, batch):
            template = queue.template = ProduceTemplate(
                batch.topic,
                batch.topic_id,
                batch.partition,
                version,
                self._terms,
            )
        return template.fill(records, out)

    def read_response(self, frame: bytes | memoryview, version: int, start: int) -> Any:
        """Return ALL_WRITTEN if that is what a response says, else None: decode it."""
        if len(self.batches) > 1:
            return None
        batch, template = self.batches[0], self.queues[0].template
        if template is None or not template.fits(version, batch):
            return None  # the queue has sent other requests since
        return _ALL_WRITTEN if template.read_written(batch, frame, start) else None

    def answers(self, response: ProduceResponse) -> list[PartitionProduceResponse | None]:
        """Return the answer to each batch, None where the broker gave none.

        Answers for other partitions, and duplicate ones, are ignored.
        """
        found: dict[tuple[str | int, int], PartitionProduceResponse] = {}
        for topic in response.responses:
            name = topic.name or topic.topic_id.int  # UUID hashes itself with a Python function
            for partition in topic.partition_responses:
                place = name, partition.index
                if place not in found:
                    found[place] = partition
        answers = []
        for batch in self.batches:
            topic_id: UUID | None = batch.topic_id
            answer = None
            if topic_id is not None:
                answer = found.get((topic_id.int, batch.partition))
            if answer is None:
                answer = found.get(batch.topic_partition)
            answers.append(answer)
        return answers

    def _message(self) -> ProduceRequest:
        """Return the request; topics carry names and, where known, ids."""
        topics: dict[str, TopicProduceData] = {}
        for batch in self.batches:
            topic = topics.get(batch.topic)
            if topic is None:
                topic = topics[batch.topic] = _topic(batch.topic, batch.topic_id)
            topic.partition_data.append(
                PartitionProduceData(index=batch.partition, records=batch.data)
            )
        return ProduceRequest(
            transactional_id=self._terms.transactional_id,
            acks=self._terms.acks,
            timeout_ms=self._terms.timeout_ms,
            topic_data=list(topics.values()),
        )


def new_call(node: NodeTraffic, terms: ProduceTerms) -> ProduceCall:
    """Return an empty call; compiled, no arguments are parsed on the way."""
    call = ProduceCall.__new__(ProduceCall)
    call._begin(node, terms)
    return call


def _topic(name: str, topic_id: UUID | None) -> TopicProduceData:
    if topic_id is None:
        return TopicProduceData(name=name)
    return TopicProduceData(name=name, topic_id=topic_id)
