"""Topics that are described page by page, and change between two pages."""

from __future__ import annotations

from uuid import UUID

import pytest

from pyk.clients.admin.topic_descriptions import TopicDescription, TopicPages, page_request
from pyk.clients.errors import InconsistentTopicIdError, KafkaError, UnknownTopicOrPartitionError
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)


def page(
    *partitions: int, topic_id: int = 1, error: ErrorCode = ErrorCode.NONE
) -> list[DescribeTopicPartitionsResponseTopic]:
    """Return a page with partitions of one topic."""
    return [
        DescribeTopicPartitionsResponseTopic(
            name="orders",
            topic_id=UUID(int=topic_id),
            error_code=error,
            partitions=[
                DescribeTopicPartitionsResponsePartition(partition_index=one) for one in partitions
            ],
        )
    ]


def described(
    *pages: list[DescribeTopicPartitionsResponseTopic],
) -> TopicDescription | KafkaError:
    gathered = TopicPages(with_operations=False)
    for one in pages:
        gathered.add(one)
    return gathered.descriptions()["orders"]


def test_the_partitions_of_a_topic_are_gathered_from_all_pages() -> None:
    found = described(page(0, 1), page(2))

    assert isinstance(found, TopicDescription)
    assert [one.partition for one in found.partitions] == [0, 1, 2]


def test_a_topic_that_is_deleted_between_two_pages_is_unknown() -> None:
    gone = page(topic_id=0, error=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)

    assert isinstance(described(page(0, 1), gone), UnknownTopicOrPartitionError)


def test_a_topic_that_is_created_again_between_two_pages_is_asked_for_again() -> None:
    found = described(page(0, 1), page(2, topic_id=2))

    assert isinstance(found, InconsistentTopicIdError)
    assert found.retriable


@pytest.mark.parametrize(
    ("cursor", "asked"),
    [(None, ["a", "b", "c"]), (Cursor(topic_name="b", partition_index=5), ["b", "c"])],
)
def test_topics_before_the_cursor_are_not_sent_again(
    cursor: Cursor | None, asked: list[str]
) -> None:
    request = page_request(["c", "a", "b"], cursor, 2000)

    assert [one.name for one in request.topics] == asked
