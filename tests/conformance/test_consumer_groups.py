"""Consumer groups (KIP-848): the same requests get the same answers as from Apache Kafka."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.delete_groups import DeleteGroupsRequest
from pyk.protocol.messages.describe_groups import DescribeGroupsRequest
from pyk.protocol.messages.heartbeat import HeartbeatRequest
from pyk.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from pyk.protocol.messages.list_groups import ListGroupsRequest
from pyk.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from support.brokers import Kafka
from support.raw_groups import MEMBER, Coordinator, coordinator_of_group, error_of, told

E = ErrorCode


@pytest_asyncio.fixture
async def coordinator(kafka: Kafka, group: str) -> AsyncIterator[Coordinator]:
    async with coordinator_of_group(kafka, group) as found:
        yield found


INVALID: dict[str, dict[str, Any]] = {
    "MemberId can't be empty.": {"member_id": " ", "epoch": 0},
    "GroupId can't be empty.": {"group_id": " ", "epoch": 0},
    "InstanceId can't be empty.": {"instance_id": "", "epoch": 0},
    "RackId can't be empty.": {"rack_id": "", "epoch": 0},
    "RebalanceTimeoutMs must be provided in first request.": {"epoch": 0},
    "TopicPartitions must be empty when (re-)joining.": {"epoch": 0, **MEMBER},
    "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.": {
        "epoch": 0,
        "owned": [],
        **MEMBER,
    },
    "InstanceId can't be null.": {"epoch": -2},
    "MemberEpoch is invalid.": {"epoch": -3},
}


@pytest.mark.parametrize("message", INVALID)
async def test_an_invalid_heartbeat_is_refused(coordinator: Coordinator, message: str) -> None:
    answer = await coordinator.beat(**{"member_id": "m", "epoch": 0, **INVALID[message]})

    assert error_of(answer) == (E.INVALID_REQUEST, message)


async def test_names_that_are_unknown_are_told(coordinator: Coordinator) -> None:
    group = coordinator.group

    assert error_of(await coordinator.join("m", server_assignor="best")) == (
        E.UNSUPPORTED_ASSIGNOR,
        "ServerAssignor best is not supported. Supported assignors: uniform, range.",
    )
    pattern = {"subscribed_topic_names": None, "subscribed_topic_regex": "("}
    assert error_of(await coordinator.join("m", **pattern)) == (
        E.INVALID_REGULAR_EXPRESSION,
        "SubscribedTopicRegex `(` is not a valid regular expression: missing closing ).",
    )
    assert error_of(await coordinator.beat("m", 1)) == (
        E.GROUP_ID_NOT_FOUND,
        f"Consumer group {group} not found.",
    )
    assert error_of(await coordinator.beat("m", -1)) == (
        E.GROUP_ID_NOT_FOUND,
        f"Group {group} not found.",
    )
    assert error_of(await coordinator.describe()) == (
        E.GROUP_ID_NOT_FOUND,
        f"Group {group} not found.",
    )
    assert E((await coordinator.describe("")).error_code) is E.INVALID_GROUP_ID
    await coordinator.join("m")
    assert error_of(await coordinator.beat("n", 1)) == (
        E.UNKNOWN_MEMBER_ID,
        f"Member n is not a member of group {group}.",
    )


async def test_one_member_has_everything(coordinator: Coordinator) -> None:
    joined = await coordinator.join("m")
    again = await coordinator.join("m")
    everything = {"subscribed_topic_names": [coordinator.topic], **MEMBER}

    assert (joined.member_id, joined.member_epoch, told(joined)) == ("m", 2, [0, 1, 2, 3])
    assert (again.member_epoch, told(again)) == (2, [0, 1, 2, 3])
    assert (await coordinator.beat("m", 2, [0, 1, 2, 3])).assignment is None
    assert told(await coordinator.beat("m", 2, [0, 1, 2, 3], **everything)) == [0, 1, 2, 3]
    code, message = error_of(await coordinator.beat("m", 7))
    assert code is E.FENCED_MEMBER_EPOCH
    assert message is not None
    assert "greater member epoch (7) than the one known by the group coordinator (2)" in message


async def test_a_second_member_gets_what_the_first_gives_up(coordinator: Coordinator) -> None:
    await coordinator.join("m")
    second = await coordinator.join("n")
    assert told(second) == []

    asked = await coordinator.assigned("m", 2, [0, 1, 2, 3])
    kept = told(asked)
    assert (asked.member_epoch, len(kept)) == (2, 2)
    described = await coordinator.describe()
    assert (described.group_state, described.group_epoch) == ("Reconciling", 3)
    held = {each.member_id: each.assignment for each in described.members}
    assert sum(len(topic.partitions) for topic in held["m"].topic_partitions) == 4

    assert await coordinator.commit("m", 2, partition=kept[0]) is E.NONE
    assert (await coordinator.beat("m", 2, kept)).member_epoch == 3
    given_up = sorted({0, 1, 2, 3} - set(kept))
    got = await coordinator.assigned("n", second.member_epoch)
    assert (got.member_epoch, told(got)) == (3, given_up)
    assert (await coordinator.describe()).group_state == "Stable"
    assert await coordinator.commit("m", 2, partition=kept[0]) is E.NONE
    assert await coordinator.commit("m", 2, partition=given_up[0]) is E.STALE_MEMBER_EPOCH
    assert await coordinator.fetch("m", 2) is E.STALE_MEMBER_EPOCH


async def test_members_commit_and_fetch_in_their_epoch(coordinator: Coordinator) -> None:
    await coordinator.join("m")

    assert await coordinator.commit("m", 2) is E.NONE
    assert await coordinator.commit("m", 2, version=8) is E.UNSUPPORTED_VERSION
    assert await coordinator.commit("m", 3) is E.STALE_MEMBER_EPOCH
    assert await coordinator.commit("m", 1) is E.STALE_MEMBER_EPOCH
    assert await coordinator.commit("n", 2) is E.UNKNOWN_MEMBER_ID
    assert await coordinator.commit("", -1) is E.UNKNOWN_MEMBER_ID
    assert await coordinator.fetch("m", 2) is E.NONE
    assert await coordinator.fetch("m", 1) is E.STALE_MEMBER_EPOCH
    assert await coordinator.fetch("n", 2) is E.UNKNOWN_MEMBER_ID
    assert await coordinator.fetch("", -1) is E.UNKNOWN_MEMBER_ID
    assert await coordinator.fetch(None, -1) is E.NONE


async def test_who_leaves_is_gone(coordinator: Coordinator) -> None:
    await coordinator.join("m")

    left = await coordinator.beat("m", -1)

    assert (left.member_id, left.member_epoch) == ("m", -1)
    described = await coordinator.describe()
    assert (described.group_state, described.group_epoch, described.members) == ("Empty", 3, [])
    assert await coordinator.commit("", -1) is E.NONE
    assert E((await coordinator.beat("m", -1)).error_code) is E.UNKNOWN_MEMBER_ID


async def test_a_static_member_comes_back(coordinator: Coordinator) -> None:
    one = {"instance_id": "one"}
    await coordinator.join("m", **one)

    taken = await coordinator.join("n", **one)
    assert error_of(taken) == (
        E.UNRELEASED_INSTANCE_ID,
        (
            "Static member n with instance id one cannot join the group because the instance id "
            "is owned by m member."
        ),
    )
    unknown = await coordinator.beat("m", 2, instance_id="two")
    assert error_of(unknown) == (E.UNKNOWN_MEMBER_ID, "Instance id two is unknown.")
    assert (await coordinator.beat("m", -2, **one)).member_epoch == -2
    assert (await coordinator.describe()).members[0].member_epoch == -2
    late = await coordinator.beat("m", 2, [0], **one)
    assert error_of(late) == (
        E.FENCED_MEMBER_EPOCH,
        (
            "The consumer group member has a greater member epoch (2) than the one known by the "
            "group coordinator (-2). The member must abandon all its partitions and rejoin."
        ),
    )
    back = await coordinator.join("n", **one)
    assert (back.member_epoch, told(back)) == (2, [0, 1, 2, 3])
    fenced = await coordinator.beat("m", 2, **one)
    assert error_of(fenced) == (
        E.FENCED_INSTANCE_ID,
        "Static member m with instance id one was fenced by member n.",
    )
    leaving = LeaveGroupRequest(
        group_id=coordinator.group,
        members=[MemberIdentity(group_instance_id="one"), MemberIdentity(member_id="x")],
    )
    left = await coordinator.client.ask(leaving, 5)
    assert [E(each.error_code) for each in left.members] == [E.NONE, E.UNKNOWN_MEMBER_ID]
    assert (await coordinator.describe()).members == []


async def test_a_static_member_that_left_for_a_while_leaves_for_good(
    coordinator: Coordinator,
) -> None:
    one = {"instance_id": "one"}
    await coordinator.join("m", **one)
    await coordinator.beat("m", -2, **one)
    await coordinator.beat("m", -2, **one)

    other = await coordinator.beat("n", -1, **one)
    left = await coordinator.beat("m", -1, **one)

    assert E(other.error_code) is E.FENCED_INSTANCE_ID
    assert (left.error_code, left.member_epoch) == (E.NONE, -1)
    assert (await coordinator.describe()).members == []
    late = await coordinator.beat("m", -1, **one)
    assert error_of(late) == (E.UNKNOWN_MEMBER_ID, "Instance id one is unknown.")


async def test_a_pattern_stands_for_topics(coordinator: Coordinator) -> None:
    pattern = f"(?i){coordinator.topic.upper()}"
    joined = await coordinator.join(
        "m", subscribed_topic_names=None, subscribed_topic_regex=pattern
    )

    while not told(joined):
        joined = await coordinator.assigned("m", joined.member_epoch)

    assert told(joined) == [0, 1, 2, 3]
    (member,) = (await coordinator.describe()).members
    assert (member.subscribed_topic_names, member.subscribed_topic_regex) == ([], pattern)


async def test_classic_requests_about_a_consumer_group(coordinator: Coordinator) -> None:
    await coordinator.join("m")
    client, group, topic = coordinator.client, coordinator.group, coordinator.topic

    listed = await client.ask(ListGroupsRequest(types_filter=["Consumer"]), 5)
    found = next(each for each in listed.groups if each.group_id == group)
    assert (found.group_type, found.protocol_type, found.group_state) == (
        "consumer",
        "consumer",
        "Stable",
    )
    classic = await client.ask(ListGroupsRequest(types_filter=["classic"]), 5)
    assert group not in {each.group_id for each in classic.groups}
    (described,) = (await client.ask(DescribeGroupsRequest(groups=[group]), 6)).groups
    assert error_of(described) == (E.GROUP_ID_NOT_FOUND, f"Group {group} is not a classic group.")
    beat = HeartbeatRequest(group_id=group, member_id="m", generation_id=2)
    assert E((await client.ask(beat, 4)).error_code) is E.UNKNOWN_MEMBER_ID
    partition = OffsetDeleteRequestPartition(partition_index=0)
    deletion = OffsetDeleteRequest(
        group_id=group, topics=[OffsetDeleteRequestTopic(name=topic, partitions=[partition])]
    )
    (deleted,) = (await client.ask(deletion, 0)).topics
    assert E(deleted.partitions[0].error_code) is E.GROUP_SUBSCRIBED_TO_TOPIC
    (refused,) = (await client.ask(DeleteGroupsRequest(groups_names=[group]), 2)).results
    assert E(refused.error_code) is E.NON_EMPTY_GROUP
    await coordinator.beat("m", -1)
    (gone,) = (await client.ask(DeleteGroupsRequest(groups_names=[group]), 2)).results
    assert E(gone.error_code) is E.NONE


async def test_offsets_of_partitions_that_do_not_exist_are_not_deleted(
    coordinator: Coordinator,
) -> None:
    client, group, topic = coordinator.client, coordinator.group, coordinator.topic
    assert await coordinator.commit("", -1) is E.NONE
    deletion = OffsetDeleteRequest(
        group_id=group,
        topics=[
            OffsetDeleteRequestTopic(
                name=topic,
                partitions=[
                    OffsetDeleteRequestPartition(partition_index=number) for number in (0, 1000)
                ],
            )
        ],
    )

    (deleted,) = (await client.ask(deletion, 0)).topics

    codes = {each.partition_index: E(each.error_code) for each in deleted.partitions}
    assert codes == {0: E.NONE, 1000: E.UNKNOWN_TOPIC_OR_PARTITION}


async def test_offsets_of_an_empty_classic_group_stay_when_it_changes_its_type(
    coordinator: Coordinator,
) -> None:
    assert await coordinator.commit("", -1) is E.NONE

    joined = await coordinator.join("m")

    assert (joined.member_epoch, told(joined)) == (2, [0, 1, 2, 3])
    assert await coordinator.fetch("m", 2) is E.NONE
