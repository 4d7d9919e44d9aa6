"""Brokers that answer as a test tells them: real frames and messages, no storage, no sockets.

A :class:`ScriptedCluster` lives on a :class:`~pyk.runtime.MemoryNetwork`, so it runs in virtual
time. It answers ApiVersions, Metadata and FindCoordinator from its own few fields; everything else,
and every deviation, is written by the test::

    cluster.on(HeartbeatRequest, lambda request: HeartbeatResponse(error_code=27))
    cluster.once(MetadataRequest, CLOSE, SILENCE, b"not a frame")
"""

from __future__ import annotations

import asyncio
import inspect
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable
from typing import Any, cast
from uuid import UUID, uuid5

import attrs

from pyk.protocol.api_keys import ApiKey
from pyk.protocol.connection import Request, RequestError, ServerConnection
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from pyk.protocol.messages.describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from pyk.protocol.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)
from pyk.protocol.messages.find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from pyk.protocol.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from pyk.protocol.schema import Message
from pyk.protocol.versions import VersionRange
from pyk.runtime.network import FrameTransport, Listener, MemoryNetwork

PORT = 9092
CLUSTER_ID = "scripted"
NAMESPACE = UUID(int=0x5C12)


class Deviation:
    """Something that a broker does instead of answering."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


SILENCE = Deviation("SILENCE")
CLOSE = Deviation("CLOSE")

# A message is sent as the response, bytes as they are, a function is asked with the request. What
# it returns may be awaitable: the connection then waits for it, as a broker does in a long poll.
Answer = Message | bytes | Deviation | Callable[[Any], Any]


@attrs.frozen
class Received:
    """A request that a broker received."""

    node_id: int
    at: float
    version: int
    message: Any
    connection: int
    """The number of the connection, in the order in which they were made."""


@attrs.define
class Topic:
    """The metadata of a topic."""

    topic_id: UUID
    leaders: list[int]
    epochs: list[int]
    error_code: int = 0


class ScriptedCluster:
    """Brokers ``broker1``, ``broker2`` …, all on port 9092 of one network."""

    def __init__(self, network: MemoryNetwork, nodes: int = 1) -> None:
        self.network = network
        self.nodes = {node_id: f"broker{node_id}" for node_id in range(1, nodes + 1)}
        self.controller_id = 1
        self.coordinator_id = 1
        self.topics: dict[str, Topic] = {}
        self.versions: dict[ApiKey, VersionRange] = {key: key.stable_versions for key in ApiKey}
        self.versions_of_node: dict[int, dict[ApiKey, VersionRange]] = {}
        """What a node offers otherwise than the others."""
        self.received: list[Received] = []
        self.connection_counts: dict[int, int] = defaultdict(int)
        self.open_connections: set[ServedConnection] = set()
        self._handlers: dict[int, Answer] = {
            ApiKey.API_VERSIONS: self._api_versions,
            ApiKey.METADATA: self.metadata,
            ApiKey.DESCRIBE_CLUSTER: self._describe_cluster,
            ApiKey.DESCRIBE_TOPIC_PARTITIONS: self._describe_topic_partitions,
            ApiKey.FIND_COORDINATOR: self._find_coordinator,
        }
        self._scripts: dict[int, deque[Answer]] = defaultdict(deque)
        self._listeners: dict[int, Listener] = {}
        self._waiting: dict[asyncio.Task[None], None] = {}

    async def __aenter__(self) -> ScriptedCluster:
        for node_id in self.nodes:
            await self.start(node_id)
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._waiting:
            task.cancel()
        for listener in self._listeners.values():
            await listener.close()

    @property
    def bootstrap(self) -> str:
        return ",".join(f"{host}:{PORT}" for host in self.nodes.values())

    # -- scripting ---------------------------------------------------------------------------------

    def add_topic(self, name: str, leaders: list[int], *, epoch: int = 0) -> Topic:
        """Have a topic whose partitions are led by these nodes."""
        topic = Topic(uuid5(NAMESPACE, name), list(leaders), [epoch] * len(leaders))
        self.topics[name] = topic
        return topic

    def on(self, request_class: type[Message], answer: Answer) -> None:
        """Answer every request of a kind like this from now on."""
        self._handlers[request_class.api_key] = answer

    def once(self, request_class: type[Message], *answers: Answer) -> None:
        """Answer the next requests of a kind like this, one each, then as before."""
        self._scripts[request_class.api_key].extend(answers)

    def forget_scripts(self) -> None:
        """Drop the answers of :meth:`once` that no request has taken yet."""
        self._scripts.clear()

    def requests(self, request_class: type[Message]) -> list[Received]:
        """Return the requests of a kind that were received, oldest first."""
        return [one for one in self.received if isinstance(one.message, request_class)]

    async def start(self, node_id: int) -> None:
        """Let a node accept connections."""
        self._listeners[node_id] = await self.network.listen(
            lambda _: ServedConnection(self, node_id).transport, self.nodes[node_id], PORT
        )

    async def kill(self, node_id: int) -> None:
        """Let a node die: its connections are reset and new ones refused."""
        await self._listeners[node_id].close()
        self.network.reset(self.nodes[node_id])

    def deny(self, *topics: str) -> None:
        """Refuse to describe these topics, and only these, from now on."""

        def metadata(request: MetadataRequest) -> MetadataResponse:
            answer = self.metadata(request)
            for topic in answer.topics:
                if topic.name in topics:
                    topic.error_code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
                    topic.partitions = []
            return answer

        self.on(MetadataRequest, metadata)

    # -- answering ---------------------------------------------------------------------------------

    def spawn(self, waiting: Awaitable[None]) -> None:
        """Run the tasks of a connection until the cluster ends."""
        task = asyncio.ensure_future(waiting)
        self._waiting[task] = None
        task.add_done_callback(self._waiting.pop)

    def answer_to(self, request: Request) -> Any:
        """Return the scripted response to a request."""
        script = self._scripts[request.api_key]
        answer = script.popleft() if script else self._handlers.get(request.api_key)
        if answer is None:
            raise AssertionError(f"no answer was written for {request.body!r}")
        return answer(request.body) if callable(answer) else answer

    def metadata(self, request: MetadataRequest) -> MetadataResponse:
        """Answer with all nodes and the topics asked for."""
        names = self.topics if request.topics is None else [topic.name for topic in request.topics]
        return MetadataResponse(
            cluster_id=CLUSTER_ID,
            controller_id=self.controller_id,
            brokers=[
                MetadataResponseBroker(node_id=node_id, host=host, port=PORT)
                for node_id, host in self.nodes.items()
            ],
            topics=[self._topic(name) for name in names if name is not None],
        )

    def _describe_cluster(self, request: DescribeClusterRequest) -> DescribeClusterResponse:
        return DescribeClusterResponse(
            cluster_id="scripted",
            controller_id=self.controller_id,
            brokers=[
                DescribeClusterBroker(broker_id=node_id, host=host, port=PORT)
                for node_id, host in self.nodes.items()
            ],
        )

    def _describe_topic_partitions(
        self, request: DescribeTopicPartitionsRequest
    ) -> DescribeTopicPartitionsResponse:
        """Describe the topics in one page each."""
        names = [one.name for one in request.topics]
        start = 0 if request.cursor is None else names.index(request.cursor.topic_name)
        topic = self._topic(names[start])
        partitions = [
            DescribeTopicPartitionsResponsePartition(
                partition_index=one.partition_index,
                leader_id=one.leader_id,
                leader_epoch=one.leader_epoch,
                replica_nodes=one.replica_nodes,
                isr_nodes=one.isr_nodes,
            )
            for one in topic.partitions
        ]
        page = DescribeTopicPartitionsResponseTopic(
            name=topic.name,
            topic_id=topic.topic_id,
            error_code=topic.error_code,
            partitions=partitions,
        )
        rest = names[start + 1 :]
        cursor = Cursor(topic_name=rest[0], partition_index=0) if rest else None
        return DescribeTopicPartitionsResponse(topics=[page], next_cursor=cursor)

    def _topic(self, name: str) -> MetadataResponseTopic:
        topic = self.topics.get(name)
        if topic is None:
            missing = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            return MetadataResponseTopic(name=name, error_code=missing)
        partitions = [
            MetadataResponsePartition(
                partition_index=index,
                leader_id=leader,
                leader_epoch=topic.epochs[index],
                replica_nodes=[leader],
                isr_nodes=[leader],
            )
            for index, leader in enumerate(topic.leaders)
        ]
        return MetadataResponseTopic(
            name=name,
            topic_id=topic.topic_id,
            partitions=[] if topic.error_code else partitions,
            error_code=topic.error_code,
        )

    def _api_versions(self, request: ApiVersionsRequest) -> ApiVersionsResponse:
        return ApiVersionsResponse(api_keys=self.offered(self.received[-1].node_id))

    def offered(self, node_id: int) -> list[ApiVersion]:
        """Return the versions that an ApiVersions response of a node lists."""
        return [
            ApiVersion(api_key=key, min_version=offered.lowest, max_version=offered.highest)
            for key, offered in self.versions_at(node_id).items()
        ]

    def versions_at(self, node_id: int) -> dict[ApiKey, VersionRange]:
        """Return the versions of all requests that a node takes."""
        own = self.versions_of_node.get(node_id)
        return {**self.versions, **own} if own else self.versions

    def _find_coordinator(self, request: FindCoordinatorRequest) -> FindCoordinatorResponse:
        host = self.nodes[self.coordinator_id]
        return FindCoordinatorResponse(
            node_id=0 if request.coordinator_keys else self.coordinator_id,
            host="" if request.coordinator_keys else host,
            port=0 if request.coordinator_keys else PORT,
            coordinators=[
                Coordinator(key=key, node_id=self.coordinator_id, host=host, port=PORT)
                for key in request.coordinator_keys
            ],
        )


class ServedConnection:
    """One connection to a scripted broker."""

    def __init__(self, cluster: ScriptedCluster, node_id: int) -> None:
        self.transport = FrameTransport(self, max_frame_bytes=100 * 1024 * 1024)
        self._cluster = cluster
        self._node_id = node_id
        self._protocol = ServerConnection(cluster.versions_at(node_id))
        self._frames: deque[bytes] = deque()
        self._is_waiting = False
        self._number = sum(cluster.connection_counts.values())
        cluster.connection_counts[node_id] += 1
        cluster.open_connections.add(self)

    def frame_received(self, frame: memoryview) -> None:
        self._frames.append(bytes(frame))
        self._take_frames()

    def _take_frames(self) -> None:
        while self._frames and not self._is_waiting:
            self._take(memoryview(self._frames.popleft()))

    def _take(self, frame: memoryview) -> None:
        try:
            request = self._protocol.receive(frame)
        except RequestError as error:
            refusal = ApiVersionsResponse(
                error_code=ErrorCode.UNSUPPORTED_VERSION,
                api_keys=self._cluster.offered(self._node_id),
            )
            self.transport.write(self._protocol.respond(cast(Request, error.request), refusal))
            return
        now = asyncio.get_running_loop().time()
        received = Received(self._node_id, now, request.version, request.body, self._number)
        self._cluster.received.append(received)
        answer = self._cluster.answer_to(request)
        if inspect.isawaitable(answer):
            self._is_waiting = True
            self._cluster.spawn(self._answer_later(request, answer))
        else:
            self._answer(request, answer)

    async def _answer_later(self, request: Request, awaited: Awaitable[Any]) -> None:
        answer = await awaited
        self._is_waiting = False
        if self in self._cluster.open_connections:
            self._answer(request, answer)
            self._take_frames()

    def connection_lost(self, error: Exception | None) -> None:
        self._cluster.open_connections.discard(self)

    def _answer(self, request: Request, answer: Any) -> None:
        if answer is CLOSE:
            self.transport.close()
        elif isinstance(answer, bytes):
            self.transport.write([answer])
        elif answer is not SILENCE:
            self.transport.write(self._protocol.respond(request, answer))
