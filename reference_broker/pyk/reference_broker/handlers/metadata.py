"""Metadata, DescribeCluster, DescribeTopicPartitions: the cluster as the metadata image has it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from typing import Protocol

from pyk.protocol.errors import ErrorCode
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
from pyk.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from pyk.protocol.schema import ZERO_UUID
from pyk.reference_broker.broker_configs import BrokerConfigs
from pyk.reference_broker.controller.image import (
    BrokerImage,
    MetadataImage,
    PartitionImage,
    TopicImage,
)
from pyk.reference_broker.controller.names import check_topic_name
from pyk.reference_broker.errors import ApiError
from pyk.reference_broker.topic_creation import TopicCreator

from .context import NO_OPERATIONS, RequestContext

# Bits of ACL operations: without an authorizer every client may do everything.
TOPIC_OPERATIONS = 0b1101_1111_1000
CLUSTER_OPERATIONS = 0b1_1111_1010_0000
FIRST_VERSION_WITH_LISTENER_NOT_FOUND = 6
FIRST_VERSION_WITH_TOPIC_IDS = 12
NO_LEADER = -1
BROKERS, CONTROLLERS = 1, 2
NO_CONTROLLER = -1


class MetadataServices(Protocol):
    """The services that requests about the cluster use."""

    @property
    def node_id(self) -> int: ...
    @property
    def cluster_id(self) -> str: ...
    @property
    def image(self) -> MetadataImage: ...
    @property
    def configs(self) -> BrokerConfigs: ...
    @property
    def internal_topics(self) -> AbstractSet[str]: ...
    @property
    def topics(self) -> TopicCreator: ...


def metadata(
    services: MetadataServices, request: MetadataRequest, context: RequestContext
) -> MetadataResponse:
    """Describe topics, and create those that do not exist if the request allows it."""
    image = services.image
    wants_all = request.topics is None or (context.version == 0 and not request.topics)
    topics = (
        [_topic(services, topic, context) for topic in image.topics.values()]
        if wants_all
        else list(_named_topics(services, request, context))
    )
    if request.include_topic_authorized_operations:
        for topic in topics:
            topic.topic_authorized_operations = TOPIC_OPERATIONS
    wants_operations = request.include_cluster_authorized_operations
    return MetadataResponse(
        brokers=[
            MetadataResponseBroker(node_id=node_id, host=host, port=port, rack=broker.rack)
            for node_id, broker in image.brokers.items()
            if not broker.is_fenced
            for host, port in _addresses(broker, context)
        ],
        cluster_id=services.cluster_id,
        controller_id=_controller_id(services),
        topics=topics,
        cluster_authorized_operations=CLUSTER_OPERATIONS if wants_operations else NO_OPERATIONS,
    )


def _named_topics(
    services: MetadataServices, request: MetadataRequest, context: RequestContext
) -> Iterator[MetadataResponseTopic]:
    image = services.image
    missing: list[str] = []
    for wanted in {(each.topic_id, each.name): each for each in request.topics or ()}.values():
        if wanted.topic_id.int:
            yield _topic_by_id(services, wanted, context)
        elif wanted.name is None:
            yield MetadataResponseTopic(error_code=ErrorCode.INVALID_REQUEST, name="")
        elif wanted.name in image.topics:
            yield _topic(services, image.topics[wanted.name], context)
        else:
            missing.append(wanted.name)
    may_create = (
        request.allow_auto_topic_creation and services.configs.broker.auto_create_topics_enable
    )
    yield from _create_missing(services, missing, may_create=may_create)


def _topic_by_id(
    services: MetadataServices, wanted: MetadataRequestTopic, context: RequestContext
) -> MetadataResponseTopic:
    if context.version < FIRST_VERSION_WITH_TOPIC_IDS:
        return MetadataResponseTopic(
            error_code=ErrorCode.INVALID_REQUEST, name=wanted.name or "", topic_id=wanted.topic_id
        )
    topic = services.image.topics_by_id.get(wanted.topic_id)
    if topic is not None:
        return _topic(services, topic, context)
    return MetadataResponseTopic(
        error_code=ErrorCode.UNKNOWN_TOPIC_ID, name=None, topic_id=wanted.topic_id
    )


def _create_missing(
    services: MetadataServices, names: Iterable[str], *, may_create: bool
) -> Iterator[MetadataResponseTopic]:
    """Create topics, but answer like Kafka that they are unknown: their leaders come later."""
    for name in names:
        code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        try:
            check_topic_name(name)
            if may_create:
                services.topics.auto_create(name)
        except ApiError as error:
            code = error.code
        yield MetadataResponseTopic(
            error_code=code,
            name=name,
            topic_id=ZERO_UUID,
            is_internal=name in services.internal_topics,
        )


def _addresses(broker: BrokerImage, context: RequestContext) -> list[tuple[str, int]]:
    """Return the address of a broker for this client: one, or none."""
    address = context.address_of(broker)
    return [] if address is None else [address]


def _topic(
    services: MetadataServices, topic: TopicImage, context: RequestContext
) -> MetadataResponseTopic:
    unavailable = (
        ErrorCode.LISTENER_NOT_FOUND
        if context.version >= FIRST_VERSION_WITH_LISTENER_NOT_FOUND
        else ErrorCode.LEADER_NOT_AVAILABLE
    )
    described = MetadataResponseTopic(
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=topic.name in services.internal_topics,
    )
    for number, partition in topic.partitions.items():
        leader, code = _leader(services, partition, context, unavailable)
        described.partitions.append(
            MetadataResponsePartition(
                error_code=code,
                partition_index=number,
                leader_id=leader,
                leader_epoch=partition.leader_epoch,
                replica_nodes=list(partition.replicas),
                isr_nodes=list(partition.isr),
                offline_replicas=_offline_replicas(services, partition),
            )
        )
    return described


def _offline_replicas(services: MetadataServices, partition: PartitionImage) -> list[int]:
    """Return the replicas whose log directories have failed (KIP-112)."""
    brokers = services.image.brokers
    return [
        node_id
        for node_id in partition.replicas
        if partition.is_on_failed_directory(node_id, brokers)
    ]


def _leader(
    services: MetadataServices,
    partition: PartitionImage,
    context: RequestContext,
    unavailable: ErrorCode = ErrorCode.LISTENER_NOT_FOUND,
) -> tuple[int, ErrorCode]:
    """Return the leader as this client may know it, and the error if it cannot reach one.

    ``unavailable`` stands for a leader that does not advertise the listener of the client.
    """
    if partition.leader < 0:
        return partition.leader, ErrorCode.LEADER_NOT_AVAILABLE
    broker = services.image.brokers.get(partition.leader)
    if broker is not None and context.listener not in broker.endpoints:
        return NO_LEADER, unavailable
    return partition.leader, ErrorCode.NONE


def _controller_id(services: MetadataServices) -> int:
    """Return whom clients should send requests of administrators to, -1 if there is nobody."""
    return services.node_id if services.node_id in services.image.brokers else NO_CONTROLLER


def describe_cluster(
    services: MetadataServices, request: DescribeClusterRequest, context: RequestContext
) -> DescribeClusterResponse:
    """Describe the brokers of the cluster."""
    if request.endpoint_type not in (BROKERS, CONTROLLERS):
        return DescribeClusterResponse(
            error_code=ErrorCode.UNSUPPORTED_ENDPOINT_TYPE,
            error_message=f"Unsupported endpoint type {request.endpoint_type}",
        )
    if request.endpoint_type == CONTROLLERS:
        return DescribeClusterResponse(
            error_code=ErrorCode.MISMATCHED_ENDPOINT_TYPE,
            error_message="The request was sent to an endpoint of type BROKER, but we wanted an "
            "endpoint of type CONTROLLER",
        )
    wants_operations = request.include_cluster_authorized_operations
    return DescribeClusterResponse(
        endpoint_type=BROKERS,
        cluster_id=services.cluster_id,
        controller_id=_controller_id(services),
        brokers=[
            DescribeClusterBroker(
                broker_id=node_id,
                host=host,
                port=port,
                rack=broker.rack,
                is_fenced=broker.is_fenced,
            )
            for node_id, broker in services.image.brokers.items()
            if request.include_fenced_brokers or not broker.is_fenced
            for host, port in _addresses(broker, context)
        ],
        cluster_authorized_operations=CLUSTER_OPERATIONS if wants_operations else NO_OPERATIONS,
    )


def describe_topic_partitions(
    services: MetadataServices, request: DescribeTopicPartitionsRequest, context: RequestContext
) -> DescribeTopicPartitionsResponse:
    """Describe topics in order of their names, some partitions at a time (KIP-966)."""
    check_cursor(request)
    cursor = request.cursor
    names = sorted({topic.name for topic in request.topics} or services.image.topics)
    if cursor is not None:
        names = [name for name in names if name >= cursor.topic_name]
    limit = services.configs.broker.max_request_partition_size_limit
    remaining = max(1, min(request.response_partition_limit, limit))
    response = DescribeTopicPartitionsResponse()
    for name in names:
        if remaining == 0:
            response.next_cursor = Cursor(topic_name=name, partition_index=0)
            break
        starts_at = cursor is not None and cursor.topic_name == name
        first = cursor.partition_index if cursor is not None and starts_at else 0
        described, following = _topic_partitions(services, name, context, first, remaining)
        response.topics.append(described)
        remaining -= len(described.partitions)
        if following is not None:
            response.next_cursor = Cursor(topic_name=name, partition_index=following)
            break
    return response


def check_cursor(request: DescribeTopicPartitionsRequest) -> None:
    """Raise :class:`ApiError` unless the cursor is a place among the topics that are named."""
    cursor = request.cursor
    if cursor is None:
        return
    names = {topic.name for topic in request.topics}
    if names and cursor.topic_name not in names:
        raise ApiError(
            ErrorCode.INVALID_REQUEST,
            "DescribeTopicPartitionsRequest topic list should contain the cursor topic: "
            f"{cursor.topic_name}",
        )
    if cursor.partition_index < 0:
        raise ApiError(
            ErrorCode.INVALID_REQUEST,
            "DescribeTopicPartitionsRequest cursor partition must be valid",
        )


def _topic_partitions(
    services: MetadataServices, name: str, context: RequestContext, first: int, limit: int
) -> tuple[DescribeTopicPartitionsResponseTopic, int | None]:
    """Return a topic with at most ``limit`` partitions, and the number of the next one."""
    topic = services.image.topics.get(name)
    if topic is None:
        try:
            check_topic_name(name)
            code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        except ApiError as error:
            code = error.code
        unknown = DescribeTopicPartitionsResponseTopic(
            error_code=code, name=name, topic_authorized_operations=TOPIC_OPERATIONS
        )
        return unknown, None
    numbers = [number for number in sorted(topic.partitions) if number >= first]
    described = DescribeTopicPartitionsResponseTopic(
        name=name,
        topic_id=topic.topic_id,
        is_internal=name in services.internal_topics,
        topic_authorized_operations=TOPIC_OPERATIONS,
    )
    for number in numbers[:limit]:
        partition = topic.partitions[number]
        leader, code = _leader(services, partition, context)
        described.partitions.append(
            DescribeTopicPartitionsResponsePartition(
                error_code=code,
                partition_index=number,
                leader_id=leader,
                leader_epoch=partition.leader_epoch,
                replica_nodes=list(partition.replicas),
                isr_nodes=list(partition.isr),
                offline_replicas=_offline_replicas(services, partition),
                eligible_leader_replicas=list(partition.eligible_leader_replicas),
                last_known_elr=list(partition.last_known_elr),
            )
        )
    return described, numbers[limit] if len(numbers) > limit else None
