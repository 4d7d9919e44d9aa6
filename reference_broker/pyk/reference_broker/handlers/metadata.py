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
from pyk.reference_broker.controller.image import MetadataImage, PartitionImage, TopicImage
from pyk.reference_broker.controller.names import check_topic_name
from pyk.reference_broker.errors import ApiError
from pyk.reference_broker.topic_creation import TopicCreator

from .context import NO_OPERATIONS, RequestContext

# Bits of ACL operations: without an authorizer every client may do everything.
TOPIC_OPERATIONS = 0b1101_1111_1000
CLUSTER_OPERATIONS = 0b1_1111_1010_0000
FIRST_VERSION_WITH_TOPIC_IDS = 12
BROKERS, CONTROLLERS = 1, 2


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
        [_topic(services, topic) for topic in image.topics.values()]
        if wants_all
        else list(_named_topics(services, request, context))
    )
    if request.include_topic_authorized_operations:
        for topic in topics:
            topic.topic_authorized_operations = TOPIC_OPERATIONS
    wants_operations = request.include_cluster_authorized_operations
    return MetadataResponse(
        brokers=[
            MetadataResponseBroker(
                node_id=each.node_id,
                host=context.address_of(each.host),
                port=each.port,
                rack=each.rack,
            )
            for each in image.brokers.values()
            if not each.is_fenced
        ],
        cluster_id=services.cluster_id,
        controller_id=services.node_id,
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
            yield _topic(services, image.topics[wanted.name])
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
        return _topic(services, topic)
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


def _topic(services: MetadataServices, topic: TopicImage) -> MetadataResponseTopic:
    return MetadataResponseTopic(
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=topic.name in services.internal_topics,
        partitions=[
            MetadataResponsePartition(
                error_code=_leader_error(partition),
                partition_index=number,
                leader_id=partition.leader,
                leader_epoch=partition.leader_epoch,
                replica_nodes=list(partition.replicas),
                isr_nodes=list(partition.isr),
            )
            for number, partition in topic.partitions.items()
        ],
    )


def _leader_error(partition: PartitionImage) -> ErrorCode:
    return ErrorCode.LEADER_NOT_AVAILABLE if partition.leader < 0 else ErrorCode.NONE


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
        controller_id=services.node_id,
        brokers=[
            DescribeClusterBroker(
                broker_id=each.node_id,
                host=context.address_of(each.host),
                port=each.port,
                rack=each.rack,
                is_fenced=each.is_fenced,
            )
            for each in services.image.brokers.values()
            if request.include_fenced_brokers or not each.is_fenced
        ],
        cluster_authorized_operations=CLUSTER_OPERATIONS if wants_operations else NO_OPERATIONS,
    )


def describe_topic_partitions(
    services: MetadataServices, request: DescribeTopicPartitionsRequest, context: RequestContext
) -> DescribeTopicPartitionsResponse:
    """Describe topics in order of their names, some partitions at a time (KIP-966)."""
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
        described, following = _topic_partitions(services, name, first, remaining)
        response.topics.append(described)
        remaining -= len(described.partitions)
        if following is not None:
            response.next_cursor = Cursor(topic_name=name, partition_index=following)
            break
    return response


def _topic_partitions(
    services: MetadataServices, name: str, first: int, limit: int
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
        partitions=[
            DescribeTopicPartitionsResponsePartition(
                error_code=_leader_error(topic.partitions[number]),
                partition_index=number,
                leader_id=topic.partitions[number].leader,
                leader_epoch=topic.partitions[number].leader_epoch,
                replica_nodes=list(topic.partitions[number].replicas),
                isr_nodes=list(topic.partitions[number].isr),
                eligible_leader_replicas=[],
                last_known_elr=[],
            )
            for number in numbers[:limit]
        ],
    )
    return described, numbers[limit] if len(numbers) > limit else None
