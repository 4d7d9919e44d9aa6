"""What all calls have in common: their timeouts, the versions they need, and retries."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID

import pytest

from pyk.clients import ConfigResource, NewTopic, OffsetSpec, UserScramCredentialDeletion
from pyk.clients.admin import AclBindingFilter
from pyk.clients.errors import (
    KafkaTimeoutError,
    TopicAuthorizationFailedError,
    UnsupportedVersionError,
)
from pyk.protocol.api_keys import ApiKey
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages import alter_user_scram_credentials as scram
from pyk.protocol.messages.alter_user_scram_credentials import AlterUserScramCredentialsRequest
from pyk.protocol.messages.create_delegation_token import CreateDelegationTokenRequest
from pyk.protocol.messages.create_topics import (
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from pyk.protocol.messages.delete_acls import DeleteAclsRequest, DeleteAclsResponse
from pyk.protocol.messages.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
)
from pyk.protocol.messages.describe_delegation_token import DescribeDelegationTokenRequest
from pyk.protocol.messages.describe_quorum import DescribeQuorumRequest
from pyk.protocol.messages.find_coordinator import FindCoordinatorRequest
from pyk.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from pyk.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from pyk.protocol.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from pyk.protocol.messages.metadata import MetadataRequest
from pyk.protocol.versions import VersionRange
from pyk.runtime.virtual_time import current_clock, virtual_time
from support.administering import ORDERS, administered, let_control, listed
from support.scripted_broker import CLOSE, SILENCE

CREATED = CreateTopicsResponse(topics=[CreatableTopicResult(name="orders", configs=[])])

# -- timeouts --------------------------------------------------------------------------------------


@virtual_time
async def test_a_call_without_a_timeout_ends_after_the_default_of_the_client() -> None:
    async with administered(default_api_timeout_ms=5_000) as (cluster, admin):
        await admin.describe_cluster()
        cluster.on(CreateTopicsRequest, SILENCE)
        began = current_clock().now()

        with pytest.raises(KafkaTimeoutError):
            await admin.create_topics([NewTopic("orders")])

        assert current_clock().now() - began == pytest.approx(5, abs=0.001)


@pytest.mark.parametrize(
    ("timeout", "told_ms"),
    [(5, 5_000), (100, 30_000), (0.0015, 1)],
    ids=["long", "longer", "short"],
)
@virtual_time
async def test_a_broker_is_told_how_long_it_may_take(timeout: float, told_ms: int) -> None:
    async with administered(request_timeout_ms=30_000) as (cluster, admin):
        await admin.describe_cluster()
        cluster.on(CreateTopicsRequest, CREATED)

        await admin.create_topics([NewTopic("orders")], timeout=timeout)

        assert cluster.requests(CreateTopicsRequest)[0].message.timeout_ms == told_ms


@virtual_time
async def test_a_broker_has_a_millisecond_at_least() -> None:
    async with administered() as (cluster, admin):
        await admin.describe_cluster()
        cluster.on(CreateTopicsRequest, CREATED)

        await admin.create_topics([NewTopic("orders")], timeout=0.0004)

        assert cluster.requests(CreateTopicsRequest)[0].message.timeout_ms == 1


@virtual_time
async def test_a_coordinator_is_told_a_millisecond_at_least_for_a_fenced_transaction() -> None:
    async with administered() as (cluster, admin):
        await admin.describe_cluster()
        fenced = InitProducerIdResponse(producer_id=7, producer_epoch=4)
        cluster.on(InitProducerIdRequest, fenced)

        await admin.fence_producers(["shop"], timeout=0.0004)

        assert cluster.requests(InitProducerIdRequest)[0].message.transaction_timeout_ms == 1


# -- versions --------------------------------------------------------------------------------------

BILLS = ConfigResource.topic("bills")
OPERATIONS = {"authorized_operations": True}
TOO_OLD: list[tuple[ApiKey, int, Callable[[Any], Awaitable[Any]]]] = [
    (ApiKey.METADATA, 7, lambda a: a.describe_topics([UUID(int=1)])),
    (ApiKey.CREATE_TOPICS, 3, lambda a: a.create_topics([NewTopic("orders", 1)])),
    (
        ApiKey.CREATE_TOPICS,
        3,
        lambda a: a.create_topics([NewTopic("orders", replication_factor=1)]),
    ),
    (ApiKey.DELETE_TOPICS, 5, lambda a: a.delete_topics([UUID(int=1)])),
    (ApiKey.DESCRIBE_CONFIGS, 2, lambda a: a.describe_configs([BILLS], documentation=True)),
    (ApiKey.LIST_GROUPS, 3, lambda a: a.list_groups(states=["Stable"])),
    (ApiKey.LIST_GROUPS, 4, lambda a: a.list_groups(types=["share"])),
    (ApiKey.DESCRIBE_GROUPS, 2, lambda a: a.describe_consumer_groups(["g"], **OPERATIONS)),
    (ApiKey.LEAVE_GROUP, 2, lambda a: a.remove_members_from_consumer_group("g", ["i"])),
    (ApiKey.CREATE_DELEGATION_TOKEN, 2, lambda a: a.create_delegation_token(owner="User:bob")),
    (ApiKey.LIST_TRANSACTIONS, 0, lambda a: a.list_transactions(duration_ms=5)),
    (ApiKey.OFFSET_FETCH, 0, lambda a: a.list_consumer_group_offsets("g")),
    (ApiKey.OFFSET_COMMIT, 1, lambda a: a.alter_consumer_group_offsets("g", {ORDERS: 1})),
    (ApiKey.LIST_OFFSETS, 6, lambda a: a.list_offsets({ORDERS: OffsetSpec.MAX_TIMESTAMP})),
]


@pytest.mark.parametrize(
    ("api_key", "highest", "call"), TOO_OLD, ids=[f"{one[0].api_name} {one[1]}" for one in TOO_OLD]
)
@virtual_time
async def test_a_broker_that_cannot_do_what_was_asked_is_not_asked(
    api_key: ApiKey, highest: int, call: Any
) -> None:
    async with administered() as (cluster, admin):
        cluster.add_topic("orders", [1])
        cluster.versions[api_key] = VersionRange(0, highest)

        with pytest.raises(UnsupportedVersionError):
            await call(admin)

        asked = {one.message.api_key for one in cluster.received}
        assert api_key is ApiKey.METADATA or api_key not in asked


@virtual_time
async def test_an_older_broker_is_told_the_partitions_and_replicas_of_new_topics() -> None:
    async with administered() as (cluster, admin):
        cluster.versions[ApiKey.CREATE_TOPICS] = VersionRange(0, 3)
        cluster.on(CreateTopicsRequest, CREATED)

        with pytest.raises(UnsupportedVersionError, match="or give NewTopic both"):
            await admin.create_topics([NewTopic("orders")])
        await admin.create_topics([NewTopic("orders", 1, replication_factor=1)])
        await admin.create_topics([NewTopic("orders", assignments={0: (1,)})])


@virtual_time
async def test_groups_without_a_filter_are_listed_by_brokers_of_all_versions() -> None:
    async with administered() as (cluster, admin):
        cluster.versions[ApiKey.LIST_GROUPS] = VersionRange(0, 2)
        cluster.on(ListGroupsRequest, ListGroupsResponse())

        assert await admin.list_groups() == []


@virtual_time
async def test_a_topic_that_was_described_in_pages_is_not_asked_for_by_metadata_too() -> None:
    async with administered() as (cluster, admin):
        cluster.add_topic("orders", [1])
        await admin.describe_cluster()
        count = len(cluster.requests(MetadataRequest))

        await admin.describe_topics(["orders"])

        assert len(cluster.requests(MetadataRequest)) == count


# -- retries ---------------------------------------------------------------------------------------


@virtual_time
async def test_what_a_lost_response_has_deleted_is_deleted() -> None:
    async with administered() as (cluster, admin):
        missing = scram.AlterUserScramCredentialsResult(
            user="alice", error_code=ErrorCode.RESOURCE_NOT_FOUND
        )
        answer = scram.AlterUserScramCredentialsResponse(results=[missing])
        cluster.on(AlterUserScramCredentialsRequest, answer)
        cluster.once(AlterUserScramCredentialsRequest, CLOSE)

        await admin.alter_user_scram_credentials(
            [UserScramCredentialDeletion("alice", "SCRAM-SHA-256")]
        )

        assert len(cluster.requests(AlterUserScramCredentialsRequest)) == 2


@virtual_time
async def test_a_token_whose_response_is_lost_may_have_been_created() -> None:
    async with administered() as (cluster, admin):
        cluster.on(CreateDelegationTokenRequest, CLOSE)

        with pytest.raises(KafkaTimeoutError, match="; it may have been done"):
            await admin.create_delegation_token(timeout=2)


@virtual_time
async def test_only_changes_may_have_been_done() -> None:
    async with administered() as (cluster, admin):
        cluster.on(DescribeDelegationTokenRequest, CLOSE)

        with pytest.raises(KafkaTimeoutError) as raised:
            await admin.describe_delegation_token(timeout=2)

        assert "may have been done" not in str(raised.value)


@virtual_time
async def test_a_filter_of_acls_that_a_broker_leaves_out_is_an_error() -> None:
    async with administered() as (cluster, admin):
        cluster.on(DeleteAclsRequest, DeleteAclsResponse())

        with pytest.raises(KafkaTimeoutError, match="node 1 left out"):
            await admin.delete_acls([AclBindingFilter()], timeout=2)


# -- which broker ----------------------------------------------------------------------------------


@virtual_time
async def test_a_call_waits_for_a_controller() -> None:
    async with administered() as (cluster, admin):
        await let_control(-1, cluster, admin)
        cluster.on(CreateTopicsRequest, CREATED)
        creating = asyncio.ensure_future(admin.create_topics([NewTopic("orders")]))
        await asyncio.sleep(3)
        assert not creating.done()

        cluster.controller_id = 1

        await creating


@virtual_time
async def test_a_cluster_without_a_controller_is_named_at_the_deadline() -> None:
    async with administered() as (cluster, admin):
        await let_control(-1, cluster, admin)

        with pytest.raises(KafkaTimeoutError, match="has no controller right now") as raised:
            await admin.create_topics([NewTopic("orders")], timeout=3)

        assert raised.value.definite


@virtual_time
async def test_a_topic_that_was_denied_before_and_is_granted_now_is_asked_for_at_once() -> None:
    async with administered() as (cluster, admin):
        cluster.add_topic("orders", [1])
        cluster.on(ListOffsetsRequest, ListOffsetsResponse(topics=[listed("orders", 0, 5)]))
        cluster.deny("orders")
        with pytest.raises(TopicAuthorizationFailedError):
            await admin.list_offsets({ORDERS: 0})

        cluster.on(MetadataRequest, cluster.metadata)

        found = await admin.list_offsets({ORDERS: 0})
        assert found[ORDERS].offset == 5


@virtual_time
async def test_metadata_without_an_error_are_not_asked_for_again() -> None:
    async with administered() as (cluster, admin):
        cluster.add_topic("orders", [1])
        cluster.on(ListOffsetsRequest, ListOffsetsResponse(topics=[listed("orders", 0, 5)]))
        await admin.list_offsets({ORDERS: 0})
        count = len(cluster.requests(MetadataRequest))

        await admin.list_offsets({ORDERS: 0})

        assert len(cluster.requests(MetadataRequest)) == count


@virtual_time
async def test_a_call_with_little_time_ends_no_request_of_another() -> None:
    async def deleted_after_half_a_second() -> DeleteTopicsResponse:
        await asyncio.sleep(0.5)
        return DeleteTopicsResponse(responses=[DeletableTopicResult(name="orders")])

    async with administered() as (cluster, admin):
        cluster.on(DeleteTopicsRequest, lambda _: deleted_after_half_a_second())
        cluster.on(DescribeQuorumRequest, SILENCE)
        cluster.on(FindCoordinatorRequest, SILENCE)
        deleting = asyncio.create_task(admin.delete_topics(["orders"]))
        await asyncio.sleep(0.1)

        with pytest.raises(KafkaTimeoutError):
            await admin.describe_metadata_quorum(timeout=0.02)
        with pytest.raises(KafkaTimeoutError):
            await admin.delete_consumer_groups(["readers"], timeout=0.02)
        await deleting

        assert len(cluster.requests(DeleteTopicsRequest)) == 1
