"""Streams groups beside others: offsets, types of groups, administration, restarts (KIP-1071)."""

from __future__ import annotations

import asyncio

from conformance.test_streams_groups import ALL, group_
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from pyk.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from pyk.protocol.messages.describe_groups import DescribeGroupsRequest
from pyk.protocol.messages.heartbeat import HeartbeatRequest
from pyk.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from pyk.protocol.messages.list_groups import ListGroupsRequest
from pyk.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from pyk.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from pyk.protocol.messages.streams_group_describe import Member
from pyk.protocol.messages.streams_group_heartbeat import (
    Endpoint,
    KeyValue,
)
from support.broker_requests import join
from support.brokers import Kafka, restart_beside_heartbeats
from support.raw_client import RawClient
from support.raw_streams_groups import (
    StreamsCoordinator,
    connected_to_coordinator,
    named,
    owning,
    streams_coordinator,
)

__all__ = ["group_"]

E = ErrorCode


# -- offsets -------------------------------------------------------------------------------------


async def test_members_commit_with_their_epoch(group_: StreamsCoordinator) -> None:
    await group_.join("a")

    assert await group_.commit("a", 2) is E.NONE
    assert await group_.commit("a", 2, version=8) is E.UNSUPPORTED_VERSION
    assert await group_.commit("a", 3) is E.STALE_MEMBER_EPOCH
    assert await group_.commit("a", 1) is E.STALE_MEMBER_EPOCH
    assert await group_.commit("b", 2) is E.UNKNOWN_MEMBER_ID
    assert await group_.commit("", -1) is E.UNKNOWN_MEMBER_ID
    assert await group_.fetch("a", 2) is E.NONE
    assert await group_.fetch(None, -1) is E.NONE
    assert await group_.fetch("a", 1) is E.STALE_MEMBER_EPOCH
    assert await group_.fetch("b", 2) is E.UNKNOWN_MEMBER_ID


async def test_an_older_epoch_is_good_for_tasks_that_were_had_since(
    group_: StreamsCoordinator,
) -> None:
    await group_.join("a")
    await group_.join("b")
    await group_.beat("a", 2, **owning(ALL))
    assert await group_.commit("a", 2, partition=2) is E.NONE
    answer = await group_.beat("a", 2, **owning({"0": [0, 1]}))
    assert answer.member_epoch == 3

    assert await group_.commit("a", 2, partition=0) is E.NONE
    assert await group_.commit("a", 1, partition=0) is E.STALE_MEMBER_EPOCH
    assert await group_.commit("a", 2, partition=2) is E.STALE_MEMBER_EPOCH
    assert await group_.commit("a", 2, topic=group_.store) is E.STALE_MEMBER_EPOCH
    assert await group_.commit("a", 3, partition=2, topic=group_.store) is E.NONE


async def test_anybody_may_commit_to_an_empty_group(group_: StreamsCoordinator) -> None:
    await group_.join("a")
    await group_.beat("a", -1)

    assert await group_.commit("", -1, version=8) is E.NONE
    assert await group_.commit("a", 4) is E.UNKNOWN_MEMBER_ID


async def test_offsets_of_topics_that_tasks_read_are_not_deleted(
    group_: StreamsCoordinator,
) -> None:
    await group_.join("a")
    await group_.commit("a", 2)

    async def delete(topic: str) -> E:
        request = OffsetDeleteRequest(
            group_id=group_.group,
            topics=[
                OffsetDeleteRequestTopic(
                    name=topic, partitions=[OffsetDeleteRequestPartition(partition_index=0)]
                )
            ],
        )
        answer = await group_.client.ask(request, 0)
        assert not answer.error_code
        return E(answer.topics[0].partitions[0].error_code)

    assert await delete(group_.topic) is E.GROUP_SUBSCRIBED_TO_TOPIC
    assert await delete(group_.store) is E.NONE
    await group_.beat("a", -1)
    assert await delete(group_.topic) is E.NONE


# -- groups of other types -----------------------------------------------------------------------


async def test_a_streams_group_is_no_other(group_: StreamsCoordinator) -> None:
    await group_.join("a")
    ask, name = group_.client.ask, group_.group

    (described,) = (await ask(ConsumerGroupDescribeRequest(group_ids=[name]), 1)).groups
    assert (described.error_code, described.error_message) == (
        E.GROUP_ID_NOT_FOUND,
        f"Group {name} is not a consumer group.",
    )
    (described,) = (await ask(DescribeGroupsRequest(groups=[name]), 6)).groups
    assert (described.error_code, described.error_message) == (
        E.GROUP_ID_NOT_FOUND,
        f"Group {name} is not a classic group.",
    )
    consumer = ConsumerGroupHeartbeatRequest(
        group_id=name,
        member_id="x",
        member_epoch=0,
        rebalance_timeout_ms=1000,
        subscribed_topic_names=[group_.topic],
        topic_partitions=[],
    )
    answer = await ask(consumer, 1)
    assert (answer.error_code, answer.error_message) == (
        E.GROUP_ID_NOT_FOUND,
        f"Group {name} is not a consumer group.",
    )
    share = ShareGroupHeartbeatRequest(
        group_id=name, member_id="x", member_epoch=0, subscribed_topic_names=[group_.topic]
    )
    assert (await ask(share, 1)).error_code == E.GROUP_ID_NOT_FOUND
    assert (await ask(join(group=name), 5)).error_code == E.INCONSISTENT_GROUP_PROTOCOL
    beat = HeartbeatRequest(group_id=name, member_id="a", generation_id=2)
    assert (await ask(beat, 4)).error_code == E.UNKNOWN_MEMBER_ID
    leave = LeaveGroupRequest(group_id=name, members=[MemberIdentity(member_id="a")])
    left = await ask(leave, 5)
    assert (left.error_code, [each.error_code for each in left.members]) in (
        (E.UNKNOWN_MEMBER_ID, []),
        (E.NONE, [E.UNKNOWN_MEMBER_ID]),
    )


async def test_a_group_of_another_type_is_no_streams_group(group_: StreamsCoordinator) -> None:
    consumer = ConsumerGroupHeartbeatRequest(
        group_id=group_.group,
        member_id="x",
        member_epoch=0,
        rebalance_timeout_ms=1000,
        subscribed_topic_names=[group_.topic],
        topic_partitions=[],
    )
    await group_.client.ask(consumer, 1)

    answer = await group_.join("a")
    refused = (E.GROUP_ID_NOT_FOUND, f"Group {group_.group} is not a streams group.")
    assert (answer.error_code, answer.error_message) == refused
    described = await group_.describe()
    assert (described.error_code, described.error_message) == refused


async def test_an_empty_classic_group_becomes_a_streams_group(
    group_: StreamsCoordinator,
) -> None:
    assert await group_.commit("", -1, version=8) is E.NONE

    answer = await group_.join("a")

    assert (answer.error_code, named(answer.active_tasks)) == (E.NONE, ALL)
    assert await group_.fetch("a", 2) is E.NONE


async def test_an_empty_streams_group_becomes_a_classic_group(group_: StreamsCoordinator) -> None:
    await group_.join("a")
    await group_.beat("a", -1)

    answer = await group_.client.ask(join(group=group_.group), 5)
    assert answer.error_code == E.MEMBER_ID_REQUIRED
    joined = await group_.client.ask(join(answer.member_id, group=group_.group), 5)

    assert (joined.error_code, joined.leader) == (E.NONE, answer.member_id)
    assert (await group_.join("a")).error_code == E.GROUP_ID_NOT_FOUND


# -- administration ------------------------------------------------------------------------------


async def test_a_group_is_listed_described_and_deleted(group_: StreamsCoordinator) -> None:
    await group_.join(
        "a",
        rack_id="r",
        user_endpoint=Endpoint(host="here", port=9),
        client_tags=[KeyValue(key="zone", value="z")],
    )

    assert await listed(group_) == [("Stable", "streams", "streams")]
    assert await listed(group_, states=["stable"], types=["Streams"]) == [
        ("Stable", "streams", "streams")
    ]
    assert await listed(group_, types=["consumer"]) == []
    described = await group_.describe(include_authorized_operations=True)
    (member,) = described.members
    assert (described.group_state, described.group_epoch, described.assignment_epoch) == (
        "Stable",
        2,
        2,
    )
    assert described.authorized_operations == 0b1101_0100_1000
    assert (member.member_id, member.member_epoch, member.topology_epoch) == ("a", 2, 0)
    assert (member.rack_id, member.instance_id, member.is_classic) == ("r", None, False)
    assert (member.client_id, member.process_id) == ("raw", "process-of-a")
    assert member.client_host == "/127.0.0.1"
    assert member.user_endpoint is not None
    assert (member.user_endpoint.host, member.user_endpoint.port) == ("here", 9)
    assert [(each.key, each.value) for each in member.client_tags] == [("zone", "z")]
    assert named(member.assignment.active_tasks) == ALL
    assert named(member.target_assignment.active_tasks) == ALL
    assert (member.task_offsets, member.task_end_offsets) == ([], [])

    assert await group_.delete() is E.NON_EMPTY_GROUP
    await group_.beat("a", -1)
    assert await listed(group_) == [("Empty", "streams", "streams")]
    assert await group_.delete() is E.NONE
    assert await group_.delete() is E.GROUP_ID_NOT_FOUND
    described = await group_.describe()
    assert (described.error_code, described.error_message) == (
        E.GROUP_ID_NOT_FOUND,
        f"Group {group_.group} not found.",
    )
    assert (await group_.describe("")).error_code == E.INVALID_GROUP_ID


async def test_a_state_of_two_words_is_filtered_by_another_name(
    group_: StreamsCoordinator,
) -> None:
    await group_.join("a", topology=group_.topology("missing-source"))

    assert await listed(group_, states=["NotReady"]) == []
    assert await listed(group_, states=["not_ready"]) == [("NotReady", "streams", "streams")]


async def listed(
    group: StreamsCoordinator, states: list[str] | None = None, types: list[str] | None = None
) -> list[tuple[str, str, str]]:
    request = ListGroupsRequest(states_filter=states or [], types_filter=types or [])
    answer = await group.client.ask(request, 5)
    return [
        (each.group_state, each.group_type, each.protocol_type)
        for each in answer.groups
        if each.group_id == group.group
    ]


async def test_a_group_may_have_settings_of_its_own(group_: StreamsCoordinator) -> None:
    await group_.apply("streams.num.standby.replicas", "1")
    assert (await group_.join("a")).heartbeat_interval_ms == 5_001

    for name, value, message in (
        ("streams.heartbeat.interval.ms", "1", "group.streams.min.heartbeat.interval.ms"),
        ("streams.heartbeat.interval.ms", "16000", "group.streams.max.heartbeat.interval.ms"),
        ("streams.session.timeout.ms", "44000", "group.streams.min.session.timeout.ms"),
        ("streams.session.timeout.ms", "61000", "group.streams.max.session.timeout.ms"),
        ("streams.num.standby.replicas", "3", "group.streams.max.standby.replicas"),
        ("streams.assignment.interval.ms", "15001", "group.streams.max.assignment.interval.ms"),
    ):
        relation = "less" if ".max." in message else "greater"
        assert await group_.configure(name, value) == (
            E.INVALID_CONFIG,
            f"{name} must be {relation} than or equal to {message}",
        )
    code, _ = await group_.configure("streams.initial.rebalance.delay.ms", "-1")
    assert code is E.INVALID_CONFIG


async def test_a_group_is_the_same_after_its_coordinator_restarts(kafka: Kafka, group: str) -> None:
    async with streams_coordinator(kafka, group) as before:
        topic, store = before.topic, before.store
        await before.join("a", user_endpoint=Endpoint(host="here", port=9))
        await before.join("b")
        await before.beat("a", 2, **owning(ALL))
        described = await before.describe()

    async def beat(client: RawClient) -> None:
        asked = StreamsCoordinator(client, group, topic, store)
        await asked.beat("a", 2, **owning(ALL))
        await asked.beat("b", 3)

    await restart_beside_heartbeats(kafka, range(kafka.nodes), beat)

    async with connected_to_coordinator(kafka, group) as client:
        after = StreamsCoordinator(client, group, topic, store)
        async with asyncio.timeout(30):
            while (again := await after.describe()).error_code:
                await asyncio.sleep(0.05)
        assert by_id(again.members) == by_id(described.members)
        assert (again.group_state, again.group_epoch) == (
            described.group_state,
            described.group_epoch,
        )
        answer = await after.beat("a", 2, **owning({"0": [0, 1]}))
        assert (answer.error_code, answer.member_epoch) == (E.NONE, 3)
        assert named((await after.beat("b", 3)).active_tasks) == {"0": [2, 3]}


def by_id(members: list[Member]) -> dict[str, Member]:
    return {each.member_id: each for each in members}
