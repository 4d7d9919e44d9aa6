"""What is left of a request of which only a part is allowed, and of its answer."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from pyk.protocol.acls import AclOperation, ResourceType
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
)
from pyk.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from pyk.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from pyk.protocol.messages.describe_cluster import DescribeClusterRequest
from pyk.protocol.messages.describe_groups import DescribeGroupsRequest
from pyk.protocol.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    TopicRequest,
)
from pyk.protocol.messages.describe_transactions import DescribeTransactionsRequest
from pyk.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from pyk.protocol.messages.init_producer_id import InitProducerIdRequest
from pyk.protocol.messages.list_groups import ListGroupsRequest
from pyk.protocol.messages.list_transactions import ListTransactionsRequest
from pyk.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from pyk.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from pyk.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from pyk.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from pyk.protocol.topics import TopicPartition
from pyk.reference_broker.errors import ConnectionClosedError
from pyk.reference_broker.handlers.context import NO_OPERATIONS
from pyk.runtime.virtual_time import virtual_time
from support.authorized_broker import AuthorizedBroker, Right, authorized_broker, codes, on_cluster
from support.raw_client import batch

ALL, CREATE, DELETE = AclOperation.ALL, AclOperation.CREATE, AclOperation.DELETE
DESCRIBE, DESCRIBE_CONFIGS = AclOperation.DESCRIBE, AclOperation.DESCRIBE_CONFIGS
READ, WRITE = AclOperation.READ, AclOperation.WRITE
NO_TOPIC = ErrorCode.TOPIC_AUTHORIZATION_FAILED
UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
NO_ID = UUID(int=0)


def topic(operation: AclOperation, name: str = "orders") -> Right:
    return operation, ResourceType.TOPIC, name


def group(operation: AclOperation, name: str = "billing") -> Right:
    return operation, ResourceType.GROUP, name


def transactional_id(operation: AclOperation, name: str = "payer") -> Right:
    return operation, ResourceType.TRANSACTIONAL_ID, name


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
        first = await broker.ask(DescribeTopicPartitionsRequest(response_partition_limit=50))
        cursor = Cursor(topic_name="orders", partition_index=0)
        second = await broker.ask(DescribeTopicPartitionsRequest(cursor=cursor))

        assert [each.name for each in first.topics] == ["__consumer_offsets"]
        assert first.next_cursor.topic_name == "orders"
        assert [each.name for each in second.topics] == ["orders"]
        assert second.next_cursor is None


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


# -- groups and transactions -------------------------------------------------------------------


def committed(group_id: str, *names: str) -> OffsetCommitRequest:
    partitions = [OffsetCommitRequestPartition(partition_index=0, committed_offset=7)]
    topics = [OffsetCommitRequestTopic(name=name, partitions=partitions) for name in names]
    return OffsetCommitRequest(group_id=group_id, topics=topics)


@virtual_time
async def test_offsets_of_topics_that_may_be_read_are_committed_and_others_refused() -> None:
    async with authorized_broker() as broker:
        await with_secrets(broker)
        broker.allow(group(READ), topic(READ))

        response = await broker.ask(committed("billing", "secrets", "orders"), 9)

        found = {each.name: each.partitions[0].error_code for each in response.topics}
        assert found == {"orders": 0, "secrets": NO_TOPIC}


async def with_groups(broker: AuthorizedBroker) -> None:
    """Commit offsets of both topics in two groups, and take away the rights for that."""
    await with_secrets(broker)
    rights = [group(READ), group(READ, "strangers"), topic(READ), topic(READ, "secrets")]
    broker.allow(*rights)
    for each in ("billing", "strangers"):
        await broker.ask(committed(each, "orders", "secrets"), 9)
    broker.disallow(*rights)


@virtual_time
async def test_groups_that_may_not_be_described_are_not_listed() -> None:
    async with authorized_broker() as broker:
        await with_groups(broker)

        none = await broker.ask(ListGroupsRequest())
        broker.allow(group(DESCRIBE))
        one = await broker.ask(ListGroupsRequest())
        broker.allow(on_cluster(DESCRIBE))
        both = await broker.ask(ListGroupsRequest())

        assert none.groups == []
        assert [each.group_id for each in one.groups] == ["billing"]
        assert {each.group_id for each in both.groups} == {"billing", "strangers"}


@virtual_time
async def test_the_offsets_of_a_group_are_those_of_topics_that_may_be_described() -> None:
    async with authorized_broker() as broker:
        await with_groups(broker)
        broker.allow(group(DESCRIBE), topic(DESCRIBE))
        by_name = [
            OffsetFetchRequestTopics(name=name, partition_indexes=[0])
            for name in ("secrets", "orders")
        ]
        asked = [
            OffsetFetchRequestGroup(group_id="strangers", topics=by_name),
            OffsetFetchRequestGroup(group_id="billing", topics=by_name),
            OffsetFetchRequestGroup(group_id="billing", topics=None),
        ]

        response = await broker.ask(OffsetFetchRequest(groups=asked), 9)

        refused, named_topics, all_topics = response.groups
        assert (refused.group_id, codes(refused)) == (
            "strangers",
            [ErrorCode.GROUP_AUTHORIZATION_FAILED],
        )
        assert offsets_of(named_topics) == {"orders": (7, 0), "secrets": (-1, NO_TOPIC)}
        assert offsets_of(all_topics) == {"orders": (7, 0)}


def offsets_of(answered: Any) -> dict[str, tuple[int, int]]:
    """Return committed offset and error code of the first partition by topic."""
    return {
        each.name: (each.partitions[0].committed_offset, each.partitions[0].error_code)
        for each in answered.topics
    }


@virtual_time
async def test_one_topic_that_may_not_be_written_keeps_all_out_of_the_transaction() -> None:
    async with authorized_broker() as broker:
        broker.allow(transactional_id(WRITE), topic(WRITE), topic(WRITE, "missing"))
        await with_secrets(broker)
        names = ("orders", "secrets", "missing", "__consumer_offsets")
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id="payer",
            v3_and_below_topics=[
                AddPartitionsToTxnTopic(name=name, partitions=[0]) for name in names
            ],
        )

        response = await broker.ask(request, 3)

        assert {
            each.name: each.results_by_partition[0].partition_error_code
            for each in response.results_by_topic_v3_and_below
        } == {
            "orders": ErrorCode.OPERATION_NOT_ATTEMPTED,
            "secrets": NO_TOPIC,
            "missing": UNKNOWN,
            "__consumer_offsets": NO_TOPIC,
        }


async def with_transaction(broker: AuthorizedBroker) -> None:
    """Begin a transaction on both topics, and take away the rights for that."""
    await with_secrets(broker)
    rights = [transactional_id(WRITE), topic(WRITE), topic(WRITE, "secrets")]
    broker.allow(*rights)
    producer = await broker.ask(
        InitProducerIdRequest(transactional_id="payer", transaction_timeout_ms=10_000)
    )
    request = AddPartitionsToTxnRequest(
        v3_and_below_transactional_id="payer",
        v3_and_below_producer_id=producer.producer_id,
        v3_and_below_producer_epoch=producer.producer_epoch,
        v3_and_below_topics=[
            AddPartitionsToTxnTopic(name=name, partitions=[0]) for name in ("orders", "secrets")
        ],
    )
    assert codes(await broker.ask(request, 3)) == []
    broker.disallow(*rights)


@virtual_time
async def test_a_described_transaction_has_only_topics_that_may_be_described() -> None:
    async with authorized_broker() as broker:
        await with_transaction(broker)
        broker.allow(transactional_id(DESCRIBE), topic(DESCRIBE))

        request = DescribeTransactionsRequest(transactional_ids=["payer"])
        (state,) = (await broker.ask(request)).transaction_states

        assert [each.topic for each in state.topics] == ["orders"]


@virtual_time
async def test_transactions_that_may_not_be_described_are_not_listed() -> None:
    async with authorized_broker() as broker:
        await with_transaction(broker)

        hidden = await broker.ask(ListTransactionsRequest())
        broker.allow(transactional_id(DESCRIBE))
        visible = await broker.ask(ListTransactionsRequest())

        assert hidden.transaction_states == []
        assert [each.transactional_id for each in visible.transaction_states] == ["payer"]
