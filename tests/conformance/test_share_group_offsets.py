"""Offsets of share groups (KIP-932) are described, altered and deleted as by Apache Kafka."""

from __future__ import annotations

from collections.abc import AsyncIterator
from uuid import UUID

import pytest
import pytest_asyncio

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
)
from pyk.protocol.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsRequestTopic,
)
from pyk.reference_broker.storage.partition_metadata import encode_id
from support.brokers import Kafka
from support.raw_share_groups import Coordinator, coordinator_at, error_of

E = ErrorCode
UNKNOWN_TOPIC = "This server does not host this topic-partition."


@pytest_asyncio.fixture
async def coordinator(kafka: Kafka, group: str) -> AsyncIterator[Coordinator]:
    async with coordinator_at(kafka, group) as found:
        yield found


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
    (topic,) = (await coordinator.offsets("missing", 0, -1)).topics
    assert topic.topic_id == UUID(int=0)
    assert [(each.start_offset, each.error_code) for each in topic.partitions] == [(-1, E.NONE)] * 2
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


async def test_a_topic_may_be_altered_without_partitions(coordinator: Coordinator) -> None:
    answer = await coordinator.alter(coordinator.topic)

    assert error_of(answer) == (E.NONE, None)
    assert [topic.partitions for topic in answer.responses] == [[]]
    assert await coordinator.starts() == []


async def test_topics_may_be_altered_several_times_in_one_request(
    coordinator: Coordinator,
) -> None:
    topics = [
        AlterShareGroupOffsetsRequestTopic(
            topic_name=coordinator.topic,
            partitions=[
                AlterShareGroupOffsetsRequestPartition(partition_index=number, start_offset=offset)
            ],
        )
        for number, offset in ((1, 1), (0, 2), (1, 3))
    ]
    request = AlterShareGroupOffsetsRequest(group_id=coordinator.group, topics=topics)

    (topic,) = (await coordinator.client.ask(request, 0)).responses

    assert [(each.partition_index, *error_of(each)) for each in topic.partitions] == [
        (1, E.NONE, None),
        (0, E.NONE, None),
        (1, E.NONE, None),
    ]
    assert await coordinator.starts() == [(0, 2, 3), (1, 3, 2)]


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
    answer = await coordinator.alter("missing", **{"p0": 2, "p-1": 2})

    assert error_of(answer) == (E.NONE, None)
    (topic,) = answer.responses
    assert (topic.topic_name, topic.topic_id) == ("missing", UUID(int=0))
    unknown = (E.UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC)
    assert [error_of(each) for each in topic.partitions] == [unknown, unknown]


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
