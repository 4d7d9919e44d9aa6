"""DescribeTopicPartitions, page by page: the answers of Apache Kafka (KIP-966)."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from pyk.protocol.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    TopicRequest,
)
from support.brokers import Kafka
from support.raw_client import RawClient

E = ErrorCode
Place = tuple[str, int]


@pytest.fixture
async def client(kafka: Kafka) -> AsyncIterator[RawClient]:
    async with RawClient(kafka.bootstrap) as client:
        yield client


@pytest.fixture
async def topics(client: RawClient) -> list[str]:
    """The names of three topics in order, with 3, 1 and 2 partitions, that brokers know."""
    prefix = f"pages-{uuid.uuid4().hex[:8]}"
    counts = {f"{prefix}-{letter}": count for letter, count in zip("abc", (3, 1, 2), strict=True)}
    asked = [
        CreatableTopic(name=name, num_partitions=count, replication_factor=-1)
        for name, count in counts.items()
    ]
    created = (await client.ask(CreateTopicsRequest(topics=asked))).topics
    assert [each.error_code for each in created] == [E.NONE] * 3
    while not await has_leaders(client, counts):
        pass
    return list(counts)


async def has_leaders(client: RawClient, counts: dict[str, int]) -> bool:
    response = await describe(client, list(counts))
    return all(
        topic.error_code == E.NONE
        and len(topic.partitions) == counts[topic.name]
        and all(partition.leader_id >= 0 for partition in topic.partitions)
        for topic in response.topics
    )


async def describe(
    client: RawClient, names: Sequence[str], cursor: Place | None = None, limit: int = 2000
) -> Any:
    place = None if cursor is None else Cursor(topic_name=cursor[0], partition_index=cursor[1])
    request = DescribeTopicPartitionsRequest(
        topics=[TopicRequest(name=name) for name in names],
        cursor=place,
        response_partition_limit=limit,
    )
    return await client.ask(request)


def shown(response: Any) -> list[tuple[str, int, list[int]]]:
    return [
        (topic.name, topic.error_code, [each.partition_index for each in topic.partitions])
        for topic in response.topics
    ]


def place_of(response: Any) -> Place | None:
    cursor = response.next_cursor
    return None if cursor is None else (cursor.topic_name, cursor.partition_index)


async def test_pages_follow_each_other_until_all_partitions_are_described(
    client: RawClient, topics: list[str]
) -> None:
    a, b, c = topics

    first = await describe(client, [c, a, b], limit=2)
    second = await describe(client, topics, place_of(first), limit=2)
    third = await describe(client, topics, place_of(second), limit=2)

    assert (shown(first), place_of(first)) == ([(a, 0, [0, 1])], (a, 2))
    assert (shown(second), place_of(second)) == ([(a, 0, [2]), (b, 0, [0])], (c, 0))
    assert (shown(third), place_of(third)) == ([(c, 0, [0, 1])], None)


async def test_a_limit_below_one_describes_one_partition(
    client: RawClient, topics: list[str]
) -> None:
    a, _, _ = topics

    response = await describe(client, [a], limit=0)

    assert (shown(response), place_of(response)) == ([(a, 0, [0])], (a, 1))


async def test_topics_that_do_not_exist_take_no_room(client: RawClient, topics: list[str]) -> None:
    a, b, _ = topics

    response = await describe(client, ["in valid", f"{a}-none", b], limit=1)

    assert sorted(shown(response)) == sorted(
        [
            ("in valid", E.INVALID_TOPIC_EXCEPTION, []),
            (f"{a}-none", E.UNKNOWN_TOPIC_OR_PARTITION, []),
            (b, 0, [0]),
        ]
    )
    assert place_of(response) is None


async def test_a_cursor_behind_the_last_partition_leads_to_the_next_topic(
    client: RawClient, topics: list[str]
) -> None:
    a, b, _ = topics

    response = await describe(client, [a, b], (a, 7))

    assert shown(response) == [(a, 0, []), (b, 0, [0])]


@pytest.mark.parametrize("index", [-1, 0])
async def test_a_cursor_outside_of_the_topics_that_are_named_is_refused(
    client: RawClient, topics: list[str], index: int
) -> None:
    a, b, c = topics
    cursor = (a, -1) if index < 0 else (c, 0)

    response = await describe(client, [a, b], cursor)

    refused = E.INVALID_REQUEST
    assert sorted(shown(response)) == [(a, refused, []), (b, refused, [])]
    assert place_of(response) is None


async def test_all_topics_are_described_from_a_cursor_on_that_names_none(
    client: RawClient, topics: list[str]
) -> None:
    a, b, _ = topics

    response = await describe(client, [], (f"{a}-none", 0))

    names = [topic.name for topic in response.topics]
    assert a not in names
    assert b in names
    refused = await describe(client, [], (a, -1))
    assert (shown(refused), place_of(refused)) == ([], None)
