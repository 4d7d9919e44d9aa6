"""Calls about several things, and calls to older brokers: what fails, what is retried, what not."""

from __future__ import annotations

import pytest

from pyk.clients import (
    AccessControlEntry,
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AsyncAdmin,
    ClientQuotaEntity,
    ConfigResource,
    NewTopic,
    TopicPartition,
    TopicPartitionReplica,
)
from pyk.clients.admin import PatternType, ResourcePattern, ResourceType
from pyk.clients.errors import (
    ClusterAuthorizationFailedError,
    GroupAuthorizationFailedError,
    KafkaTimeoutError,
    SeveralErrors,
    ThrottlingQuotaExceededError,
    UnknownMemberIdError,
    UnsupportedVersionError,
)
from pyk.protocol.api_keys import ApiKey
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.create_topics import (
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from pyk.protocol.messages.describe_topic_partitions import DescribeTopicPartitionsRequest
from pyk.protocol.messages.leave_group import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberResponse,
)
from pyk.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
)
from pyk.protocol.versions import VersionRange
from pyk.runtime.virtual_time import virtual_time
from support.administering import administered


def throttled(name: str) -> CreateTopicsResponse:
    code = ErrorCode.THROTTLING_QUOTA_EXCEEDED
    return CreateTopicsResponse(topics=[CreatableTopicResult(name=name, error_code=code)])


@virtual_time
async def test_a_change_that_is_held_back_fails_at_once_if_asked_for() -> None:
    async with administered() as (cluster, admin):
        cluster.on(CreateTopicsRequest, throttled("orders"))

        with pytest.raises(ThrottlingQuotaExceededError):
            await admin.create_topics([NewTopic("orders")], retry_on_quota_violation=False)
        assert len(cluster.requests(CreateTopicsRequest)) == 1
        with pytest.raises(KafkaTimeoutError, match="THROTTLING_QUOTA_EXCEEDED"):
            await admin.create_topics([NewTopic("orders")], timeout=5)


@virtual_time
async def test_a_group_that_may_not_be_read_does_not_hide_the_offsets_of_others() -> None:
    async with administered() as (cluster, admin):

        def answer(request: OffsetFetchRequest) -> OffsetFetchResponse:
            (group,) = request.groups
            code = ErrorCode.GROUP_AUTHORIZATION_FAILED if group.group_id == "secret" else 0
            found = OffsetFetchResponseGroup(group_id=group.group_id, error_code=code)
            return OffsetFetchResponse(groups=[found])

        cluster.on(OffsetFetchRequest, answer)

        with pytest.raises(SeveralErrors) as raised:
            await admin.list_consumer_group_offsets({"open": None, "secret": None})

        assert raised.value.results == {"open": {}}
        assert isinstance(raised.value.errors["secret"], GroupAuthorizationFailedError)


@virtual_time
async def test_members_are_removed_once_the_coordinator_has_loaded_and_each_has_its_outcome() -> (
    None
):
    async with administered() as (cluster, admin):
        loading = LeaveGroupResponse(error_code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        members = [
            MemberResponse(member_id="", group_instance_id="a"),
            MemberResponse(
                member_id="", group_instance_id="b", error_code=ErrorCode.UNKNOWN_MEMBER_ID
            ),
        ]
        cluster.on(LeaveGroupRequest, LeaveGroupResponse(members=members))
        cluster.once(LeaveGroupRequest, loading)

        with pytest.raises(SeveralErrors) as raised:
            await admin.remove_members_from_consumer_group("g", ["a", "b"], reason="x" * 300)

        assert raised.value.results == {"a": None}
        assert isinstance(raised.value.errors["b"], UnknownMemberIdError)
        asked = cluster.requests(LeaveGroupRequest)
        assert len(asked) == 2
        reasons = [one.reason for one in asked[1].message.members]
        assert all(one.startswith("member was removed by an admin: x") for one in reasons)
        assert {len(one) for one in reasons} == {255}


@virtual_time
async def test_topics_are_described_page_by_page_or_by_older_brokers_at_once() -> None:
    async with administered() as (cluster, admin):
        cluster.add_topic("orders", leaders=[1, 1])
        cluster.add_topic("payments", leaders=[1])

        by_page = await admin.describe_topics(["payments", "orders"])

        assert len(cluster.requests(DescribeTopicPartitionsRequest)) == 2
        assert [len(by_page[name].partitions) for name in ("orders", "payments")] == [2, 1]

    async with administered() as (cluster, admin):
        del cluster.versions[ApiKey.DESCRIBE_TOPIC_PARTITIONS]
        cluster.add_topic("orders", leaders=[1, 1])

        at_once = await admin.describe_topics(["orders"])

        assert at_once["orders"].partitions == by_page["orders"].partitions


async def unsupported(admin: AsyncAdmin) -> UnsupportedVersionError:
    with pytest.raises(UnsupportedVersionError) as raised:
        await admin.describe_cluster(fenced_brokers=True)
    return raised.value


@virtual_time
async def test_the_cluster_is_described_by_older_brokers_as_far_as_they_can() -> None:
    async with administered() as (cluster, admin):
        cluster.versions[ApiKey.DESCRIBE_CLUSTER] = VersionRange(0, 1)
        error = await unsupported(admin)
        assert "DescribeCluster" in str(error)
        assert "0-1" in str(error)
        assert "2" in str(error)


@virtual_time
async def test_the_cluster_is_described_by_the_metadata_of_brokers_before_2_8() -> None:
    async with administered() as (cluster, admin):
        del cluster.versions[ApiKey.DESCRIBE_CLUSTER]
        assert [one.node_id for one in (await admin.describe_cluster()).nodes] == [1]
        assert "DescribeCluster" in str(await unsupported(admin))
        with pytest.raises(TypeError, match="by group id"):
            await admin.list_consumer_group_offsets({"g": None}, [TopicPartition("orders", 0)])


@pytest.mark.parametrize(
    ("item", "words"),
    [
        (ConfigResource.topic("orders"), "TOPIC 'orders'"),
        (ClientQuotaEntity({"user": "ann", "client-id": None}), "default client-id, user 'ann'"),
        (TopicPartitionReplica("orders", 0, 1), "orders-0 on broker 1"),
        (
            AclBinding(
                ResourcePattern(ResourceType.TOPIC, "a-", PatternType.PREFIXED),
                AccessControlEntry("User:ann", AclOperation.READ),
            ),
            "User:ann ALLOW READ on TOPIC 'a-' (PREFIXED) from *",
        ),
        (AclBindingFilter(), "any principal ANY ANY on ANY of any name (ANY) from any host"),
    ],
)
def test_what_failed_is_named_in_words(item: object, words: str) -> None:
    failed = SeveralErrors("1 of 2 failed", {item: ClusterAuthorizationFailedError("no")}, {})

    assert str(failed) == f"1 of 2 failed; {words}: no"
