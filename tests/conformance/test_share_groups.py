"""Share groups (KIP-932): the same requests get the same answers as from Apache Kafka."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

import pytest
import pytest_asyncio

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
)
from pyk.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from pyk.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from pyk.protocol.messages.delete_groups import DeleteGroupsRequest
from pyk.protocol.messages.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsRequestTopic,
)
from pyk.protocol.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsRequestTopic,
)
from pyk.protocol.messages.heartbeat import HeartbeatRequest
from pyk.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from pyk.protocol.messages.list_groups import ListGroupsRequest
from pyk.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
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
from pyk.protocol.messages.share_group_describe import DescribedGroup, ShareGroupDescribeRequest
from pyk.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from pyk.protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from pyk.reference_broker.storage.partition_metadata import encode_id
from support.broker_requests import coordinator_of, join, produce
from support.brokers import Kafka, make_topic_of_node_0
from support.raw_client import RawClient, batch

E = ErrorCode
Partitions = list[int]
REJOIN = "The member must abandon all its partitions and rejoin."
UNKNOWN_TOPIC = "This server does not host this topic-partition."


class Coordinator:
    """The coordinator of one group, asked about one topic of three partitions."""

    def __init__(self, client: RawClient, group: str, topic: str, topic_id: UUID) -> None:
        self.client = client
        self.group = group
        self.topic = topic
        self.topic_id = topic_id

    async def beat(self, member_id: str, epoch: int, **more: Any) -> Any:
        request = ShareGroupHeartbeatRequest(
            **{"group_id": self.group, "member_id": member_id, "member_epoch": epoch, **more}
        )
        return await self.client.ask(request, 1)

    async def join(self, member_id: str, **more: Any) -> Any:
        return await self.beat(member_id, 0, **{"subscribed_topic_names": [self.topic], **more})

    async def assigned(self, member_id: str, epoch: int, wanted: Partitions) -> int:
        """Send heartbeats until the member has these partitions; return its epoch."""
        held: Partitions = []
        async with asyncio.timeout(30):
            while held != wanted:
                answer = await self.beat(
                    member_id, epoch, subscribed_topic_names=[self.topic]
                )  # says everything, and so is told everything
                assert not answer.error_code, answer
                epoch, held = answer.member_epoch, told(answer)
                await asyncio.sleep(0.05)
        return epoch

    async def has_offsets(self) -> None:
        """Join until all partitions have an offset, and leave again."""
        epoch = (await self.join("first")).member_epoch
        await self.assigned("first", epoch, [0, 1, 2])
        await self.beat("first", -1)

    async def describe(self, group: str | None = None) -> DescribedGroup:
        request = ShareGroupDescribeRequest(group_ids=[self.group if group is None else group])
        (described,) = (await self.client.ask(request, 1)).groups
        found: DescribedGroup = described
        return found

    async def offsets(self, topic: str | None, *partitions: int, version: int = 1) -> Any:
        """Ask for offsets, of all topics without one; return the answer about the group."""
        topics = None
        if topic is not None:
            topics = [
                DescribeShareGroupOffsetsRequestTopic(topic_name=topic, partitions=list(partitions))
            ]
        group = DescribeShareGroupOffsetsRequestGroup(group_id=self.group, topics=topics)
        request = DescribeShareGroupOffsetsRequest(groups=[group])
        (found,) = (await self.client.ask(request, version)).groups
        return found

    async def starts(self) -> list[tuple[int, int, int]]:
        """Return number, start offset and lag of each partition with an offset."""
        found = await self.offsets(None)
        assert not found.error_code, found
        return sorted(
            (each.partition_index, each.start_offset, each.lag)
            for topic in found.topics
            for each in topic.partitions
        )

    async def alter(self, topic: str, **offsets: int) -> Any:
        partitions = [
            AlterShareGroupOffsetsRequestPartition(
                partition_index=int(number[1:]), start_offset=offset
            )
            for number, offset in offsets.items()
        ]
        topics = [AlterShareGroupOffsetsRequestTopic(topic_name=topic, partitions=partitions)]
        request = AlterShareGroupOffsetsRequest(group_id=self.group, topics=topics)
        return await self.client.ask(request, 0)

    async def delete_offsets(self, *topics: str) -> Any:
        asked = [DeleteShareGroupOffsetsRequestTopic(topic_name=topic) for topic in topics]
        request = DeleteShareGroupOffsetsRequest(group_id=self.group, topics=asked)
        return await self.client.ask(request, 0)

    async def delete(self) -> E:
        response = await self.client.ask(DeleteGroupsRequest(groups_names=[self.group]), 2)
        return E(response.results[0].error_code)


@pytest_asyncio.fixture
async def coordinator(kafka: Kafka, group: str) -> AsyncIterator[Coordinator]:
    topic = await asyncio.to_thread(make_topic_of_node_0, kafka, "shared", partitions=3)
    async with RawClient(kafka.bootstrap) as node_0:
        asked = MetadataRequest(topics=[MetadataRequestTopic(name=topic)])
        (metadata,) = (await node_0.ask(asked, 12)).topics
        for partition in range(3):
            await produce_to(node_0, topic, partition, 5)
        address = await coordinator_of(node_0, group)
    async with RawClient(address) as client:
        found = Coordinator(client, group, topic, metadata.topic_id)
        async with asyncio.timeout(20):
            while (await found.beat("nobody", 1)).error_code != E.GROUP_ID_NOT_FOUND:
                await asyncio.sleep(0.05)  # until it is loaded
        yield found


async def produce_to(client: RawClient, topic: str, partition: int, count: int) -> None:
    async with asyncio.timeout(20):
        while True:
            request = produce(batch(*[b"x"] * count), topic=topic, partition=partition)
            (answer,) = (await client.ask(request, 12)).responses
            if not answer.partition_responses[0].error_code:
                return
            await asyncio.sleep(0.05)


def told(answer: Any) -> Partitions:
    """Return the partitions of the topic in an answer's assignment."""
    return [n for topic in answer.assignment.topic_partitions for n in sorted(topic.partitions)]


def error_of(answer: Any) -> tuple[E, str | None]:
    return E(answer.error_code), answer.error_message


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


# -- offsets -------------------------------------------------------------------------------------


async def test_offsets_are_described(coordinator: Coordinator) -> None:
    await coordinator.has_offsets()

    assert await coordinator.starts() == [(0, -1, -1), (1, -1, -1), (2, -1, -1)]
    found = await coordinator.offsets(coordinator.topic, 0, 2)
    assert error_of(found) == (E.NONE, None)
    (topic,) = found.topics
    assert (topic.topic_name, topic.topic_id) == (coordinator.topic, coordinator.topic_id)
    assert [
        (each.partition_index, each.start_offset, each.lag, E(each.error_code))
        for each in topic.partitions
    ] == [(0, -1, -1, E.NONE), (2, -1, -1, E.NONE)]


async def test_partitions_are_described_once(coordinator: Coordinator) -> None:
    await coordinator.alter(coordinator.topic, p0=2)
    asked = [
        DescribeShareGroupOffsetsRequestTopic(topic_name=coordinator.topic, partitions=partitions)
        for partitions in ([0, 0], [1, 0])
    ]
    group = DescribeShareGroupOffsetsRequestGroup(group_id=coordinator.group, topics=asked)

    request = DescribeShareGroupOffsetsRequest(groups=[group])
    (found,) = (await coordinator.client.ask(request, 1)).groups

    (topic,) = found.topics
    assert sorted((each.partition_index, each.start_offset) for each in topic.partitions) == [
        (0, 2),
        (1, -1),
    ]


@pytest.mark.parametrize("partitions", [(), (-1,), (0, -1)])
async def test_partitions_that_make_no_sense_are_not_described(
    coordinator: Coordinator, partitions: tuple[int, ...]
) -> None:
    message = "The server experienced an unexpected error when processing the request."

    found = await coordinator.offsets(coordinator.topic, *partitions)

    assert (error_of(found), found.topics) == ((E.UNKNOWN_SERVER_ERROR, message), [])


async def test_offsets_of_unknown_topics_and_groups_are_unknown(coordinator: Coordinator) -> None:
    (topic,) = (await coordinator.offsets("missing", 0)).topics
    assert (topic.topic_id, topic.partitions[0].start_offset) == (UUID(int=0), -1)
    assert topic.partitions[0].error_code == E.NONE
    all_of_them = await coordinator.offsets(None)
    assert (all_of_them.topics, all_of_them.error_code) == ([], E.NONE)


async def test_offsets_of_an_empty_group_are_altered(coordinator: Coordinator) -> None:
    await coordinator.has_offsets()

    answer = await coordinator.alter(coordinator.topic, p0=2, p2=0, p9=0)

    assert error_of(answer) == (E.NONE, None)
    (topic,) = answer.responses
    assert (topic.topic_name, topic.topic_id) == (coordinator.topic, coordinator.topic_id)
    assert [(each.partition_index, *error_of(each)) for each in topic.partitions] == [
        (0, E.NONE, None),
        (2, E.NONE, None),
        (9, E.UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC),
    ]
    assert await coordinator.starts() == [(0, 2, 3), (1, -1, -1), (2, 0, 5)]


async def test_altering_offsets_makes_a_group(coordinator: Coordinator) -> None:
    answer = await coordinator.alter(coordinator.topic, p0=2)

    assert error_of(answer) == (E.NONE, None)
    assert await coordinator.starts() == [(0, 2, 3)]
    found = await coordinator.describe()
    assert (found.group_state, found.members) == ("Empty", [])


async def test_topics_may_be_altered_several_times_in_one_request(
    coordinator: Coordinator,
) -> None:
    topics = [
        AlterShareGroupOffsetsRequestTopic(
            topic_name=coordinator.topic,
            partitions=[
                AlterShareGroupOffsetsRequestPartition(partition_index=1, start_offset=offset)
            ],
        )
        for offset in (1, 3)
    ]
    request = AlterShareGroupOffsetsRequest(group_id=coordinator.group, topics=topics)

    (topic,) = (await coordinator.client.ask(request, 0)).responses

    assert [(each.partition_index, *error_of(each)) for each in topic.partitions] == [
        (1, E.NONE, None),
        (1, E.NONE, None),
    ]
    assert await coordinator.starts() == [(1, 3, 2)]


async def test_offsets_of_negative_partitions_are_not_altered(coordinator: Coordinator) -> None:
    request = AlterShareGroupOffsetsRequest(
        group_id=coordinator.group,
        topics=[
            AlterShareGroupOffsetsRequestTopic(
                topic_name=coordinator.topic,
                partitions=[
                    AlterShareGroupOffsetsRequestPartition(partition_index=-1, start_offset=1)
                ],
            )
        ],
    )

    answer = await coordinator.client.ask(request, 0)

    message = (
        "Initialize share group parameters has invalid partitionId - "
        f"{coordinator.group} {encode_id(coordinator.topic_id)} -1"
    )
    assert (error_of(answer), answer.responses) == ((E.UNKNOWN_SERVER_ERROR, message), [])


async def test_offsets_of_unknown_topics_are_not_altered(coordinator: Coordinator) -> None:
    answer = await coordinator.alter("missing", p0=2)

    assert error_of(answer) == (E.NONE, None)
    (topic,) = answer.responses
    assert (topic.topic_name, topic.topic_id) == ("missing", UUID(int=0))
    assert error_of(topic.partitions[0]) == (E.UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC)


async def test_offsets_of_groups_with_members_are_not_altered(coordinator: Coordinator) -> None:
    await coordinator.join("a")
    refused = E.NON_EMPTY_GROUP, "The group is not empty."

    assert error_of(await coordinator.alter(coordinator.topic, p0=2)) == refused
    assert error_of(await coordinator.delete_offsets(coordinator.topic)) == refused
    assert await coordinator.delete() is E.NON_EMPTY_GROUP


async def test_offsets_are_deleted(coordinator: Coordinator) -> None:
    await coordinator.has_offsets()
    await coordinator.alter(coordinator.topic, p0=2)

    answer = await coordinator.delete_offsets(coordinator.topic)

    assert error_of(answer) == (E.NONE, None)
    (topic,) = answer.responses
    assert (topic.topic_name, topic.topic_id) == (coordinator.topic, coordinator.topic_id)
    assert error_of(topic) == (E.NONE, None)
    assert await coordinator.starts() == []
    again = await coordinator.delete_offsets(coordinator.topic, "missing")
    assert sorted((each.topic_name, *error_of(each)) for each in again.responses) == sorted(
        [
            (
                coordinator.topic,
                E.UNKNOWN_TOPIC_OR_PARTITION,
                "There is no offset information to delete.",
            ),
            ("missing", E.UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC),
        ]
    )


async def test_offsets_of_unknown_groups_are_not_deleted(coordinator: Coordinator) -> None:
    assert error_of(await coordinator.delete_offsets(coordinator.topic)) == (
        E.GROUP_ID_NOT_FOUND,
        f"Group {coordinator.group} not found.",
    )


async def test_deleted_offsets_begin_again(coordinator: Coordinator) -> None:
    await coordinator.has_offsets()
    await coordinator.alter(coordinator.topic, p0=2)
    await coordinator.delete_offsets(coordinator.topic)

    await coordinator.has_offsets()

    assert await coordinator.starts() == [(0, -1, -1), (1, -1, -1), (2, -1, -1)]


async def test_groups_are_deleted_with_their_offsets(coordinator: Coordinator) -> None:
    await coordinator.has_offsets()
    await coordinator.alter(coordinator.topic, p0=2)

    assert await coordinator.delete() is E.NONE

    assert (await coordinator.describe()).error_code == E.GROUP_ID_NOT_FOUND
    assert await coordinator.delete() is E.GROUP_ID_NOT_FOUND
    (topic,) = (await coordinator.offsets(coordinator.topic, 0)).topics
    assert topic.partitions[0].start_offset == -1


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

    await asyncio.to_thread(kafka.kill_and_restart)

    async with RawClient(kafka.bootstrap) as node_0:
        address = await coordinator_of(node_0, coordinator.group)
    async with RawClient(address) as client, asyncio.timeout(60):
        again = Coordinator(client, coordinator.group, coordinator.topic, coordinator.topic_id)
        while (await again.beat("a", epoch)).error_code:
            await asyncio.sleep(0.1)
        (member,) = (await again.describe()).members
        assert (member.member_id, member.member_epoch) == ("a", epoch)
        assert not (await again.beat("a", epoch)).error_code
        while (await again.starts())[0][1] != 2:
            await asyncio.sleep(0.1)
