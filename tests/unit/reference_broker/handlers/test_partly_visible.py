"""Groups and transactions of which a client may see or use only a part."""

from __future__ import annotations

from typing import Any

from pyk.protocol.acls import AclOperation, ResourceType
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
)
from pyk.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from pyk.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from pyk.protocol.messages.create_topics import CreatableTopic
from pyk.protocol.messages.describe_transactions import DescribeTransactionsRequest
from pyk.protocol.messages.init_producer_id import InitProducerIdRequest
from pyk.protocol.messages.list_groups import ListGroupsRequest
from pyk.protocol.messages.list_transactions import ListTransactionsRequest
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
from pyk.runtime.virtual_time import virtual_time
from support.authorized_broker import AuthorizedBroker, Right, authorized_broker, codes, on_cluster

DESCRIBE, READ, WRITE = AclOperation.DESCRIBE, AclOperation.READ, AclOperation.WRITE
NO_TOPIC = ErrorCode.TOPIC_AUTHORIZATION_FAILED
UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def topic(operation: AclOperation, name: str = "orders") -> Right:
    return operation, ResourceType.TOPIC, name


def group(operation: AclOperation, name: str = "billing") -> Right:
    return operation, ResourceType.GROUP, name


def transactional_id(operation: AclOperation, name: str = "payer") -> Right:
    return operation, ResourceType.TRANSACTIONAL_ID, name


async def with_secrets(broker: AuthorizedBroker) -> None:
    """Create another topic."""
    await broker.broker.create_topic(
        CreatableTopic(name="secrets", num_partitions=1, replication_factor=1)
    )


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


def joined(**subscription: Any) -> ConsumerGroupHeartbeatRequest:
    return ConsumerGroupHeartbeatRequest(
        group_id="billing",
        member_id="m",
        rebalance_timeout_ms=60_000,
        topic_partitions=[],
        **subscription,
    )


@virtual_time
async def test_a_consumer_group_with_a_hidden_topic_is_not_described() -> None:
    async with authorized_broker() as broker:
        broker.allow(group(READ), topic(DESCRIBE))
        await broker.ask(joined(subscribed_topic_names=["orders"]))
        request = ConsumerGroupDescribeRequest(group_ids=["billing"])
        (visible,) = (await broker.ask(request)).groups

        broker.disallow(topic(DESCRIBE))
        (hidden,) = (await broker.ask(request)).groups

        assert [member.member_id for member in visible.members] == ["m"]
        assert (hidden.error_code, hidden.members) == (NO_TOPIC, [])


@virtual_time
async def test_a_pattern_of_a_consumer_group_finds_no_hidden_topic() -> None:
    async with authorized_broker() as broker:
        await with_secrets(broker)
        broker.allow(group(READ), topic(DESCRIBE))

        response = await broker.ask(joined(subscribed_topic_regex=".*"))

        (assigned,) = response.assignment.topic_partitions
        assert assigned.topic_id == broker.broker.image.topics["orders"].topic_id


@virtual_time
async def test_without_the_feature_there_are_no_consumer_groups() -> None:
    async with authorized_broker() as broker:
        broker.allow(group(READ), topic(DESCRIBE))
        del broker.broker.image.features["group.version"]

        refused = await broker.ask(joined(subscribed_topic_names=["orders"]))
        described = await broker.ask(ConsumerGroupDescribeRequest(group_ids=["billing"]))

        assert refused.error_code == ErrorCode.UNSUPPORTED_VERSION
        assert described.groups[0].error_code == ErrorCode.UNSUPPORTED_VERSION
