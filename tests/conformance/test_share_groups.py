"""Share groups (KIP-932): the same requests get the same answers as from Apache Kafka."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from pyk.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from pyk.protocol.messages.heartbeat import HeartbeatRequest
from pyk.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from pyk.protocol.messages.list_groups import ListGroupsRequest
from pyk.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from pyk.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from pyk.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from pyk.protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from support.broker_requests import coordinator_of, join
from support.brokers import Kafka, restart_beside_heartbeats
from support.raw_client import RawClient
from support.raw_share_groups import Coordinator, Partitions, coordinator_at, error_of, told

E = ErrorCode
REJOIN = "The member must abandon all its partitions and rejoin."


@pytest_asyncio.fixture
async def coordinator(kafka: Kafka, group: str) -> AsyncIterator[Coordinator]:
    async with coordinator_at(kafka, group) as found:
        yield found


# -- members -------------------------------------------------------------------------------------


async def test_a_member_joins_and_gets_all_partitions(coordinator: Coordinator) -> None:
    answer = await coordinator.join("a")

    assert error_of(answer) == (E.NONE, None)
    assert answer.member_id == "a"
    assert answer.assignment is not None
    assert told(answer) == []  # they have no state yet
    await coordinator.assigned("a", answer.member_epoch, [0, 1, 2])


async def test_heartbeats_tell_the_assignment_only_when_it_has_changed(
    coordinator: Coordinator,
) -> None:
    epoch = (await coordinator.join("a")).member_epoch
    epoch = await coordinator.assigned("a", epoch, [0, 1, 2])

    answer = await coordinator.beat("a", epoch)
    assert (answer.member_epoch, answer.assignment) == (epoch, None)

    full = await coordinator.beat("a", epoch, subscribed_topic_names=[coordinator.topic])
    assert told(full) == [0, 1, 2]

    again = await coordinator.join("a")
    assert (again.member_epoch, told(again)) == (epoch, [0, 1, 2])


async def test_more_members_than_partitions_share_them(coordinator: Coordinator) -> None:
    members: dict[str, int] = {}
    held: dict[str, Partitions] = {}
    for name in "abcdef":
        answer = await coordinator.join(name)
        members[name], held[name] = answer.member_epoch, told(answer)

    async with asyncio.timeout(30):
        while any(len(each) != 1 for each in held.values()):
            for name, epoch in members.items():
                answer = await coordinator.beat(name, epoch)
                members[name] = answer.member_epoch
                if answer.assignment is not None:
                    held[name] = told(answer)
            await asyncio.sleep(0.05)

    assert sorted(n for each in held.values() for n in each) == [0, 0, 1, 1, 2, 2]


async def test_members_leave(coordinator: Coordinator) -> None:
    await coordinator.join("a")

    answer = await coordinator.beat("a", -1)

    assert error_of(answer) == (E.NONE, None)
    assert (answer.member_id, answer.member_epoch) == ("a", -1)
    assert (await coordinator.describe()).group_state == "Empty"
    gone = await coordinator.beat("a", -1)
    assert error_of(gone) == (
        E.UNKNOWN_MEMBER_ID,
        f"Member a is not a member of group {coordinator.group}.",
    )


async def test_requests_that_make_no_sense_are_refused(coordinator: Coordinator) -> None:
    beat, invalid = coordinator.beat, E.INVALID_REQUEST

    for answer, message in (
        (await beat("", 0), None),
        (await beat(" ", 0), "MemberId can't be empty."),
        (await beat("a", 0, group_id=""), "GroupId can't be empty."),
        (await beat("a", 0, rack_id=" "), "RackId can't be empty."),
        (await beat("a", 0), "SubscribedTopicNames must be set in first request."),
        (
            await beat("a", 0, subscribed_topic_names=[]),
            "SubscribedTopicNames must be set in first request.",
        ),
        (await beat("a", -2), "MemberEpoch is invalid."),
    ):
        assert error_of(answer) == (invalid, message)


async def test_member_ids_are_no_longer_than_uuids(coordinator: Coordinator) -> None:
    assert error_of(await coordinator.join("x" * 36)) == (E.NONE, None)
    assert error_of(await coordinator.join("x" * 37)) == (E.INVALID_REQUEST, None)
    assert error_of(await coordinator.beat("x" * 37, -1)) == (E.INVALID_REQUEST, None)


async def test_unknown_groups_and_members_are_refused(coordinator: Coordinator) -> None:
    group = coordinator.group
    unknown = (E.GROUP_ID_NOT_FOUND, f"Share group {group} not found.")
    assert error_of(await coordinator.beat("a", 1)) == unknown
    assert error_of(await coordinator.beat("a", -1)) == (
        E.GROUP_ID_NOT_FOUND,
        f"Group {group} not found.",
    )

    await coordinator.join("a")

    assert error_of(await coordinator.beat("b", 1)) == (
        E.UNKNOWN_MEMBER_ID,
        f"Member b is not a member of group {group}.",
    )


async def test_members_with_other_epochs_are_fenced(coordinator: Coordinator) -> None:
    epoch = (await coordinator.join("a")).member_epoch
    epoch = await coordinator.assigned("a", epoch, [0, 1, 2])

    greater = await coordinator.beat("a", epoch + 1)
    smaller = await coordinator.beat("a", epoch - 2)

    code, message = error_of(greater)
    assert code is E.FENCED_MEMBER_EPOCH
    assert message == (
        f"The share group member has a greater member epoch ({epoch + 1}) than the one known by "
        f"the group coordinator ({epoch}). {REJOIN}"
    )
    code, message = error_of(smaller)
    assert code is E.FENCED_MEMBER_EPOCH
    assert message is not None
    assert message.startswith(
        f"The share group member has a smaller member epoch ({epoch - 2}) than the one known by "
        f"the group coordinator ({epoch}), and it does not match the previous member epoch ("
    )


async def test_the_epoch_before_is_still_taken(coordinator: Coordinator) -> None:
    first = (await coordinator.join("a")).member_epoch
    await coordinator.assigned("a", first, [0, 1, 2])
    before = (await coordinator.describe()).members[0].member_epoch
    await coordinator.join("b")
    epoch = before
    async with asyncio.timeout(30):
        while epoch == before:
            epoch = (await coordinator.beat("a", epoch)).member_epoch
            await asyncio.sleep(0.05)

    again = await coordinator.beat("a", before)

    assert not again.error_code
    assert again.member_epoch >= epoch


# -- other types of groups -----------------------------------------------------------------------


async def test_a_share_group_is_no_group_of_another_type(coordinator: Coordinator) -> None:
    group, topic, ask = coordinator.group, coordinator.topic, coordinator.client.ask
    await coordinator.join("a")

    consumer = await ask(
        ConsumerGroupHeartbeatRequest(
            group_id=group,
            member_id="c",
            member_epoch=0,
            rebalance_timeout_ms=1000,
            subscribed_topic_names=[topic],
            topic_partitions=[],
        ),
        1,
    )
    assert error_of(consumer) == (
        E.GROUP_ID_NOT_FOUND,
        f"Group {group} is not a consumer group.",
    )
    described = await ask(ConsumerGroupDescribeRequest(group_ids=[group]), 1)
    assert described.groups[0].error_code == E.GROUP_ID_NOT_FOUND
    assert (await ask(join(group=group), 9)).error_code == E.INCONSISTENT_GROUP_PROTOCOL
    beat = HeartbeatRequest(group_id=group, member_id="a", generation_id=1)
    assert (await ask(beat, 4)).error_code == E.UNKNOWN_MEMBER_ID


async def test_a_share_group_commits_no_offsets(coordinator: Coordinator) -> None:
    group, topic, ask = coordinator.group, coordinator.topic, coordinator.client.ask
    await coordinator.join("a")

    partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=5)
    commit = OffsetCommitRequest(
        group_id=group,
        generation_id_or_member_epoch=-1,
        topics=[OffsetCommitRequestTopic(name=topic, partitions=[partition])],
    )
    (committed,) = (await ask(commit, 9)).topics
    assert committed.partitions[0].error_code == E.GROUP_ID_NOT_FOUND
    fetch = OffsetFetchRequest(
        groups=[
            OffsetFetchRequestGroup(
                group_id=group,
                topics=[OffsetFetchRequestTopics(name=topic, partition_indexes=[0])],
            )
        ]
    )
    (fetched,) = (await ask(fetch, 9)).groups
    assert (fetched.error_code, fetched.topics[0].partitions[0].committed_offset) == (E.NONE, -1)
    delete = OffsetDeleteRequest(
        group_id=group,
        topics=[
            OffsetDeleteRequestTopic(
                name=topic, partitions=[OffsetDeleteRequestPartition(partition_index=0)]
            )
        ],
    )
    assert (await ask(delete, 0)).error_code == E.GROUP_ID_NOT_FOUND


async def test_a_consumer_group_is_no_share_group(coordinator: Coordinator) -> None:
    group, topic = coordinator.group, coordinator.topic
    await coordinator.client.ask(
        ConsumerGroupHeartbeatRequest(
            group_id=group,
            member_id="c",
            member_epoch=0,
            rebalance_timeout_ms=1000,
            subscribed_topic_names=[topic],
            topic_partitions=[],
        ),
        1,
    )
    other = (E.GROUP_ID_NOT_FOUND, f"Group {group} is not a share group.")

    assert error_of(await coordinator.join("a")) == other
    assert error_of(await coordinator.describe()) == other
    assert error_of(await coordinator.alter(topic, p0=1)) == other
    assert error_of(await coordinator.delete_offsets(topic)) == other


# -- describe and list ---------------------------------------------------------------------------


async def test_groups_are_described(coordinator: Coordinator) -> None:
    epoch = (await coordinator.join("a", rack_id="r1")).member_epoch
    epoch = await coordinator.assigned("a", epoch, [0, 1, 2])

    found = await coordinator.describe()

    assert error_of(found) == (E.NONE, None)
    assert (found.group_id, found.group_state) == (coordinator.group, "Stable")
    assert (found.group_epoch, found.assignment_epoch) == (epoch, epoch)
    assert found.assignor_name == "simple"
    (member,) = found.members
    assert (member.member_id, member.rack_id, member.member_epoch) == ("a", "r1", epoch)
    assert (member.client_id, member.client_host) == ("raw", "/127.0.0.1")
    assert member.subscribed_topic_names == [coordinator.topic]
    (topic,) = member.assignment.topic_partitions
    assert (topic.topic_id, topic.topic_name) == (coordinator.topic_id, coordinator.topic)
    assert sorted(topic.partitions) == [0, 1, 2]


async def test_unknown_groups_are_not_described(coordinator: Coordinator) -> None:
    assert error_of(await coordinator.describe()) == (
        E.GROUP_ID_NOT_FOUND,
        f"Group {coordinator.group} not found.",
    )
    assert (await coordinator.describe("")).error_code == E.INVALID_GROUP_ID


async def test_groups_are_listed_with_their_type(coordinator: Coordinator) -> None:
    await coordinator.join("a")

    response = await coordinator.client.ask(ListGroupsRequest(types_filter=["Share"]), 5)

    (found,) = [each for each in response.groups if each.group_id == coordinator.group]
    assert (found.group_type, found.protocol_type) == ("share", "share")
    assert found.group_state == "Stable"


# -- configurations and the feature --------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("session.timeout.ms", "50000", None),
        ("session.timeout.ms", "44000", "greater than or equal to group.share.min."),
        ("session.timeout.ms", "70000", "less than or equal to group.share.max."),
        ("heartbeat.interval.ms", "4000", "greater than or equal to group.share.min."),
        ("heartbeat.interval.ms", "20000", "less than or equal to group.share.max."),
        ("assignment.interval.ms", "20000", "less than or equal to group.share.max."),
        ("record.lock.duration.ms", "14000", "greater than or equal to group.share.min."),
        ("record.lock.duration.ms", "70000", "less than or equal to group.share.max."),
        ("delivery.count.limit", "11", "less than or equal to group.share.max."),
        ("partition.max.record.locks", "5000", "less than or equal to group.share.max."),
    ],
)
async def test_groups_stay_within_the_limits_of_the_broker(
    coordinator: Coordinator, name: str, value: str, message: str | None
) -> None:
    expected = None if message is None else f"share.{name} must be {message}{name}"
    code = E.NONE if message is None else E.INVALID_CONFIG

    assert await configured(coordinator, f"share.{name}", value) == (code, expected)


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        ("auto.offset.reset", "earliest", E.NONE),
        ("auto.offset.reset", "by_duration:PT1H", E.NONE),
        ("auto.offset.reset", "by_duration:-PT1H", E.INVALID_CONFIG),
        ("auto.offset.reset", "none", E.INVALID_CONFIG),
        ("isolation.level", "read_committed", E.NONE),
        ("isolation.level", "serializable", E.INVALID_CONFIG),
        ("renew.acknowledge.enable", "false", E.NONE),
        ("renew.acknowledge.enable", "no", E.INVALID_CONFIG),
        ("delivery.count.limit", "1", E.INVALID_CONFIG),
    ],
)
async def test_groups_have_configurations(
    coordinator: Coordinator, name: str, value: str, code: E
) -> None:
    assert (await configured(coordinator, f"share.{name}", value))[0] is code


async def configured(coordinator: Coordinator, name: str, value: str) -> tuple[E, str | None]:
    """Set a configuration of the group; return how that went."""
    group = AlterConfigsResource(
        resource_type=32,
        resource_name=coordinator.group,
        configs=[AlterableConfig(name=name, value=value)],
    )
    request = IncrementalAlterConfigsRequest(resources=[group])
    return error_of((await coordinator.client.ask(request, 1)).responses[0])


async def test_without_the_feature_there_are_no_share_groups(coordinator: Coordinator) -> None:
    await coordinator.has_offsets()
    off, described = E.UNSUPPORTED_VERSION, "The version of API is not supported."
    await set_feature(coordinator, 0)
    try:
        async with asyncio.timeout(20):
            while (await coordinator.join("a")).error_code != off:
                await asyncio.sleep(0.05)

        assert error_of(await coordinator.join("a")) == (off, None)
        assert error_of(await coordinator.describe()) == (off, None)
        assert error_of(await coordinator.offsets(None)) == (off, None)
        assert error_of(await coordinator.alter(coordinator.topic, p0=1)) == (off, described)
        assert error_of(await coordinator.delete_offsets(coordinator.topic)) == (off, described)
    finally:
        await set_feature(coordinator, 1)
    async with asyncio.timeout(20):
        while (await coordinator.join("a")).error_code:
            await asyncio.sleep(0.05)


async def set_feature(coordinator: Coordinator, level: int) -> None:
    update = FeatureUpdateKey(
        feature="share.version", max_version_level=level, upgrade_type=1 if level else 2
    )
    request = UpdateFeaturesRequest(feature_updates=[update])
    assert not (await coordinator.client.ask(request, 1)).error_code


# -- restart -------------------------------------------------------------------------------------


async def test_groups_survive_a_crash(kafka: Kafka, coordinator: Coordinator) -> None:
    await coordinator.has_offsets()
    await coordinator.alter(coordinator.topic, p0=2)
    epoch = (await coordinator.join("a")).member_epoch
    epoch = await coordinator.assigned("a", epoch, [0, 1, 2])

    def asked_through(client: RawClient) -> Coordinator:
        return Coordinator(client, coordinator.group, coordinator.topic, coordinator.topic_id)

    await restart_beside_heartbeats(
        kafka, [0], lambda client: asked_through(client).beat("a", epoch)
    )

    async with RawClient(kafka.bootstrap) as node_0:
        address = await coordinator_of(node_0, coordinator.group)
    async with RawClient(address) as client, asyncio.timeout(60):
        again = asked_through(client)
        while (await again.beat("a", epoch)).error_code:
            await asyncio.sleep(0.1)
        (member,) = (await again.describe()).members
        assert (member.member_id, member.member_epoch) == ("a", epoch)
        assert not (await again.beat("a", epoch)).error_code
        while (await again.starts())[0][1] != 2:
            await asyncio.sleep(0.1)
