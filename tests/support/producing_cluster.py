"""Scripted brokers that store produced batches, and a producer in virtual time."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from pyk.clients import AsyncProducer
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from pyk.protocol.messages.produce import (
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from pyk.runtime.network import MemoryNetwork
from support.environments import client_options
from support.partition_log import PartitionLog
from support.scripted_broker import CLOSE, PORT, SILENCE, Answer, ScriptedCluster


class ProducingCluster(ScriptedCluster):
    """Appends batches to one log per partition, on any node that leads it at the moment."""

    def __init__(self, network: MemoryNetwork, nodes: int = 1) -> None:
        super().__init__(network, nodes)
        self.logs: dict[tuple[str, int], PartitionLog] = defaultdict(PartitionLog)
        self.names_leaders = False
        self._next_producer_id = 1000
        self.on(ProduceRequest, self.produce)
        self.on(InitProducerIdRequest, self._init_producer_id)

    def log(self, topic: str = "orders", partition: int = 0) -> PartitionLog:
        return self.logs[topic, partition]

    def values(self, topic: str = "orders") -> list[bytes]:
        """Return all values of a topic, partition by partition."""
        places = sorted(place for place in self.logs if place[0] == topic)
        return [value for place in places for value in self.logs[place].values]

    def move(self, partition: int, node_id: int, topic: str = "orders") -> None:
        """Let another node lead a partition."""
        self.topics[topic].leaders[partition] = node_id
        self.topics[topic].epochs[partition] += 1

    def produce(self, request: ProduceRequest) -> Any:
        """Append everything and say where."""
        return self.answer(request, self._append)

    def answer(self, request: ProduceRequest, judge: Callable[[tuple[str, int], Any], Any]) -> Any:
        """Answer with the result of ``judge(place, data)`` for each partition: (code, base
        offset)."""
        names = {topic.topic_id: name for name, topic in self.topics.items()}
        topics = []
        for topic in request.topic_data:
            name = topic.name or names.get(topic.topic_id, "")
            partitions = []
            for partition in topic.partition_data:
                place = (name, partition.index)
                code, base_offset = judge(place, partition.records)
                partitions.append(self._partition(place, code, base_offset))
            topics.append(
                TopicProduceResponse(
                    name=topic.name, topic_id=topic.topic_id, partition_responses=partitions
                )
            )
        if request.acks == 0:
            return SILENCE
        ends = [NodeEndpoint(node_id=n, host=host, port=PORT) for n, host in self.nodes.items()]
        return ProduceResponse(responses=topics, node_endpoints=ends if self.names_leaders else [])

    def _append(self, place: tuple[str, int], data: Any) -> tuple[ErrorCode, int]:
        topic = self.topics.get(place[0])
        if topic is None or topic.error_code:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1
        if topic.leaders[place[1]] != self.received[-1].node_id:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER, -1
        return self.logs[place].append(data)

    def _partition(
        self, place: tuple[str, int], code: ErrorCode, base_offset: int
    ) -> PartitionProduceResponse:
        response = PartitionProduceResponse(
            index=place[1], error_code=code, base_offset=base_offset
        )
        if self.names_leaders and code is ErrorCode.NOT_LEADER_OR_FOLLOWER:
            topic = self.topics[place[0]]
            response.current_leader = LeaderIdAndEpoch(
                leader_id=topic.leaders[place[1]], leader_epoch=topic.epochs[place[1]]
            )
        return response

    def _init_producer_id(self, request: InitProducerIdRequest) -> InitProducerIdResponse:
        self._next_producer_id += 1
        return InitProducerIdResponse(producer_id=self._next_producer_id)

    # -- answers for scripts -----------------------------------------------------------------------

    def append_and_close(self, request: ProduceRequest) -> Answer:
        """Append, then close the connection instead of answering."""
        self.produce(request)
        return CLOSE

    def append_and_keep_silent(self, request: ProduceRequest) -> Answer:
        self.produce(request)
        return SILENCE

    def append_and_answer(self, code: ErrorCode) -> Callable[[ProduceRequest], Any]:
        """Append, but answer with an error."""

        def answer(request: ProduceRequest) -> Any:
            self.produce(request)
            return self.answer(request, lambda place, data: (code, -1))

        return answer

    def later(
        self, seconds: float, answer: Callable[[ProduceRequest], Any]
    ) -> Callable[[ProduceRequest], Any]:
        """Carry out a request at once, and answer later."""

        async def answer_later(request: ProduceRequest) -> Any:
            response = answer(request)
            await asyncio.sleep(seconds)
            return response

        return answer_later

    def refuse(self, code: ErrorCode) -> Callable[[ProduceRequest], Any]:
        """Append nothing and answer with an error."""
        return lambda request: self.answer(request, lambda place, data: (code, -1))


@asynccontextmanager
async def producing(
    nodes: int = 1, *, partitions: int = 1, latency: float = 0.001, **options: Any
) -> AsyncIterator[tuple[ProducingCluster, AsyncProducer[Any, Any]]]:
    """Run brokers with the topic ``orders``, and a producer that has found them."""
    async with ProducingCluster(MemoryNetwork(latency=latency), nodes) as cluster:
        cluster.add_topic("orders", [1 + index % nodes for index in range(partitions)])
        async with make_producer(cluster, **options) as producer:
            yield cluster, producer


def make_producer(cluster: ProducingCluster, **options: Any) -> AsyncProducer[Any, Any]:
    return AsyncProducer(
        options.pop("bootstrap_servers", cluster.bootstrap),
        **client_options(cluster.network),
        **options,
    )
