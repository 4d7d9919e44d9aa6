"""What is left of a request of which only a part is allowed, and of its answer."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from pyk.protocol.acls import AclOperation, ResourceType
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from pyk.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from pyk.protocol.messages.describe_cluster import DescribeClusterRequest
from pyk.protocol.messages.describe_groups import DescribeGroupsRequest
from pyk.protocol.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    TopicRequest,
)
from pyk.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from pyk.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from pyk.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from pyk.protocol.topics import TopicPartition
from pyk.reference_broker.errors import ConnectionClosedError
from pyk.reference_broker.handlers.context import NO_OPERATIONS
from pyk.runtime.virtual_time import virtual_time
from support.authorized_broker import AuthorizedBroker, Right, authorized_broker, codes, on_cluster
from support.raw_client import batch

CREATE = AclOperation.CREATE
DESCRIBE, DESCRIBE_CONFIGS = AclOperation.DESCRIBE, AclOperation.DESCRIBE_CONFIGS
READ, WRITE = AclOperation.READ, AclOperation.WRITE
NO_TOPIC = ErrorCode.TOPIC_AUTHORIZATION_FAILED
UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
NO_ID = UUID(int=0)


def topic(operation: AclOperation, name: str = "orders") -> Right:
    return operation, ResourceType.TOPIC, name


def group(operation: AclOperation, name: str = "billing") -> Right:
    return operation, ResourceType.GROUP, name


async def with_secrets(broker: AuthorizedBroker) -> UUID:
    """Create another topic, and return its id."""
    await broker.broker.create_topic(
        CreatableTopic(name="secrets", num_partitions=1, replication_factor=1)
    )
    return broker.broker.image.topics["secrets"].topic_id


def produced(*names: str, acks: int = 1) -> ProduceRequest:
    data = PartitionProduceData(index=0, records=batch(b"one"))
    topics = [TopicProduceData(name=name, partition_data=[data]) for name in names]
    return ProduceRequest(acks=acks, topic_data=topics)


def end_of(broker: AuthorizedBroker, name: str) -> int:
    partition = broker.broker.services.replicas.find(TopicPartition(name, 0))
    assert partition is not None
    return partition.log_end_offset


# -- records -----------------------------------------------------------------------------------


@virtual_time
async def test_records_for_topics_that_may_be_written_are_appended_and_others_refused() -> None:
    async with authorized_broker() as broker:
        await with_secrets(broker)
        broker.allow(topic(WRITE))

        response = await broker.ask(produced("secrets", "orders"), 12)

        answered = {each.name: each.partition_responses[0] for each in response.responses}
        assert answered["orders"].error_code == ErrorCode.NONE
        assert (answered["secrets"].error_code, answered["secrets"].base_offset) == (NO_TOPIC, -1)
        assert (end_of(broker, "orders"), end_of(broker, "secrets")) == (1, 0)


@virtual_time
async def test_a_refusal_that_nobody_waits_for_closes_the_connection() -> None:
    async with authorized_broker() as broker:
        await with_secrets(broker)
        broker.allow(topic(WRITE))

        with pytest.raises(ConnectionClosedError):
            await broker.ask(produced("secrets", "orders", acks=0), 12)

        assert (end_of(broker, "orders"), end_of(broker, "secrets")) == (1, 0)


@virtual_time
async def test_topics_that_are_named_by_id_are_refused_by_id() -> None:
    async with authorized_broker() as broker:
        topic_id = await with_secrets(broker)
        data = [PartitionProduceData(index=0, records=batch(b"one"))]
        asked = [
            TopicProduceData(topic_id=each, partition_data=data) for each in (topic_id, UUID(int=9))
        ]

        response = await broker.ask(ProduceRequest(acks=1, topic_data=asked))

        answered = {
            each.topic_id: each.partition_responses[0].error_code for each in response.responses
        }
        assert answered == {topic_id: NO_TOPIC, UUID(int=9): ErrorCode.UNKNOWN_TOPIC_ID}


def fetched(**more: Any) -> FetchRequest:
    asked = [FetchTopic(topic="orders", partitions=[FetchPartition(partition=0)])]
    fields = {"max_wait_ms": 0, "topics": asked, "session_epoch": 0}
    return FetchRequest(**{**fields, **more})


@virtual_time
async def test_a_fetch_session_goes_on_once_its_topic_may_be_read() -> None:
    async with authorized_broker() as broker:
        broker.allow(topic(WRITE))
        await broker.ask(produced("orders"), 12)

        opened = await broker.ask(fetched(), 12)
        refused = await broker.ask(
            fetched(session_id=opened.session_id, session_epoch=1, topics=[]), 12
        )
        broker.allow(topic(READ))
        allowed = await broker.ask(
            fetched(session_id=opened.session_id, session_epoch=2, topics=[]), 12
        )

        assert codes(opened) == codes(refused) == [NO_TOPIC]
        assert codes(allowed) == []
        assert len(allowed.responses[0].partitions[0].records) > 0


@virtual_time
async def test_a_fetch_that_waits_gets_no_records_after_its_right_was_taken_away() -> None:
    async with authorized_broker() as broker:
        broker.allow(topic(READ), topic(WRITE))
        waiting = broker.begin(fetched(max_wait_ms=500, min_bytes=1), 12)
        broker.disallow(topic(READ))

        await broker.ask(produced("orders"), 12)

        assert codes(await waiting) == [NO_TOPIC]


# -- topics ------------------------------------------------------------------------------------


def named(*names: str, **more: Any) -> MetadataRequest:
    return MetadataRequest(topics=[MetadataRequestTopic(name=name) for name in names], **more)


@pytest.mark.parametrize("version", [0, 1, 12])
@virtual_time
async def test_a_list_of_all_topics_has_only_those_that_may_be_described(version: int) -> None:
    async with authorized_broker() as broker:
        await with_secrets(broker)
        broker.allow(topic(DESCRIBE))

        response = await broker.ask(MetadataRequest(topics=[] if version == 0 else None), version)

        assert [each.name for each in response.topics] == ["orders"]
        assert response.brokers


@pytest.mark.parametrize("version", [0, 1, 12])
@virtual_time
async def test_a_hidden_topic_looks_like_one_that_does_not_exist(version: int) -> None:
    async with authorized_broker() as broker:
        response = await broker.ask(named("orders", "missing"), version)

        described = [(each.name, each.error_code, each.topic_id) for each in response.topics]
        assert described == [("orders", NO_TOPIC, NO_ID), ("missing", NO_TOPIC, NO_ID)]


@virtual_time
async def test_a_hidden_topic_that_is_named_by_its_id_keeps_its_name() -> None:
    async with authorized_broker() as broker:
        topic_id = await with_secrets(broker)
        asked = [MetadataRequestTopic(topic_id=each, name=None) for each in (topic_id, UUID(int=9))]

        response = await broker.ask(MetadataRequest(topics=asked))

        described = {each.topic_id: (each.name, each.error_code) for each in response.topics}
        assert described == {
            topic_id: (None, NO_TOPIC),
            UUID(int=9): (None, ErrorCode.UNKNOWN_TOPIC_ID),
        }


@virtual_time
async def test_a_topic_that_may_be_described_but_not_created_is_not_created() -> None:
    async with authorized_broker() as broker:
        broker.allow(topic(DESCRIBE, "new"))

        refused = await broker.ask(named("new"))
        looked_up = await broker.ask(named("new", allow_auto_topic_creation=False))

        assert codes(refused) == [NO_TOPIC]
        assert codes(looked_up) == [UNKNOWN]
        assert "new" not in broker.broker.image.topics


def bits(*operations: AclOperation) -> int:
    return sum(1 << operation for operation in operations)


@virtual_time
async def test_the_operations_on_a_topic_are_those_of_this_client() -> None:
    async with authorized_broker() as broker:
        broker.allow(topic(READ))

        asked = await broker.ask(named("orders", include_topic_authorized_operations=True))
        silent = await broker.ask(named("orders"))

        assert asked.topics[0].topic_authorized_operations == bits(READ, DESCRIBE)
        assert silent.topics[0].topic_authorized_operations == NO_OPERATIONS


@virtual_time
async def test_the_operations_on_the_cluster_are_told_to_those_that_may_describe_it() -> None:
    async with authorized_broker() as broker:
        request = DescribeClusterRequest(include_cluster_authorized_operations=True)

        hidden = await broker.ask(request)
        broker.allow(on_cluster(AclOperation.ALTER))
        told = await broker.ask(request)

        assert hidden.cluster_authorized_operations == 0
        assert told.cluster_authorized_operations == bits(DESCRIBE, AclOperation.ALTER)


@virtual_time
async def test_the_operations_on_a_group_are_those_of_this_client() -> None:
    async with authorized_broker() as broker:
        broker.allow(group(READ))

        request = DescribeGroupsRequest(groups=["billing"], include_authorized_operations=True)
        response = await broker.ask(request, 5)

        assert response.groups[0].authorized_operations == bits(READ, DESCRIBE)


@virtual_time
async def test_topics_are_described_in_pages_of_those_that_are_visible() -> None:
    async with authorized_broker() as broker:
        await with_secrets(broker)
        broker.allow(topic(DESCRIBE), topic(DESCRIBE, "__consumer_offsets"))
        first = await broker.ask(DescribeTopicPartitionsRequest(response_partition_limit=1))
        cursor = Cursor(topic_name="orders", partition_index=0)
        second = await broker.ask(DescribeTopicPartitionsRequest(cursor=cursor))

        assert [each.name for each in first.topics] == ["__consumer_offsets"]
        assert first.next_cursor.topic_name == "orders"
        assert [each.name for each in second.topics] == ["orders"]
        assert second.next_cursor is None


@virtual_time
async def test_pages_go_on_after_a_topic_that_has_become_invisible() -> None:
    async with authorized_broker() as broker:
        await with_secrets(broker)
        broker.allow(topic(DESCRIBE))
        cursor = Cursor(topic_name="__consumer_offsets", partition_index=3)

        rest = await broker.ask(DescribeTopicPartitionsRequest(cursor=cursor))

        assert [each.name for each in rest.topics] == ["orders"]
        assert len(rest.topics[0].partitions) > 0


@virtual_time
async def test_nothing_is_described_to_a_client_that_may_describe_nothing() -> None:
    async with authorized_broker() as broker:
        everything = await broker.ask(DescribeTopicPartitionsRequest())
        asked = [TopicRequest(name="orders"), TopicRequest(name="missing")]
        by_name = await broker.ask(DescribeTopicPartitionsRequest(topics=asked))

        assert everything.topics == []
        assert codes(by_name) == [NO_TOPIC, NO_TOPIC]


@virtual_time
async def test_who_creates_a_topic_sees_its_configuration_only_with_a_right_of_its_own() -> None:
    async with authorized_broker() as broker:
        broker.allow(on_cluster(CREATE), topic(DESCRIBE_CONFIGS, "second"))
        topics = [
            CreatableTopic(name=name, num_partitions=3, replication_factor=1)
            for name in ("first", "second")
        ]

        first, second = (await broker.ask(CreateTopicsRequest(topics=topics))).topics

        assert (first.error_code, first.topic_config_error_code) == (0, NO_TOPIC)
        assert (first.num_partitions, first.replication_factor, first.configs) == (-1, -1, [])
        assert (second.num_partitions, bool(second.configs)) == (3, True)


@virtual_time
async def test_a_topic_that_may_not_be_deleted_stays_and_its_name_is_told_to_who_sees_it() -> None:
    async with authorized_broker() as broker:
        topic_id = await with_secrets(broker)
        request = DeleteTopicsRequest(topics=[DeleteTopicState(topic_id=topic_id)])

        hidden = await broker.ask(request)
        broker.allow(topic(DESCRIBE, "secrets"))
        told = await broker.ask(request)

        assert [(each.name, each.error_code) for each in hidden.responses] == [(None, NO_TOPIC)]
        assert [(each.name, each.error_code) for each in told.responses] == [("secrets", NO_TOPIC)]
        assert "secrets" in broker.broker.image.topics


@virtual_time
async def test_deleting_by_name_tells_nobody_else_which_topics_there_are() -> None:
    async with authorized_broker() as broker:
        request = DeleteTopicsRequest(
            topics=[DeleteTopicState(name="orders"), DeleteTopicState(name="missing")]
        )

        hidden = await broker.ask(request)
        broker.allow(topic(DESCRIBE), topic(DESCRIBE, "missing"))
        visible = await broker.ask(request)

        assert codes(hidden) == [NO_TOPIC, NO_TOPIC]
        assert {each.name: each.error_code for each in visible.responses} == {
            "orders": NO_TOPIC,
            "missing": UNKNOWN,
        }


@virtual_time
async def test_what_a_request_names_twice_is_refused_for_that_alone() -> None:
    async with authorized_broker() as broker:
        twice = [CreatableTopic(name="new", num_partitions=1, replication_factor=1)] * 2
        created = await broker.ask(CreateTopicsRequest(topics=twice))
        deleted = await broker.ask(DeleteTopicsRequest(topic_names=["orders", "orders"]), 5)

        assert codes(created) == codes(deleted) == [ErrorCode.INVALID_REQUEST]


@virtual_time
async def test_that_topics_cannot_be_deleted_is_told_to_everybody() -> None:
    async with authorized_broker(delete_topic_enable=False) as broker:
        response = await broker.ask(DeleteTopicsRequest(topic_names=["orders"]), 5)

        assert codes(response) == [ErrorCode.TOPIC_DELETION_DISABLED]
