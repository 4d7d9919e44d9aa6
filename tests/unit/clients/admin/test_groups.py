"""Groups are asked after at their coordinators, and their offsets read, changed and forgotten."""

from __future__ import annotations

from typing import Any

import pytest

from pyk.clients import ConsumerGroupDescription, MemberDescription, OffsetAndMetadata
from pyk.clients.errors import (
    GroupIdNotFoundError,
    KafkaError,
    KafkaTimeoutError,
    SeveralErrors,
)
from pyk.protocol.api_keys import ApiKey
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages import consumer_group_describe
from pyk.protocol.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
)
from pyk.protocol.messages.delete_groups import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
)
from pyk.protocol.messages.describe_groups import (
    DescribedGroup,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)
from pyk.protocol.messages.find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from pyk.protocol.messages.list_groups import ListedGroup, ListGroupsRequest, ListGroupsResponse
from pyk.protocol.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from pyk.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from pyk.protocol.messages.offset_delete import OffsetDeleteRequest, OffsetDeleteResponse
from pyk.protocol.messages.offset_fetch import OffsetFetchRequest
from pyk.protocol.versions import VersionRange
from pyk.runtime.virtual_time import virtual_time
from support.administering import ORDERS, administered, fetched, listed
from support.scripted_broker import SILENCE


@virtual_time
async def test_groups_of_all_brokers_are_listed() -> None:
    async with administered(nodes=3) as (cluster, admin):
        names = iter("cab")
        cluster.on(
            ListGroupsRequest,
            lambda _: ListGroupsResponse(
                groups=[ListedGroup(group_id=next(names), protocol_type="consumer")]
            ),
        )

        groups = await admin.list_groups(states=["Stable"])

        assert [group.group_id for group in groups] == ["a", "b", "c"]
        assert {one.node_id for one in cluster.requests(ListGroupsRequest)} == {1, 2, 3}
        assert cluster.requests(ListGroupsRequest)[0].message.states_filter == ["Stable"]


@virtual_time
async def test_a_group_whose_coordinator_moves_meanwhile_is_listed_once() -> None:
    async with administered(nodes=2) as (cluster, admin):
        moving = ListedGroup(group_id="a", protocol_type="consumer")
        cluster.on(ListGroupsRequest, ListGroupsResponse(groups=[moving]))

        assert [group.group_id for group in await admin.list_groups()] == ["a"]


@virtual_time
async def test_one_state_is_not_taken_for_a_list_of_letters() -> None:
    async with administered() as (cluster, admin):
        cluster.on(ListGroupsRequest, ListGroupsResponse())

        await admin.list_groups(states="Stable")

        assert cluster.requests(ListGroupsRequest)[0].message.states_filter == ["Stable"]


@virtual_time
async def test_a_group_is_described_by_its_coordinator_wherever_that_moves() -> None:
    async with administered(nodes=2) as (cluster, admin):

        def moved(request: DescribeGroupsRequest) -> DescribeGroupsResponse:
            cluster.coordinator_id = 2
            gone = DescribedGroup(group_id="g", error_code=ErrorCode.NOT_COORDINATOR)
            return DescribeGroupsResponse(groups=[gone])

        there = DescribedGroup(group_id="g", group_state="Stable", protocol_data="range")
        cluster.on(DescribeGroupsRequest, DescribeGroupsResponse(groups=[there]))
        cluster.once(DescribeGroupsRequest, moved)

        described = await admin.describe_consumer_groups(["g"])

        assert described["g"].coordinator_id == 2
        assert described["g"].partition_assignor == "range"
        assert len(cluster.requests(FindCoordinatorRequest)) == 2


@virtual_time
async def test_a_group_that_is_dead_does_not_exist() -> None:
    async with administered() as (cluster, admin):
        del cluster.versions[ApiKey.CONSUMER_GROUP_DESCRIBE]
        dead = DescribedGroup(group_id="g", group_state="Dead")
        cluster.on(DescribeGroupsRequest, DescribeGroupsResponse(groups=[dead]))

        with pytest.raises(GroupIdNotFoundError, match="'g'"):
            await admin.describe_consumer_groups(["g"])


@virtual_time
async def test_a_group_of_the_type_consumer_is_described_by_the_other_request() -> None:
    async with administered() as (cluster, admin):
        cluster.on(DescribeGroupsRequest, not_classic)
        topic = consumer_group_describe.TopicPartitions(topic_name="orders", partitions=[0])
        member = consumer_group_describe.Member(
            member_id="m",
            client_id="pyk",
            client_host="/::1",
            assignment=consumer_group_describe.Assignment(topic_partitions=[topic]),
        )
        there = consumer_group_describe.DescribedGroup(
            group_id="new", group_state="Stable", assignor_name="uniform", members=[member]
        )
        cluster.on(ConsumerGroupDescribeRequest, ConsumerGroupDescribeResponse(groups=[there]))

        described = await admin.describe_consumer_groups(["old", "new"])

        assert described["old"].group_type == "classic"
        assert described["new"] == ConsumerGroupDescription(
            group_id="new",
            state="Stable",
            protocol_type="consumer",
            partition_assignor="uniform",
            coordinator_id=1,
            members=(MemberDescription("m", None, "pyk", "/::1", (ORDERS,)),),
            group_type="consumer",
        )
        (asked,) = cluster.requests(ConsumerGroupDescribeRequest)
        assert asked.message.group_ids == ["new"]


@virtual_time
async def test_a_group_of_no_type_that_can_be_described_has_the_error_of_the_last_request() -> None:
    async with administered() as (cluster, admin):
        cluster.on(DescribeGroupsRequest, not_classic)
        missing = consumer_group_describe.DescribedGroup(
            group_id="new",
            error_code=ErrorCode.GROUP_ID_NOT_FOUND,
            error_message="Group new is not a consumer group.",
        )
        cluster.on(ConsumerGroupDescribeRequest, ConsumerGroupDescribeResponse(groups=[missing]))

        with pytest.raises(GroupIdNotFoundError, match="is not a consumer group"):
            await admin.describe_consumer_groups(["new"])


@virtual_time
async def test_brokers_without_the_other_request_know_no_such_group() -> None:
    async with administered() as (cluster, admin):
        cluster.on(DescribeGroupsRequest, not_classic)
        del cluster.versions[ApiKey.CONSUMER_GROUP_DESCRIBE]

        with pytest.raises(GroupIdNotFoundError, match="is not a classic group"):
            await admin.describe_consumer_groups(["new"])


@virtual_time
async def test_a_coordinator_that_does_not_serve_the_other_type_knows_no_such_group() -> None:
    async with administered() as (cluster, admin):
        cluster.on(DescribeGroupsRequest, not_classic)
        off = consumer_group_describe.DescribedGroup(
            group_id="new", error_code=ErrorCode.UNSUPPORTED_VERSION
        )
        cluster.on(ConsumerGroupDescribeRequest, ConsumerGroupDescribeResponse(groups=[off]))

        with pytest.raises(GroupIdNotFoundError, match="is not a classic group"):
            await admin.describe_consumer_groups(["new"])


def not_classic(request: DescribeGroupsRequest) -> DescribeGroupsResponse:
    """Describe all groups but ``new``, which is of another type."""
    return DescribeGroupsResponse(
        groups=[
            DescribedGroup(
                group_id=group,
                error_code=ErrorCode.GROUP_ID_NOT_FOUND,
                error_message=f"Group {group} is not a classic group.",
            )
            if group == "new"
            else DescribedGroup(group_id=group, group_state="Empty")
            for group in request.groups
        ]
    )


@virtual_time
async def test_each_group_that_cannot_be_deleted_has_its_own_error() -> None:
    async with administered() as (cluster, admin):
        cluster.on(
            DeleteGroupsRequest,
            DeleteGroupsResponse(
                results=[
                    DeletableGroupResult(group_id="a", error_code=ErrorCode.NON_EMPTY_GROUP),
                    DeletableGroupResult(group_id="b", error_code=ErrorCode.GROUP_ID_NOT_FOUND),
                ]
            ),
        )

        with pytest.raises(SeveralErrors) as raised:
            await admin.delete_consumer_groups(["a", "b"])

        assert {name: error.code for name, error in raised.value.errors.items()} == {
            "a": ErrorCode.NON_EMPTY_GROUP,
            "b": ErrorCode.GROUP_ID_NOT_FOUND,
        }


@pytest.mark.parametrize("highest", [6, 7, 8, 9, 10])
@virtual_time
async def test_committed_offsets_are_read_from_brokers_old_and_new(highest: int) -> None:
    async with administered(nodes=2) as (cluster, admin):
        cluster.coordinator_id = 2
        cluster.versions[ApiKey.OFFSET_FETCH] = VersionRange(1, highest)
        cluster.on(OffsetFetchRequest, fetched("orders", 0, 7, version=highest, note="note"))

        offsets = await admin.list_consumer_group_offsets("g", [ORDERS])

        assert offsets == {ORDERS: OffsetAndMetadata(7, metadata="note")}
        assert cluster.requests(OffsetFetchRequest)[0].version == min(highest, 9)


@virtual_time
async def test_stable_offsets_are_asked_for_until_the_transaction_has_ended() -> None:
    async with administered() as (cluster, admin):
        unstable = fetched("orders", 0, -1, code=ErrorCode.UNSTABLE_OFFSET_COMMIT)
        cluster.once(OffsetFetchRequest, unstable, unstable)
        cluster.on(OffsetFetchRequest, fetched("orders", 0, 7))

        offsets = await admin.list_consumer_group_offsets("g", [ORDERS], require_stable=True)

        assert offsets == {ORDERS: OffsetAndMetadata(7)}
        assert [
            request.message.require_stable for request in cluster.requests(OffsetFetchRequest)
        ] == [True] * 3


@virtual_time
async def test_a_transaction_that_does_not_end_in_time_is_named() -> None:
    async with administered() as (cluster, admin):
        unstable = fetched("orders", 0, -1, code=ErrorCode.UNSTABLE_OFFSET_COMMIT)
        cluster.on(OffsetFetchRequest, unstable)

        with pytest.raises(KafkaError, match="UNSTABLE_OFFSET_COMMIT"):
            await admin.list_consumer_group_offsets("g", require_stable=True, timeout=5.0)


@virtual_time
async def test_offsets_of_a_group_are_changed_and_forgotten() -> None:
    async with administered() as (cluster, admin):
        stored = OffsetCommitResponseTopic(
            name="orders", partitions=[OffsetCommitResponsePartition(partition_index=0)]
        )
        cluster.on(OffsetCommitRequest, OffsetCommitResponse(topics=[stored]))
        cluster.on(OffsetDeleteRequest, OffsetDeleteResponse(error_code=68))

        await admin.alter_consumer_group_offsets("g", {ORDERS: 12})
        with pytest.raises(KafkaError, match="NON_EMPTY_GROUP"):
            await admin.delete_consumer_group_offsets("g", [ORDERS])

        (topic,) = cluster.requests(OffsetCommitRequest)[0].message.topics
        assert topic.partitions[0].committed_offset == 12
        assert topic.partitions[0].committed_leader_epoch == -1


@virtual_time
async def test_lag_counts_the_offsets_that_are_not_committed() -> None:
    async with administered() as (cluster, admin):
        cluster.add_topic("orders", leaders=[1])
        cluster.on(OffsetFetchRequest, fetched("orders", 0, 7))
        cluster.on(ListOffsetsRequest, ListOffsetsResponse(topics=[listed("orders", 0, 12)]))

        lag = await admin.lag("g")

        assert lag[ORDERS].committed_offset == 7
        assert lag[ORDERS].end_offset == 12
        assert lag[ORDERS].lag == 5


LOADING = DeleteGroupsResponse(
    results=[DeletableGroupResult(group_id="g", error_code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)]
)
NO_COORDINATOR = FindCoordinatorResponse(
    coordinators=[Coordinator(key="g", error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE)]
)


@virtual_time
async def test_attempts_come_later_and_later() -> None:
    async with administered(retry_backoff_ms=100) as (cluster, admin):
        cluster.on(DeleteGroupsRequest, LOADING)

        with pytest.raises(KafkaTimeoutError, match="COORDINATOR_LOAD_IN_PROGRESS"):
            await admin.delete_consumer_groups(["g"], timeout=20)

        times = [one.at for one in cluster.requests(DeleteGroupsRequest)]
        assert times[1] - times[0] == pytest.approx(0.1, rel=0.25)
        assert times[2] - times[1] == pytest.approx(0.2, rel=0.25)
        assert times[-1] - times[-2] > 0.5


@pytest.mark.parametrize("answer", [SILENCE, NO_COORDINATOR], ids=["silent", "none"])
@virtual_time
async def test_a_change_whose_coordinator_is_not_found_is_surely_not_done(answer: Any) -> None:
    async with administered() as (cluster, admin):
        cluster.on(FindCoordinatorRequest, answer)

        with pytest.raises(KafkaTimeoutError) as raised:
            await admin.delete_consumer_groups(["g"], timeout=3)

        assert raised.value.definite
        assert "may have been" not in str(raised.value)
