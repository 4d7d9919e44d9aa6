"""The metadata that a client knows of its cluster: nodes, topics, leaders. Pure.

An image never changes; each answer of a broker makes a new one from the last, or from nothing if it
is of another cluster. Three rules keep an answer that is older than what is known from doing harm:

1. A partition goes back to no older leader epoch. Brokers answer from caches that lag, and from the
   moment a leader has moved, the answers of two brokers contradict each other. Except from a leader
   that the answer does not have among the nodes: it came with an error, and cannot be reached.
2. A topic that is said not to exist keeps its partitions, beside the error. For a moment after a
   broker starts it knows nothing of a topic; a producer that forgot its partitions for this would
   start their sequence numbers again, and the broker would take new records for duplicates. An
   answer about all topics that leaves one out says that it does not exist.
3. Another topic id means that the topic was deleted and created again, so what is known of it is
   void. That takes a second answer in a row; for an id that the topic had before, which is most
   likely that of a broker that lags, five seconds in which no answer says otherwise.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType
from typing import Self
from uuid import UUID

from pyk.clients.config.values import HOST_MAX_LENGTH, PORTS
from pyk.clients.errors import LeaderNotAvailableError
from pyk.clients.errors.advice import LEADERLESS
from pyk.clients.topic_partition import TopicPartition
from pyk.protocol.errors import ErrorCode, MalformedMessageError
from pyk.protocol.fields import ZERO_UUID
from pyk.protocol.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from pyk.protocol.topics import MAX_TOPIC_NAME_LENGTH
from pyk.runtime import slotted

MAX_NODES = 10_000
# How long all answers must name an id that a topic had before until it is believed.
FORMER_ID_SECONDS = 5.0
REMEMBERED_FORMER_IDS = 8


@slotted.frozen
class Node:
    """A broker and where clients reach it."""

    node_id: int
    host: str
    port: int
    rack: str | None = None

    @property
    def address(self) -> str:
        """Return ``host:port``, with brackets around an IPv6 address."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    def __str__(self) -> str:
        return self.address if self.node_id < 0 else f"node {self.node_id} ({self.address})"


@slotted.frozen
class PartitionMetadata:
    """The leader and the replicas of a partition."""

    partition: int
    leader_id: int | None
    """None while the partition has no leader."""
    leader_epoch: int | None
    """None if the broker does not say."""
    replicas: tuple[int, ...] = ()
    in_sync_replicas: tuple[int, ...] = ()
    offline_replicas: tuple[int, ...] = ()
    error_code: int = 0


@slotted.frozen
class ClaimedId:
    """A topic id that a response named and that is not believed yet."""

    topic_id: UUID
    since: float
    """When the first of the consecutive responses that name it came."""


@slotted.frozen
class TopicMetadata:
    """A topic and its partitions; ``partitions[n]`` is partition n."""

    name: str
    topic_id: UUID | None
    """None if the broker is too old for topic ids."""
    partitions: tuple[PartitionMetadata, ...] = ()
    is_internal: bool = False
    error_code: int = 0
    """The error code of the last response; if it is not 0, the partitions are older."""
    former_ids: tuple[UUID, ...] = ()
    """The ids of topics of this name that were deleted."""
    claimed_id: ClaimedId | None = None
    """Another id that the last responses named, until it is believed."""

    @property
    def partition_count(self) -> int:
        return len(self.partitions)

    @property
    def is_missing(self) -> bool:
        """Whether the last response said that the topic does not exist."""
        return self.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@slotted.frozen
class MetadataUpdate:
    """The content of one response of a broker, after its validation."""

    cluster_id: str | None
    controller_id: int | None
    nodes: Mapping[int, Node]
    topics: tuple[TopicMetadata, ...]
    names_all_topics: bool = False
    """Whether a topic that is missing here does not exist."""

    @classmethod
    def of(cls, response: MetadataResponse, *, names_all_topics: bool = False) -> Self:
        """Return the content of a response; raise :class:`MalformedMessageError` if it is
        invalid."""
        nodes = _nodes(response.brokers)
        # A topic without a name was requested by an id that no topic has.
        topics = tuple(_topic(topic, nodes) for topic in response.topics if topic.name is not None)
        controller_id = response.controller_id if response.controller_id in nodes else None
        return cls(response.cluster_id, controller_id, nodes, topics, names_all_topics)


@slotted.frozen(eq=False)
class MetadataImage:
    """The cluster as of one moment."""

    version: int = 0
    """Grows with each image."""
    received_at: float = 0.0
    cluster_id: str | None = None
    controller_id: int | None = None
    nodes: Mapping[int, Node] = MappingProxyType({})
    topics: Mapping[str, TopicMetadata] = MappingProxyType({})
    names: Mapping[UUID, str] = MappingProxyType({})
    """The name of each topic id."""

    def topic(self, name: str) -> TopicMetadata | None:
        """Return what is known of a topic, None if nothing is."""
        return self.topics.get(name)

    def topic_by_id(self, topic_id: UUID) -> TopicMetadata | None:
        """Return the topic of an id."""
        name = self.names.get(topic_id)
        return None if name is None else self.topics.get(name)

    def awaits(self, topics: Iterable[str]) -> bool:
        """Return whether one of these topics does not exist, but may be created."""
        known = map(self.topics.get, topics)
        return any(
            topic is None or (topic.error_code and ErrorCode(topic.error_code).retriable)
            for topic in known
        )

    @property
    def has_claimed_ids(self) -> bool:
        """Whether another response has to confirm the id of a topic."""
        return any(topic.claimed_id is not None for topic in self.topics.values())

    def topic_id(self, name: str) -> UUID | None:
        """Return the id of a topic, None if it is not known."""
        topic = self.topics.get(name)
        return None if topic is None else topic.topic_id

    def partition(self, topic_partition: TopicPartition) -> PartitionMetadata | None:
        """Return what is known of a partition, None if nothing is."""
        topic = self.topics.get(topic_partition.topic)
        if topic is None or not 0 <= topic_partition.partition < len(topic.partitions):
            return None
        return topic.partitions[topic_partition.partition]

    def leader(self, topic_partition: TopicPartition) -> int | None:
        """Return the node id of a partition's leader, None if no leader is known."""
        topic = self.topics.get(topic_partition[0])  # as partition(): each request asks
        number = topic_partition[1]
        if topic is None or not 0 <= number < len(topic.partitions):
            return None
        return topic.partitions[number].leader_id

    def leader_epoch(self, topic_partition: TopicPartition) -> int | None:
        """Return the epoch of a partition's leader, None if it is not known."""
        partition = self.partition(topic_partition)
        return None if partition is None else partition.leader_epoch

    def updated(
        self, answer: MetadataUpdate, tracked: Collection[str], now: float
    ) -> MetadataImage:
        """Return the image after a response.

        ``tracked`` are the topics in use; others are forgotten unless the response names them.
        """
        if self.is_of_another_cluster(answer):
            return MetadataImage(self.version).updated(answer, tracked, now)
        untracked = self.topics.keys() - tracked
        # Copied whole and then changed: an answer may be of one topic among thousands.
        topics = dict(self.topics)
        for name in untracked:
            del topics[name]
        if answer.names_all_topics:
            topics = {name: _missing(topic) for name, topic in topics.items()}
        for topic in answer.topics:
            topics[topic.name] = _newer(self.topics.get(topic.name), topic, answer.nodes, now)
        return slotted.evolve(
            self,
            version=self.version + 1,
            received_at=now,
            cluster_id=answer.cluster_id,
            controller_id=answer.controller_id,
            nodes=answer.nodes,
            topics=topics,
            names=self._names_after(topics, untracked.union(topic.name for topic in answer.topics)),
        )

    def is_of_another_cluster(self, answer: MetadataUpdate) -> bool:
        """Return whether a response comes from another cluster than those before."""
        return None not in (self.cluster_id, answer.cluster_id) and (
            self.cluster_id != answer.cluster_id
        )

    def _names_after(
        self, topics: Mapping[str, TopicMetadata], changed: Collection[str]
    ) -> dict[UUID, str]:
        """Return the name of each topic id, after some topics have changed."""
        names = dict(self.names)
        for topic_id in map(self.topic_id, changed):
            if topic_id is not None:
                names.pop(topic_id, None)
        for name in changed:
            topic = topics.get(name)
            if topic is not None and topic.topic_id is not None:
                names[topic.topic_id] = name
        return names

    def with_leaders(
        self, leaders: Mapping[TopicPartition, tuple[int, int]], nodes: Iterable[Node] = ()
    ) -> MetadataImage:
        """Return the image after the leaders that came with an error; this image if nothing is new.

        ``leaders`` are ``(leader id, leader epoch)`` by partition, ``nodes`` where those are
        (KIP-951). Raises :class:`MalformedMessageError` for an invalid address.
        """
        all_nodes = {**self.nodes, **{node.node_id: checked_node(node) for node in nodes}}
        topics = dict(self.topics)
        for topic_partition, (leader_id, leader_epoch) in leaders.items():
            known = self.partition(topic_partition)
            if known is None or leader_id not in all_nodes:
                continue
            if known.leader_epoch is not None and leader_epoch <= known.leader_epoch:
                continue
            topic = topics[topic_partition.topic]
            partitions = list(topic.partitions)
            partitions[known.partition] = slotted.evolve(
                known, leader_id=leader_id, leader_epoch=leader_epoch, error_code=0
            )
            topics[topic.name] = slotted.evolve(topic, partitions=tuple(partitions))
        if topics == self.topics and all_nodes == self.nodes:
            return self
        return slotted.evolve(self, version=self.version + 1, nodes=all_nodes, topics=topics)

    def differs_from(self, other: MetadataImage) -> bool:
        """Return whether two images differ."""
        return (
            self.nodes != other.nodes
            or self.topics != other.topics
            or self.controller_id != other.controller_id
        )


def _nodes(brokers: list[MetadataResponseBroker]) -> dict[int, Node]:
    if len(brokers) > MAX_NODES:
        raise MalformedMessageError(
            f"metadata names {len(brokers)} brokers; a cluster has {MAX_NODES} at most"
        )
    nodes: dict[int, Node] = {}
    for broker in brokers:
        node = Node(broker.node_id, broker.host, broker.port, broker.rack)
        if node.node_id in nodes or node.node_id < 0:
            raise MalformedMessageError(f"metadata names broker {node.node_id} twice or below 0")
        nodes[node.node_id] = checked_node(node)
    return nodes


def checked_node(node: Node) -> Node:
    """Return a node with a valid address, which is safe to look up and to log.

    Raises MalformedMessageError.
    """
    for what, text in (("host", node.host), ("rack", node.rack or "")):
        if len(text) > HOST_MAX_LENGTH or not text.isprintable():
            raise MalformedMessageError(
                f"broker {node.node_id} has the {what} {text[:64]!r}, which is invalid"
            )
    if not node.host or node.port not in PORTS:
        raise MalformedMessageError(
            f"broker {node.node_id} is at {node.host!r}, port {node.port}, which is not an address"
        )
    return node


def _topic(answered: MetadataResponseTopic, nodes: Mapping[int, Node]) -> TopicMetadata:
    name = answered.name or ""
    if len(name) > MAX_TOPIC_NAME_LENGTH or not name.isprintable():
        raise MalformedMessageError(f"metadata names a topic {name[:64]!r}, which is invalid")
    found = sorted(answered.partitions, key=lambda partition: partition.partition_index)
    if [partition.partition_index for partition in found] != list(range(len(found))):
        raise MalformedMessageError(
            f"metadata of topic {name!r} do not number its partitions from 0 to {len(found) - 1}"
        )
    return TopicMetadata(
        name=name,
        topic_id=answered.topic_id if answered.topic_id != ZERO_UUID else None,
        partitions=tuple(_partition(partition, nodes) for partition in found),
        is_internal=answered.is_internal,
        error_code=answered.error_code,
    )


def _partition(answered: MetadataResponsePartition, nodes: Mapping[int, Node]) -> PartitionMetadata:
    has_leader = answered.leader_id in nodes
    return PartitionMetadata(
        partition=answered.partition_index,
        leader_id=answered.leader_id if has_leader else None,
        leader_epoch=answered.leader_epoch if answered.leader_epoch >= 0 else None,
        replicas=tuple(answered.replica_nodes),
        in_sync_replicas=tuple(answered.isr_nodes),
        offline_replicas=tuple(answered.offline_replicas),
        error_code=answered.error_code,
    )


def _missing(known: TopicMetadata) -> TopicMetadata:
    return slotted.evolve(known, error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)


def _newer(
    known: TopicMetadata | None, answered: TopicMetadata, nodes: Collection[int], now: float
) -> TopicMetadata:
    """Return what is known of a topic after a response; ``nodes`` are those of the response.

    1. Nothing was known: the answer is all that is known.
    2. The answer is an error: what was known stays beside it.
    3. It has another id: that has to be confirmed.
    4. Otherwise it may be older in some partitions.
    """
    if known is None:
        return answered
    if answered.error_code != ErrorCode.NONE and not answered.partitions:
        return slotted.evolve(known, error_code=answered.error_code)
    # A broker too old for topic ids may belong to a cluster whose other brokers know them.
    topic_id = answered.topic_id or known.topic_id
    if known.topic_id not in (None, topic_id):
        return _with_claimed_id(known, slotted.evolve(answered, topic_id=topic_id), now)
    partitions = [
        known.partitions[new.partition]
        if new.partition < len(known.partitions)
        and _is_stale(known.partitions[new.partition], new, nodes)
        else new
        for new in answered.partitions
    ]
    return slotted.evolve(
        answered,
        topic_id=topic_id,
        partitions=tuple(partitions),
        former_ids=known.former_ids,
    )


def _with_claimed_id(known: TopicMetadata, answered: TopicMetadata, now: float) -> TopicMetadata:
    """Return the topic with another id once that is believed, and what was known until then."""
    assert known.topic_id is not None
    assert answered.topic_id is not None
    claimed = known.claimed_id
    if claimed is None or claimed.topic_id != answered.topic_id:
        return slotted.evolve(known, claimed_id=ClaimedId(answered.topic_id, now))
    if answered.topic_id in known.former_ids and now - claimed.since < FORMER_ID_SECONDS:
        return known
    former_ids = (*known.former_ids, known.topic_id)[-REMEMBERED_FORMER_IDS:]
    return slotted.evolve(answered, former_ids=former_ids)


def _is_stale(
    known: PartitionMetadata, answered: PartitionMetadata, nodes: Collection[int]
) -> bool:
    return (
        known.leader_epoch is not None
        and answered.leader_epoch is not None
        and answered.leader_epoch < known.leader_epoch
        # A leader that is not a node of the cluster can never be reached, whatever its epoch.
        and (known.leader_id is None or known.leader_id in nodes)
    )


def leaderless(partition: TopicPartition) -> LeaderNotAvailableError:
    """Return the error of a partition without a leader to ask."""
    return LeaderNotAvailableError(
        f"{partition} {LEADERLESS}",
        topic=partition.topic,
        partition=partition.partition,
    )
