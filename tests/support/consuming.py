"""Consumers in virtual time, beside the reference broker or brokers that follow a script."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from pyk.clients import AsyncConsumer, AsyncProducer, TopicPartition
from pyk.protocol.errors import ErrorCode
from pyk.protocol.io import MemoryNetwork
from pyk.protocol.messages.fetch import (
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    LeaderIdAndEpoch,
    PartitionData,
)
from pyk.protocol.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from pyk.reference_broker import AsyncCluster
from support.batches import batch
from support.scripted_broker import PORT, ScriptedCluster
from support.virtual_time import current_clock

EARLIEST = -2
P0 = TopicPartition("orders", 0)


@asynccontextmanager
async def reference_cluster(
    *, latency: float = 0.001, **config: Any
) -> AsyncIterator[AsyncCluster]:
    """Run the reference broker in memory and in virtual time."""
    network = MemoryNetwork(latency=latency)
    names = {name.replace("_", "."): value for name, value in config.items()}
    async with AsyncCluster(network=network, clock=current_clock(), config=names) as cluster:
        yield cluster


def network_of(cluster: Any) -> MemoryNetwork:
    network = cluster.network if isinstance(cluster, ScriptedCluster) else cluster._seams.network
    assert isinstance(network, MemoryNetwork)
    return network


def make_consumer(cluster: Any, **options: Any) -> AsyncConsumer[bytes, bytes]:
    """Return a consumer of a cluster that is not started yet; it begins at the beginning."""
    options.setdefault("auto_offset_reset", "earliest")
    bootstrap = f"broker1:{PORT}" if isinstance(cluster, ScriptedCluster) else cluster.bootstrap
    return AsyncConsumer(
        bootstrap,
        clock=current_clock(),
        network=network_of(cluster),
        random=random.Random(1),
        **options,
    )


async def produce(cluster: AsyncCluster, topic: str, count: int, *, partitions: int = 1) -> None:
    """Write values 0, 1, 2 … to the partitions of a topic in turn."""
    producer: AsyncProducer[bytes, bytes] = AsyncProducer(
        cluster.bootstrap,
        clock=current_clock(),
        network=network_of(cluster),
        random=random.Random(1),
    )
    async with producer:
        for number in range(count):
            await producer.send(topic, b"%d" % number, partition=number % partitions)
        await producer.flush()


async def read(consumer: AsyncConsumer[Any, Any], count: int, *, timeout: float = 60) -> list[Any]:
    """Return the values of at least ``count`` records; fail if they do not come."""
    values: list[Any] = []
    deadline = current_clock().now() + timeout
    while len(values) < count:
        assert current_clock().now() < deadline, f"{len(values)} of {count} records came"
        values += [record.value for record in await consumer.poll(1.0)]
    return values


async def eventually_polled(
    consumer: AsyncConsumer[Any, Any], condition: Callable[[], bool], timeout: float = 60
) -> None:
    """Poll a consumer until a condition holds; fail if it does not come to."""
    deadline = current_clock().now() + timeout
    while not condition():
        assert current_clock().now() < deadline, "it did not come to pass"
        await consumer.poll(0.2)


class FetchingCluster(ScriptedCluster):
    """Brokers that serve fetches of what a test put into logs, as Kafka's do.

    Only the leader answers, or one of ``followers``. A response keeps to ``max_bytes`` and to
    ``partition_max_bytes`` of each partition, but for the first batch of all (KIP-74). ``edit`` may
    change the answer for a partition, or give another one.
    """

    def __init__(self, network: MemoryNetwork, nodes: int = 1) -> None:
        super().__init__(network, nodes)
        self.logs: dict[tuple[str, int], list[tuple[int, int, bytes]]] = defaultdict(list)
        self.stable_ends: dict[tuple[str, int], int] = {}
        """Where the first open transaction of a partition begins."""
        self.followers: set[int] = set()
        self.served_by: dict[tuple[str, int], int] = {}
        """The node that answered last for each partition."""
        self.names_leaders = False
        self.waits = True
        """Whether a fetch that finds nothing waits for records."""
        self.edit: Callable[[str, int, FetchPartition, PartitionData], PartitionData] | None = None
        self._sessions: dict[int, dict[tuple[str, int], FetchPartition]] = defaultdict(dict)
        self._news = asyncio.Event()
        self.on(FetchRequest, self._fetch_or_wait)
        self.on(ListOffsetsRequest, self.list_offsets)

    def append(self, values: list[bytes], topic: str = "orders", partition: int = 0) -> None:
        """Write a batch at the end of a partition."""
        base = self.end(topic, partition)
        data = batch(base, values, leader_epoch=self.topics[topic].epochs[partition])
        self.append_bytes(bytes(data), base, base + len(values), topic, partition)

    def append_bytes(
        self, data: bytes, base: int, end: int, topic: str = "orders", partition: int = 0
    ) -> None:
        """Write bytes that take the offsets from ``base`` to before ``end``."""
        self.logs[topic, partition].append((base, end, data))
        self._tell_news()

    def _tell_news(self) -> None:
        self._news.set()
        self._news.clear()

    def end(self, topic: str = "orders", partition: int = 0) -> int:
        log = self.logs[topic, partition]
        return log[-1][1] if log else 0

    def start_offset(self, topic: str = "orders", partition: int = 0) -> int:
        log = self.logs[topic, partition]
        return log[0][0] if log else 0

    def move(self, partition: int, node_id: int, topic: str = "orders") -> None:
        """Let another node lead a partition."""
        self.topics[topic].leaders[partition] = node_id
        self.topics[topic].epochs[partition] += 1
        self._tell_news()

    def _fetch_or_wait(self, request: FetchRequest) -> Awaitable[FetchResponse]:
        self.wanted(request)
        return self._wait_for_records(self.received[-1].node_id, request)

    async def _wait_for_records(self, node_id: int, request: FetchRequest) -> FetchResponse:
        waits_until = current_clock().now() + request.max_wait_ms / 1000
        while True:
            response = self._answer_of(node_id, request)
            left = waits_until - current_clock().now()
            if left <= 0 or not self.waits or _has_something(response):
                return response
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await self._news.wait()

    def fetch(self, request: FetchRequest) -> FetchResponse:
        """Answer at once with the batches from each offset on, all sessions complete."""
        self.wanted(request)
        return self._answer_of(self.received[-1].node_id, request)

    def wanted(self, request: FetchRequest) -> list[tuple[str, FetchPartition]]:
        """Return the partitions of the request just received, those of its session included."""
        names = {topic.topic_id: name for name, topic in self.topics.items()}
        told = [
            (topic.topic or names.get(topic.topic_id, f"{topic.topic_id}"), partition)
            for topic in request.topics
            for partition in topic.partitions
        ]
        session = self._sessions[self.received[-1].node_id]
        if request.session_epoch == 0:
            session.clear()
        for topic in request.forgotten_topics_data:
            for number in topic.partitions:
                session.pop((topic.topic or names[topic.topic_id], number), None)
        for name, partition in told:
            session[name, partition.partition] = partition
        return [(name, partition) for (name, _), partition in session.items()]

    def _answer_of(self, node_id: int, request: FetchRequest) -> FetchResponse:
        session = self._sessions[node_id]
        answers: dict[str, list[PartitionData]] = defaultdict(list)
        left, is_first = request.max_bytes, True
        for (name, number), asked in list(session.items()):
            limit = min(asked.partition_max_bytes, left)
            data = self.partition_data(node_id, name, asked, limit, is_first, request)
            self.served_by[name, number] = node_id
            if self.edit is not None:
                data = self.edit(name, number, asked, data)
            if data.records:
                is_first, left = False, max(0, left - len(data.records))
                session[name, number] = session.pop((name, number))  # its turn was now
            answers[name].append(data)
        return FetchResponse(
            session_id=node_id,
            responses=[
                FetchableTopicResponse(
                    topic=name, topic_id=self.topics[name].topic_id, partitions=partitions
                )
                for name, partitions in answers.items()
            ],
        )

    def partition_data(
        self,
        node_id: int,
        topic: str,
        asked: FetchPartition,
        max_bytes: int,
        is_first: bool,
        request: FetchRequest,
    ) -> PartitionData:
        number, offset = asked.partition, asked.fetch_offset
        end = self.end(topic, number)
        stable_end = self.stable_ends.get((topic, number), end)
        readable_end = stable_end if request.isolation_level else end
        refusal = self._refusal(node_id, topic, asked)
        if refusal is not None:
            return refusal
        records = b""
        for _, behind, data in self.logs[topic, number]:
            is_readable = offset < behind <= readable_end
            if is_readable and (
                len(records) + len(data) <= max_bytes or (is_first and not records)
            ):
                records += data
            elif is_readable:
                break
        return PartitionData(
            partition_index=number,
            high_watermark=end,
            last_stable_offset=stable_end,
            log_start_offset=self.start_offset(topic, number),
            records=records,
        )

    def _refusal(self, node_id: int, topic: str, asked: FetchPartition) -> PartitionData | None:
        """Return the error for a partition that the node does not serve at the offset asked for."""
        number, known = asked.partition, self.topics[topic]
        refusal = PartitionData(partition_index=number, high_watermark=-1)
        if node_id != known.leaders[number] and node_id not in self.followers:
            refusal.error_code = ErrorCode.NOT_LEADER_OR_FOLLOWER
            if self.names_leaders:
                refusal.current_leader = LeaderIdAndEpoch(
                    leader_id=known.leaders[number], leader_epoch=known.epochs[number]
                )
        elif 0 <= asked.current_leader_epoch < known.epochs[number]:
            refusal.error_code = ErrorCode.FENCED_LEADER_EPOCH
        elif not self.start_offset(topic, number) <= asked.fetch_offset <= self.end(topic, number):
            refusal.error_code = ErrorCode.OFFSET_OUT_OF_RANGE
        else:
            return None
        return refusal

    def list_offsets(self, request: ListOffsetsRequest) -> ListOffsetsResponse:
        """Answer with the first or the last offset, whichever is asked for."""
        return ListOffsetsResponse(
            topics=[
                ListOffsetsTopicResponse(
                    name=topic.name,
                    partitions=[
                        ListOffsetsPartitionResponse(
                            partition_index=one.partition_index,
                            offset=(
                                self.start_offset(topic.name, one.partition_index)
                                if one.timestamp == EARLIEST
                                else self.end(topic.name, one.partition_index)
                            ),
                        )
                        for one in topic.partitions
                    ],
                )
                for topic in request.topics
            ]
        )


def _has_something(response: FetchResponse) -> bool:
    return any(
        data.records or data.error_code or data.preferred_read_replica >= 0
        for topic in response.responses
        for data in topic.partitions
    )


@asynccontextmanager
async def fetching(
    *, nodes: int = 3, leaders: tuple[int, ...] = (1, 2, 3), **options: Any
) -> AsyncIterator[tuple[FetchingCluster, AsyncConsumer[bytes, bytes]]]:
    """Run scripted brokers with a topic ``orders``, and a consumer that reads all of it.

    ``leaders`` are the nodes that lead partition 0, 1 …
    """
    network = MemoryNetwork(latency=0.001)
    cluster = FetchingCluster(network, nodes)
    async with cluster:
        cluster.add_topic("orders", list(leaders))
        consumer = make_consumer(cluster, **options)
        async with consumer:
            consumer.assign([("orders", number) for number in range(len(leaders))])
            yield cluster, consumer


def fail_once(cluster: FetchingCluster, code: int, partition: int = 0, **fields: Any) -> None:
    """Answer the next fetch of a partition with an error."""
    plain = cluster.edit

    def edit(topic: str, number: int, asked: Any, data: PartitionData) -> PartitionData:
        if number != partition:
            return data
        cluster.edit = plain
        return PartitionData(partition_index=number, error_code=code, high_watermark=-1, **fields)

    cluster.edit = edit
