"""Requests that ask leaders for offsets, and what their answers say. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import TypeVar

import attrs

from pyk.clients.errors import KafkaError, UnknownTopicOrPartitionError, error_for
from pyk.clients.topic_partition import TopicPartition
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from pyk.protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)

T = TypeVar("T")

CONSUMER_REPLICA_ID = -1
ISOLATION_LEVELS = {"read_uncommitted": 0, "read_committed": 1}


@attrs.frozen
class FoundOffset:
    """An offset that a leader named; -1 if there is none, and where epoch or time is unknown."""

    offset: int
    timestamp: int = -1
    leader_epoch: int = -1


@attrs.frozen
class EpochQuestion:
    """The epoch of the last batch that was read, and the leader's epoch as it is known."""

    epoch: int
    leader_epoch: int


Found = Mapping[TopicPartition, FoundOffset | KafkaError]


def list_offsets_request(
    timestamps: Mapping[TopicPartition, int],
    leader_epochs: Mapping[TopicPartition, int],
    isolation_level: str,
    timeout_ms: int,
) -> ListOffsetsRequest:
    """Return the request for the offsets that belong to ``timestamps``, or to EARLIEST, LATEST."""
    topics = by_topic(timestamps)
    return ListOffsetsRequest(
        replica_id=CONSUMER_REPLICA_ID,
        isolation_level=ISOLATION_LEVELS[isolation_level],
        topics=[
            ListOffsetsTopic(
                name=topic,
                partitions=[
                    ListOffsetsPartition(
                        partition_index=partition,
                        current_leader_epoch=leader_epochs.get(
                            TopicPartition(topic, partition), -1
                        ),
                        timestamp=timestamp,
                    )
                    for partition, timestamp in partitions
                ],
            )
            for topic, partitions in topics.items()
        ],
        timeout_ms=timeout_ms,
    )


def read_list_offsets(
    asked: Mapping[TopicPartition, int], response: ListOffsetsResponse
) -> dict[TopicPartition, FoundOffset | KafkaError]:
    """Return an offset or an error for each partition that was asked for."""
    found: dict[TopicPartition, FoundOffset | KafkaError] = {}
    for topic in response.topics:
        for answer in topic.partitions:
            partition = TopicPartition(topic.name, answer.partition_index)
            if answer.error_code != ErrorCode.NONE:
                found[partition] = _error(partition, answer.error_code)
            else:
                found[partition] = FoundOffset(answer.offset, answer.timestamp, answer.leader_epoch)
    return _complete(asked, found)


def epoch_ends_request(
    questions: Mapping[TopicPartition, EpochQuestion],
) -> OffsetForLeaderEpochRequest:
    """Return the request for the ends of the epochs in ``questions``."""
    return OffsetForLeaderEpochRequest(
        replica_id=CONSUMER_REPLICA_ID,
        topics=[
            OffsetForLeaderTopic(
                topic=topic,
                partitions=[
                    OffsetForLeaderPartition(
                        partition=partition,
                        current_leader_epoch=question.leader_epoch,
                        leader_epoch=question.epoch,
                    )
                    for partition, question in partitions
                ],
            )
            for topic, partitions in by_topic(questions).items()
        ],
    )


def read_epoch_ends(
    asked: Mapping[TopicPartition, EpochQuestion], response: OffsetForLeaderEpochResponse
) -> dict[TopicPartition, FoundOffset | KafkaError]:
    """Return the end of the epoch, or an error, for each partition that was asked for."""
    found: dict[TopicPartition, FoundOffset | KafkaError] = {}
    for topic in response.topics:
        for answer in topic.partitions:
            partition = TopicPartition(topic.topic, answer.partition)
            if answer.error_code != ErrorCode.NONE:
                found[partition] = _error(partition, answer.error_code)
            else:
                found[partition] = FoundOffset(answer.end_offset, leader_epoch=answer.leader_epoch)
    return _complete(asked, found)


def by_topic(values: Mapping[TopicPartition, T]) -> dict[str, list[tuple[int, T]]]:
    """Return ``(partition number, value)`` pairs by topic."""
    topics: dict[str, list[tuple[int, T]]] = defaultdict(list)
    for (topic, partition), value in values.items():
        topics[topic].append((partition, value))
    return topics


def _complete(
    asked: Mapping[TopicPartition, object], found: Found
) -> dict[TopicPartition, FoundOffset | KafkaError]:
    """Leave out what was not asked for, and put an error where the answer is silent."""
    return {
        partition: found.get(partition) or _silent(partition, "the leader's answer leaves it out")
        for partition in asked
    }


def _silent(partition: TopicPartition, reason: str) -> KafkaError:
    return UnknownTopicOrPartitionError(
        f"no offset of {partition}: {reason}", topic=partition.topic, partition=partition.partition
    )


def _error(partition: TopicPartition, code: int) -> KafkaError:
    return error_for(code, topic=partition.topic, partition=partition.partition)
