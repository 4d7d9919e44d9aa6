"""Offsets of logs: requests to leaders, and their responses."""

from __future__ import annotations

from pyk.clients.errors import KafkaError
from pyk.clients.offsets import (
    EpochQuestion,
    ListedOffset,
    OffsetSpec,
    delete_records_request,
    deleted_records,
    epoch_ends,
    epoch_ends_request,
    list_offsets_request,
    listed_offsets,
)
from pyk.clients.topic_partition import TopicPartition
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.delete_records import (
    DeleteRecordsPartitionResult,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)
from pyk.protocol.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from pyk.protocol.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderTopicResult,
)

A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)


def code_of(answer: object) -> int | None:
    assert isinstance(answer, KafkaError)
    return answer.code


def test_offsets_are_asked_for_by_topic_with_the_epochs_that_are_known() -> None:
    request = list_offsets_request(
        {A0: OffsetSpec.EARLIEST, B0: 1_000, A1: OffsetSpec.LATEST},
        {A1: 7},
        read_committed=True,
        timeout_ms=500,
    )

    assert (request.replica_id, request.isolation_level, request.timeout_ms) == (-1, 1, 500)
    assert [
        (topic.name, one.partition_index, one.timestamp, one.current_leader_epoch)
        for topic in request.topics
        for one in topic.partitions
    ] == [("a", 0, -2, -1), ("a", 1, -1, 7), ("b", 0, 1_000, -1)]


def test_an_answer_has_an_offset_or_none_or_an_error() -> None:
    answers = [
        ListOffsetsPartitionResponse(partition_index=0, offset=5, timestamp=9, leader_epoch=3),
        ListOffsetsPartitionResponse(partition_index=1, offset=-1, timestamp=-1),
        ListOffsetsPartitionResponse(partition_index=2, offset=6, timestamp=-1, leader_epoch=-1),
        ListOffsetsPartitionResponse(partition_index=3, error_code=ErrorCode.OFFSET_NOT_AVAILABLE),
    ]

    found = listed_offsets(
        ListOffsetsResponse(topics=[ListOffsetsTopicResponse(name="a", partitions=answers)])
    )

    assert found[A0] == ListedOffset(5, 9, 3)
    assert found[A1] is None
    assert found[TopicPartition("a", 2)] == ListedOffset(6, None, None)
    assert code_of(found[TopicPartition("a", 3)]) == ErrorCode.OFFSET_NOT_AVAILABLE


def test_the_ends_of_epochs_are_asked_for_by_topic() -> None:
    request = epoch_ends_request({A0: EpochQuestion(3, 5), B0: EpochQuestion(4, -1)})

    assert request.replica_id == -1
    assert [
        (topic.topic, one.partition, one.leader_epoch, one.current_leader_epoch)
        for topic in request.topics
        for one in topic.partitions
    ] == [("a", 0, 3, 5), ("b", 0, 4, -1)]


def test_an_answer_has_the_end_of_an_epoch_or_an_error() -> None:
    answers = [
        EpochEndOffset(partition=0, end_offset=12, leader_epoch=3),
        EpochEndOffset(partition=1, error_code=ErrorCode.FENCED_LEADER_EPOCH),
    ]

    ends = epoch_ends(
        OffsetForLeaderEpochResponse(
            topics=[OffsetForLeaderTopicResult(topic="a", partitions=answers)]
        )
    )

    assert ends[A0] == 12
    assert code_of(ends[A1]) == ErrorCode.FENCED_LEADER_EPOCH


def test_records_are_deleted_before_an_offset_of_each_partition() -> None:
    request = delete_records_request({A0: 3, B0: OffsetSpec.LATEST}, 500)
    answers = [
        DeleteRecordsPartitionResult(partition_index=0, low_watermark=3),
        DeleteRecordsPartitionResult(partition_index=1, error_code=ErrorCode.OFFSET_OUT_OF_RANGE),
    ]

    deleted = deleted_records(
        DeleteRecordsResponse(topics=[DeleteRecordsTopicResult(name="a", partitions=answers)])
    )

    assert {topic.name: topic.partitions[0].offset for topic in request.topics} == {"a": 3, "b": -1}
    assert request.timeout_ms == 500
    assert deleted[A0] == 3
    assert code_of(deleted[A1]) == ErrorCode.OFFSET_OUT_OF_RANGE
