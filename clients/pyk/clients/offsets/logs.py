"""Offsets of logs: ask leaders for them, and for the ends of epochs; cut logs off. Pure."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping

from pyk.clients.errors import KafkaError
from pyk.clients.offsets.partition_results import known_epoch, read_partitions, value_or_error
from pyk.clients.topic_partition import TopicPartition, by_topic
from pyk.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)
from pyk.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
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
from pyk.runtime import slotted

# Version 0 of ListOffsets answers with a list of segments; OffsetForLeaderEpoch is for brokers, who
# have the right CLUSTER_ACTION, before version 3 (KIP-320).
FIRST_LIST_VERSION = 1
FIRST_VERSION_OF_EPOCH_ENDS = 3
NO_REPLICA = -1
UNKNOWN_EPOCH = -1


class OffsetSpec(enum.IntEnum):
    """Offsets that have a name instead of a time."""

    LATEST = -1
    """The offset of the next record that will be written."""
    EARLIEST = -2
    """The offset of the oldest record that is still there."""
    MAX_TIMESTAMP = -3
    """The offset of the record with the highest timestamp; brokers since 3.0."""
    EARLIEST_LOCAL = -4
    """The offset of the oldest record on the disk of the leader (KIP-405); brokers since 3.4."""
    LATEST_TIERED = -5
    """The offset of the newest record in tiered storage; brokers since 3.9."""
    EARLIEST_PENDING_UPLOAD = -6
    """The offset of the oldest record that is yet to go to tiered storage; brokers since 4.2."""


VERSIONS_OF_SPECS: Mapping[int, int] = {
    OffsetSpec.MAX_TIMESTAMP: 7,
    OffsetSpec.EARLIEST_LOCAL: 8,
    OffsetSpec.LATEST_TIERED: 9,
    OffsetSpec.EARLIEST_PENDING_UPLOAD: 11,
}
"""The first version of ListOffsets that knows each."""


@slotted.frozen
class ListedOffset:
    """An offset that was looked up."""

    offset: int
    timestamp: int | None
    """Of the record there, in milliseconds; None for LATEST and EARLIEST."""
    leader_epoch: int | None


@slotted.frozen
class EpochQuestion:
    """The epoch of the last batch that was read, and the leader's epoch as it is known."""

    epoch: int
    leader_epoch: int


def list_offsets_request(
    times: Mapping[TopicPartition, int],
    leader_epochs: Mapping[TopicPartition, int] | None = None,
    *,
    read_committed: bool,
    timeout_ms: int,
) -> ListOffsetsRequest:
    """Return the request for the offsets that belong to ``times``, or to an :class:`OffsetSpec`.

    A leader that has another epoch than ``leader_epochs`` says refuses (KIP-320).
    """
    epochs = leader_epochs or {}
    return ListOffsetsRequest(
        replica_id=NO_REPLICA,
        isolation_level=int(read_committed),
        topics=[
            ListOffsetsTopic(
                name=topic,
                partitions=[
                    ListOffsetsPartition(
                        partition_index=place.partition,
                        current_leader_epoch=epochs.get(place, UNKNOWN_EPOCH),
                        timestamp=int(times[place]),
                    )
                    for place in places
                ],
            )
            for topic, places in by_topic(times).items()
        ],
        timeout_ms=timeout_ms,
    )


def first_list_version(times: Iterable[OffsetSpec | int]) -> int:
    """Return the first version of ListOffsets that knows all of these offsets."""
    versions = (VERSIONS_OF_SPECS.get(int(one), FIRST_LIST_VERSION) for one in times)
    return max(versions, default=FIRST_LIST_VERSION)


def listed_offsets(
    response: ListOffsetsResponse,
) -> dict[TopicPartition, ListedOffset | KafkaError | None]:
    """Return the offset of each partition; None if no record is that new."""
    return read_partitions(response.topics, _listed, response.api_key)


def _listed(found: ListOffsetsPartitionResponse) -> ListedOffset | None:
    if found.offset < 0:
        return None
    timestamp = found.timestamp if found.timestamp >= 0 else None
    return ListedOffset(found.offset, timestamp, known_epoch(found.leader_epoch))


def epoch_ends_request(
    questions: Mapping[TopicPartition, EpochQuestion],
) -> OffsetForLeaderEpochRequest:
    """Return the request for the ends of the epochs in ``questions``."""
    return OffsetForLeaderEpochRequest(
        replica_id=NO_REPLICA,
        topics=[
            OffsetForLeaderTopic(
                topic=topic,
                partitions=[
                    OffsetForLeaderPartition(
                        partition=place.partition,
                        current_leader_epoch=questions[place].leader_epoch,
                        leader_epoch=questions[place].epoch,
                    )
                    for place in places
                ],
            )
            for topic, places in by_topic(questions).items()
        ],
    )


def epoch_ends(response: OffsetForLeaderEpochResponse) -> dict[TopicPartition, int | KafkaError]:
    """Return the offset where the epoch of each partition ends, -1 if the leader does not know
    it."""
    return {
        (place := TopicPartition(topic.topic, answer.partition)): value_or_error(
            place,
            answer,
            lambda found: found.end_offset if found.leader_epoch >= 0 else -1,
            response.api_key,
        )
        for topic in response.topics
        for answer in topic.partitions
    }


def delete_records_request(
    before: Mapping[TopicPartition, int], timeout_ms: int
) -> DeleteRecordsRequest:
    """Return the request that removes the records before an offset of each partition."""
    return DeleteRecordsRequest(
        topics=[
            DeleteRecordsTopic(
                name=topic,
                partitions=[
                    DeleteRecordsPartition(
                        partition_index=place.partition, offset=int(before[place])
                    )
                    for place in places
                ],
            )
            for topic, places in by_topic(before).items()
        ],
        timeout_ms=timeout_ms,
    )


def deleted_records(response: DeleteRecordsResponse) -> dict[TopicPartition, int | KafkaError]:
    """Return the first offset that each partition still has."""
    return read_partitions(
        response.topics, lambda result: int(result.low_watermark), response.api_key
    )
