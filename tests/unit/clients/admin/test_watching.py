"""The admin client waits for conditions, and watches groups, in virtual time."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pyk.clients import GroupChangeType, TopicPartition, Until
from pyk.clients.errors import KafkaTimeoutError
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
)
from pyk.protocol.messages.consumer_group_describe import DescribedGroup as NewGroup
from pyk.protocol.messages.describe_groups import (
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)
from pyk.protocol.messages.list_groups import ListedGroup, ListGroupsRequest, ListGroupsResponse
from pyk.protocol.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from pyk.protocol.messages.offset_fetch import OffsetFetchRequest
from pyk.runtime.virtual_time import current_clock, virtual_time
from support.administering import ORDERS, administered, fetched, listed


def group_of(members: int, state: str = "Stable") -> DescribeGroupsResponse:
    found = [DescribedGroupMember(member_id=str(number)) for number in range(members)]
    return DescribeGroupsResponse(
        groups=[DescribedGroup(group_id="g", group_state=state, members=found)]
    )


async def after(seconds: float, act: Any) -> None:
    await asyncio.sleep(seconds)
    act()


@virtual_time
async def test_a_wait_ends_as_soon_as_the_topic_exists_and_returns_it() -> None:
    async with administered() as (cluster, admin):
        later = asyncio.create_task(after(3, lambda: cluster.add_topic("orders", leaders=[1])))

        found = await admin.wait_until(Until.topic_exists("orders"), timeout=10)

        assert found.name == "orders"
        assert 3 <= current_clock().now() < 3.5
        await later


@virtual_time
async def test_a_wait_that_is_over_says_what_was_last_seen() -> None:
    async with administered() as (cluster, admin):
        cluster.add_topic("orders", leaders=[1, -1])

        with pytest.raises(
            KafkaTimeoutError,
            match=r"waited 2.0 s until topic 'orders' has leaders of 2 partitions or more; "
            r"last seen: 2 partitions, of which \[1\] have no leader",
        ):
            await admin.wait_until(Until.topic_has_leaders("orders", 2), timeout=2)

        assert current_clock().now() == pytest.approx(2, abs=0.1)


@virtual_time
async def test_a_topic_is_deleted_when_it_is_gone_from_a_broker() -> None:
    async with administered() as (cluster, admin):
        cluster.add_topic("orders", leaders=[1])
        later = asyncio.create_task(after(1, lambda: cluster.topics.pop("orders")))

        await admin.wait_until(Until.topic_is_deleted("orders"), timeout=5)

        assert 1 <= current_clock().now() < 1.5
        await later


@virtual_time
async def test_a_group_is_waited_for_until_its_members_have_left() -> None:
    async with administered() as (cluster, admin):
        cluster.on(DescribeGroupsRequest, group_of(0, "Empty"))
        cluster.once(DescribeGroupsRequest, group_of(2), group_of(1))

        found = await admin.wait_until(Until.group_is_empty("g"), every=1.0)

        assert found is not None
        assert found.state == "Empty"
        asked = cluster.requests(DescribeGroupsRequest)[0].message
        assert not asked.include_authorized_operations
        assert 2 <= current_clock().now() < 2.5


@virtual_time
async def test_a_group_that_does_not_come_is_not_stable() -> None:
    async with administered() as (cluster, admin):
        missing = DescribedGroup(group_id="g", error_code=ErrorCode.GROUP_ID_NOT_FOUND)
        cluster.on(DescribeGroupsRequest, DescribeGroupsResponse(groups=[missing]))
        gone = NewGroup(group_id="g", error_code=ErrorCode.GROUP_ID_NOT_FOUND)
        cluster.on(ConsumerGroupDescribeRequest, ConsumerGroupDescribeResponse(groups=[gone]))

        with pytest.raises(KafkaTimeoutError, match="last seen: it does not exist"):
            await admin.wait_until(Until.group_is_stable("g"), timeout=1)


@virtual_time
async def test_the_end_of_a_log_and_a_lag_are_waited_for() -> None:
    async with administered() as (cluster, admin):
        cluster.add_topic("orders", leaders=[1])
        ends = iter((3, 5, 5, 5))
        cluster.on(
            ListOffsetsRequest,
            lambda _: ListOffsetsResponse(topics=[listed("orders", 0, next(ends))]),
        )
        cluster.on(OffsetFetchRequest, fetched("orders", 0, 5))
        cluster.once(OffsetFetchRequest, fetched("orders", 0, 4))

        assert await admin.wait_until(Until.offset_is_reached(ORDERS, 5)) == 5
        lags = await admin.wait_until(Until.lag_is("g"))

        assert lags[ORDERS].lag == 0
        levels = {one.message.isolation_level for one in cluster.requests(ListOffsetsRequest)}
        assert levels == {0}, "the log end, not that of committed transactions"


@virtual_time
async def test_a_wait_outlives_a_broker_that_does_not_answer_and_names_its_error() -> None:
    async with administered() as (cluster, admin):
        failed = DescribedGroup(group_id="g", error_code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        cluster.on(DescribeGroupsRequest, DescribeGroupsResponse(groups=[failed]))

        with pytest.raises(KafkaTimeoutError, match="COORDINATOR_LOAD_IN_PROGRESS"):
            await admin.wait_until(Until.group_is_empty("g"), timeout=3)


@virtual_time
async def test_changes_of_groups_are_yielded_as_they_come() -> None:
    async with administered() as (cluster, admin):

        def listing(**states: str) -> ListGroupsResponse:
            groups = [ListedGroup(group_id=one, group_state=state) for one, state in states.items()]
            return ListGroupsResponse(groups=groups)

        cluster.on(ListGroupsRequest, listing(b="Empty", c="Stable"))
        cluster.once(ListGroupsRequest, listing(a="Stable", b="Stable"))

        seen = []
        watch = admin.watch_groups(every=2.0)
        async for change in watch:
            seen.append((change.type, change.group_id, round(current_clock().now())))
            if len(seen) == 5:
                break
        await watch.aclose()

        assert seen == [
            (GroupChangeType.ADDED, "a", 0),
            (GroupChangeType.ADDED, "b", 0),
            (GroupChangeType.REMOVED, "a", 2),
            (GroupChangeType.CHANGED, "b", 2),
            (GroupChangeType.ADDED, "c", 2),
        ]


@virtual_time
async def test_wrong_arguments_of_waits_are_refused() -> None:
    async with administered() as (_, admin):
        with pytest.raises(TypeError, match=r"made by Until, as Until.topic_exists\(name\)"):
            await admin.wait_until("orders")
        with pytest.raises(ValueError, match="every must be a number of seconds above 0"):
            await admin.wait_until(Until.topic_exists("orders"), every=0)
        with pytest.raises(TypeError, match="a topic must be a str"):
            Until.topic_exists(["orders"])  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="must be 0 or more"):
            Until.offset_is_reached(TopicPartition("orders", -1), 3)
