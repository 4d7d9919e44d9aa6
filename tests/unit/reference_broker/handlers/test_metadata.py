"""Metadata, DescribeCluster and DescribeTopicPartitions: which topics, nodes and partitions."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import attrs
import pytest

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.describe_cluster import DescribeClusterRequest
from pyk.protocol.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    TopicRequest,
)
from pyk.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseTopic,
)
from pyk.reference_broker.broker import Broker
from pyk.reference_broker.handlers.context import NO_OPERATIONS, RequestContext
from pyk.reference_broker.handlers.metadata import (
    CLUSTER_OPERATIONS,
    CONTROLLERS,
    TOPIC_OPERATIONS,
    describe_cluster,
    describe_topic_partitions,
    metadata,
)
from pyk.reference_broker.listeners import Endpoint
from pyk.runtime.virtual_time import virtual_time
from support.running_brokers import TOPIC, context, running_broker

OFFSETS_TOPIC = "__consumer_offsets"
UNKNOWN_ID = UUID(int=5)


def ask(
    broker: Broker, *topics: MetadataRequestTopic | str, version: int = 12, **more: bool
) -> MetadataResponse:
    """Ask for topics, by names or as they are; for all if none is given."""
    wanted = [MetadataRequestTopic(name=each) if isinstance(each, str) else each for each in topics]
    options: dict[str, Any] = {"allow_auto_topic_creation": False} | more
    request = MetadataRequest(topics=wanted or None, **options)
    return metadata(broker.services, request, context(version))


def names(response: MetadataResponse) -> list[str | None]:
    return [topic.name for topic in response.topics]


def errors(response: MetadataResponse) -> list[ErrorCode]:
    return [ErrorCode(topic.error_code) for topic in response.topics]


def only(response: MetadataResponse) -> MetadataResponseTopic:
    (topic,) = response.topics
    return topic


async def create(broker: Broker, *topics: str) -> None:
    for name in topics:
        broker.services.topics.auto_create(name)


def lose_leader(broker: Broker, number: int) -> None:
    """Let a partition have no leader, as after its broker was fenced."""
    partitions = broker.image.topics[TOPIC].partitions
    partitions[number] = attrs.evolve(partitions[number], leader=-1)


def lag(broker: Broker, number: int) -> None:
    """Let a partition have a replica that is not in sync."""
    partitions = broker.image.topics[TOPIC].partitions
    partitions[number] = attrs.evolve(partitions[number], replicas=(0, 1), isr=(0,), leader_epoch=7)


def fence(broker: Broker, node_id: int) -> None:
    """Register another broker that does not serve."""
    known = broker.image.brokers[broker.node_id]
    broker.image.brokers[node_id] = attrs.evolve(known, node_id=node_id, is_fenced=True)


@virtual_time
async def test_all_topics_are_described_if_none_is_named() -> None:
    async with running_broker() as broker:
        await create(broker, "payments")

        assert names(ask(broker)) == [TOPIC, "payments"]
        assert names(metadata(broker.services, MetadataRequest(topics=[]), context(0))) == [
            TOPIC,
            "payments",
        ]
        assert names(metadata(broker.services, MetadataRequest(topics=[]), context(1))) == []


@virtual_time
async def test_a_topic_that_is_named_twice_is_described_once() -> None:
    async with running_broker() as broker:
        assert names(ask(broker, TOPIC, TOPIC)) == [TOPIC]
        assert names(ask(broker, "unknown", "unknown")) == ["unknown"]


@virtual_time
async def test_a_topic_may_be_named_by_its_id() -> None:
    async with running_broker() as broker:
        topic_id = broker.image.topics[TOPIC].topic_id
        known = MetadataRequestTopic(topic_id=topic_id, name=None)
        unknown = MetadataRequestTopic(topic_id=UNKNOWN_ID, name=None)

        response = ask(broker, known, unknown)

        assert names(response) == [TOPIC, None]
        assert errors(response) == [ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_ID]
        assert [topic.topic_id for topic in response.topics] == [topic_id, UNKNOWN_ID]


@virtual_time
async def test_an_id_counts_more_than_a_name() -> None:
    async with running_broker() as broker:
        both = MetadataRequestTopic(topic_id=UNKNOWN_ID, name=TOPIC)

        assert errors(ask(broker, both)) == [ErrorCode.UNKNOWN_TOPIC_ID]


@virtual_time
async def test_brokers_have_their_racks_and_one_is_the_controller() -> None:
    async with running_broker(broker_rack="b") as broker:
        response = ask(broker)

        assert [(each.node_id, each.rack) for each in response.brokers] == [(0, "b")]
        assert response.controller_id == 0


@virtual_time
async def test_partitions_have_their_replicas_those_in_sync_and_the_epoch() -> None:
    async with running_broker() as broker:
        lag(broker, 0)

        (partition,) = only(ask(broker)).partitions
        assert (partition.replica_nodes, partition.isr_nodes) == ([0, 1], [0])
        assert partition.leader_epoch == 7
        (partition,) = describe(broker, TOPIC).topics[0].partitions
        assert (partition.replica_nodes, partition.isr_nodes) == ([0, 1], [0])
        assert partition.leader_epoch == 7


@virtual_time
async def test_partitions_come_by_number_and_unknown_topics_with_authorized_operations() -> None:
    async with running_broker(partitions=3) as broker:
        topic = broker.image.topics[TOPIC]
        topic.partitions = dict(reversed(topic.partitions.items()))

        assert pages(broker, TOPIC) == [[(TOPIC, 0), (TOPIC, 1), (TOPIC, 2)]]
        (unknown,) = describe(broker, "unknown").topics
        assert unknown.topic_authorized_operations == TOPIC_OPERATIONS


@virtual_time
async def test_an_id_of_a_version_without_ids_is_refused_and_so_is_a_topic_without_a_name() -> None:
    async with running_broker() as broker:
        topic_id = broker.image.topics[TOPIC].topic_id
        by_id = MetadataRequestTopic(topic_id=topic_id, name=None)

        assert errors(ask(broker, by_id, version=11)) == [ErrorCode.INVALID_REQUEST]
        with_both = MetadataRequestTopic(topic_id=topic_id, name=TOPIC)
        assert names(ask(broker, with_both, version=11)) == [TOPIC]
        nameless = MetadataRequestTopic(name=None)
        assert errors(ask(broker, nameless)) == [ErrorCode.INVALID_REQUEST]


@pytest.mark.parametrize(
    ("asked", "config", "is_created"),
    [(True, True, True), (True, False, False), (False, True, False)],
)
@virtual_time
async def test_a_missing_topic_is_created_if_request_and_broker_allow_it(
    asked: bool, config: bool, is_created: bool
) -> None:
    async with running_broker(auto_create_topics_enable=config) as broker:
        response = ask(broker, "payments", allow_auto_topic_creation=asked)

        assert errors(response) == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
        assert ("payments" in broker.image.topics) is is_created


@virtual_time
async def test_an_invalid_topic_name_is_reported_as_invalid() -> None:
    async with running_broker() as broker:
        response = ask(broker, "a/b", allow_auto_topic_creation=True)

        assert errors(response) == [ErrorCode.INVALID_TOPIC_EXCEPTION]


@virtual_time
async def test_internal_topics_are_marked_whether_or_not_they_exist() -> None:
    async with running_broker() as broker:
        assert only(ask(broker, OFFSETS_TOPIC)).is_internal
        assert not only(ask(broker, "payments")).is_internal
        await create(broker, OFFSETS_TOPIC)

        assert only(ask(broker, OFFSETS_TOPIC)).is_internal
        assert not only(ask(broker, TOPIC)).is_internal


@virtual_time
async def test_authorized_operations_are_returned_on_request() -> None:
    async with running_broker() as broker:
        silent = ask(broker, TOPIC)
        assert silent.cluster_authorized_operations == NO_OPERATIONS
        assert only(silent).topic_authorized_operations == NO_OPERATIONS

        of_topics = ask(broker, TOPIC, include_topic_authorized_operations=True)
        of_cluster = ask(broker, TOPIC, include_cluster_authorized_operations=True)

        assert only(of_topics).topic_authorized_operations == TOPIC_OPERATIONS
        assert of_topics.cluster_authorized_operations == NO_OPERATIONS
        assert of_cluster.cluster_authorized_operations == CLUSTER_OPERATIONS
        assert only(of_cluster).topic_authorized_operations == NO_OPERATIONS


@virtual_time
async def test_partitions_without_a_leader_have_an_error() -> None:
    async with running_broker(partitions=2) as broker:
        lose_leader(broker, 1)

        partitions = only(ask(broker, TOPIC)).partitions

        assert [each.error_code for each in partitions] == [
            ErrorCode.NONE,
            ErrorCode.LEADER_NOT_AVAILABLE,
        ]
        assert [each.leader_id for each in partitions] == [broker.node_id, -1]


@virtual_time
async def test_a_broker_that_is_fenced_is_not_among_those_to_connect_to() -> None:
    async with running_broker() as broker:
        fence(broker, 7)

        assert [each.node_id for each in ask(broker).brokers] == [broker.node_id]


@virtual_time
async def test_a_broker_that_listens_on_all_addresses_is_where_the_client_reached_it() -> None:
    async with running_broker() as broker:
        known = broker.image.brokers[broker.node_id]
        everywhere = Endpoint(listener="PLAINTEXT", host="0.0.0.0", port=9092)
        broker.image.brokers[broker.node_id] = attrs.evolve(
            known, endpoints={"PLAINTEXT": everywhere}
        )
        reached_at = RequestContext(
            version=12, client_id="test", client_host="/memory", local_host="10.0.0.5"
        )

        in_metadata = metadata(broker.services, MetadataRequest(), reached_at)
        described = describe_cluster(broker.services, DescribeClusterRequest(), reached_at)

        assert [each.host for each in in_metadata.brokers] == ["10.0.0.5"]
        assert [each.host for each in described.brokers] == ["10.0.0.5"]


@virtual_time
async def test_describe_cluster_lists_fenced_brokers_only_if_asked() -> None:
    async with running_broker() as broker:
        fence(broker, 7)

        plain = describe_cluster(broker.services, DescribeClusterRequest(), context(2))
        with_fenced = describe_cluster(
            broker.services, DescribeClusterRequest(include_fenced_brokers=True), context(2)
        )

        assert [each.broker_id for each in plain.brokers] == [broker.node_id]
        assert [(each.broker_id, each.is_fenced) for each in with_fenced.brokers] == [
            (broker.node_id, False),
            (7, True),
        ]
        assert plain.controller_id == broker.node_id
        assert plain.cluster_id == broker.services.cluster_id


@pytest.mark.parametrize(
    ("endpoint_type", "code"),
    [
        (CONTROLLERS, ErrorCode.MISMATCHED_ENDPOINT_TYPE),
        (3, ErrorCode.UNSUPPORTED_ENDPOINT_TYPE),
        (0, ErrorCode.UNSUPPORTED_ENDPOINT_TYPE),
    ],
)
@virtual_time
async def test_describe_cluster_refuses_other_endpoints(
    endpoint_type: int, code: ErrorCode
) -> None:
    async with running_broker() as broker:
        request = DescribeClusterRequest(endpoint_type=endpoint_type)

        response = describe_cluster(broker.services, request, context(2))

        assert response.error_code == code
        assert response.error_message
        assert response.brokers == []


@virtual_time
async def test_describe_cluster_returns_authorized_operations_on_request() -> None:
    async with running_broker() as broker:
        asked = DescribeClusterRequest(include_cluster_authorized_operations=True)

        silent = describe_cluster(broker.services, DescribeClusterRequest(), context(2))
        told = describe_cluster(broker.services, asked, context(2))

        assert silent.cluster_authorized_operations == NO_OPERATIONS
        assert told.cluster_authorized_operations == CLUSTER_OPERATIONS


def pages(
    broker: Broker, *topics: str, limit: int = 100, start: tuple[str, int] | None = None
) -> list[list[tuple[str | None, int]]]:
    """Return the partitions of each response until there is no cursor any more."""
    found = []
    cursor = None if start is None else Cursor(topic_name=start[0], partition_index=start[1])
    for _ in range(20):
        response = describe(broker, *topics, limit=limit, cursor=cursor)
        found.append(
            [
                (topic.name, each.partition_index)
                for topic in response.topics
                for each in topic.partitions
            ]
        )
        cursor = response.next_cursor
        if cursor is None:
            return found
    raise AssertionError("the cursor does not get on")


def describe(
    broker: Broker, *topics: str, limit: int = 100, cursor: Cursor | None = None
) -> DescribeTopicPartitionsResponse:
    request = DescribeTopicPartitionsRequest(
        topics=[TopicRequest(name=name) for name in topics],
        response_partition_limit=limit,
        cursor=cursor,
    )
    return describe_topic_partitions(broker.services, request, context(0))


@virtual_time
async def test_partitions_come_in_order_of_topics_some_at_a_time() -> None:
    async with running_broker(partitions=3, num_partitions=2) as broker:
        await create(broker, "payments", "audit")

        assert pages(broker, limit=2) == [
            [("audit", 0), ("audit", 1)],
            [("orders", 0), ("orders", 1)],
            [("orders", 2), ("payments", 0)],
            [("payments", 1)],
        ]
        assert pages(broker, "payments", "orders", "payments", limit=4) == [
            [("orders", 0), ("orders", 1), ("orders", 2), ("payments", 0)],
            [("payments", 1)],
        ]


@virtual_time
async def test_a_cursor_begins_at_its_partition_and_skips_the_topics_before() -> None:
    async with running_broker(partitions=3, num_partitions=1) as broker:
        await create(broker, "payments", "audit")

        assert pages(broker, start=("orders", 1)) == [
            [("orders", 1), ("orders", 2), ("payments", 0)]
        ]
        assert pages(broker, start=("between", 1)) == [
            [("orders", 0), ("orders", 1), ("orders", 2), ("payments", 0)]
        ]


@pytest.mark.parametrize(
    ("limit", "broker_limit", "expected"),
    [(0, 2, 1), (-5, 2, 1), (1, 2, 1), (2, 2, 2), (100, 2, 2)],
)
@virtual_time
async def test_a_response_holds_at_least_one_partition_and_no_more_than_the_broker_allows(
    limit: int, broker_limit: int, expected: int
) -> None:
    async with running_broker(3, max_request_partition_size_limit=broker_limit) as broker:
        (topic,) = describe(broker, limit=limit).topics

        assert len(topic.partitions) == expected


@virtual_time
async def test_topics_that_cannot_be_described_have_an_error_and_count_for_no_partition() -> None:
    async with running_broker(partitions=2) as broker:
        response = describe(broker, "a/b", "missing", TOPIC, limit=2)

        assert [(topic.name, topic.error_code) for topic in response.topics] == [
            ("a/b", ErrorCode.INVALID_TOPIC_EXCEPTION),
            ("missing", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
            (TOPIC, ErrorCode.NONE),
        ]
        assert response.next_cursor is None


@virtual_time
async def test_described_partitions_name_their_leader_or_minus_one() -> None:
    async with running_broker(partitions=2) as broker:
        lose_leader(broker, 1)

        (topic,) = describe(broker).topics

        assert topic.topic_id == broker.image.topics[TOPIC].topic_id
        assert [(each.leader_id, each.error_code) for each in topic.partitions] == [
            (broker.node_id, ErrorCode.NONE),
            (-1, ErrorCode.LEADER_NOT_AVAILABLE),
        ]
