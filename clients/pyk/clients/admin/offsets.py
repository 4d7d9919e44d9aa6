"""Offsets of partitions and offsets that groups have committed. Pure."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from typing import Any

import attrs

from pyk.clients.errors import KafkaError, error_for
from pyk.clients.topic_partition import OffsetAndMetadata, TopicPartition
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)
from pyk.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from pyk.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from pyk.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
)
from pyk.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)

FIRST_VERSION_OF_SEVERAL_GROUPS = 8
# From here on topics are named by id only.
LAST_OFFSET_VERSION_WITH_NAMES = 9
HIGH_WATERMARK = -1


class OffsetSpec(enum.IntEnum):
    """Offsets that have a name instead of a time."""

    LATEST = -1
    """The offset of the next record that will be written."""
    EARLIEST = -2
    """The offset of the oldest record that is still there."""
    MAX_TIMESTAMP = -3
    """The offset of the record with the highest timestamp."""


@attrs.frozen
class ListedOffset:
    """An offset that was looked up."""

    offset: int
    timestamp: int | None
    """Of the record there, in milliseconds; None for LATEST and EARLIEST."""
    leader_epoch: int | None


@attrs.frozen
class PartitionLag:
    """How far a group is behind in a partition."""

    committed_offset: int | None
    """None where the group has committed nothing."""
    end_offset: int

    @property
    def lag(self) -> int | None:
        """Return how many offsets are not committed yet, None where nothing was committed."""
        if self.committed_offset is None:
            return None
        return max(0, self.end_offset - self.committed_offset)


def by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    """Return the partitions of each topic."""
    topics: dict[str, list[int]] = {}
    for topic, partition in partitions:
        topics.setdefault(topic, []).append(partition)
    return topics


# -- offsets of partitions -----------------------------------------------------------------------


def list_offsets_request(
    times: Mapping[TopicPartition, int], *, read_committed: bool, timeout_ms: int
) -> ListOffsetsRequest:
    return ListOffsetsRequest(
        replica_id=-1,
        isolation_level=int(read_committed),
        topics=[
            ListOffsetsTopic(
                name=topic,
                partitions=[
                    ListOffsetsPartition(
                        partition_index=partition, timestamp=times[TopicPartition(topic, partition)]
                    )
                    for partition in partitions
                ],
            )
            for topic, partitions in by_topic(times).items()
        ],
        timeout_ms=timeout_ms,
    )


def listed_offsets(
    response: ListOffsetsResponse,
) -> dict[TopicPartition, ListedOffset | KafkaError | None]:
    """Return the offset of each partition; None where no record is that new."""
    listed: dict[TopicPartition, ListedOffset | KafkaError | None] = {}
    for topic in response.topics:
        for found in topic.partitions:
            place = TopicPartition(topic.name, found.partition_index)
            if found.error_code != ErrorCode.NONE:
                listed[place] = _error(found.error_code, place)
            elif found.offset < 0:
                listed[place] = None
            else:
                listed[place] = ListedOffset(
                    found.offset,
                    found.timestamp if found.timestamp >= 0 else None,
                    found.leader_epoch if found.leader_epoch >= 0 else None,
                )
    return listed


def delete_records_request(
    before: Mapping[TopicPartition, int], timeout_ms: int
) -> DeleteRecordsRequest:
    return DeleteRecordsRequest(
        topics=[
            DeleteRecordsTopic(
                name=topic,
                partitions=[
                    DeleteRecordsPartition(
                        partition_index=partition, offset=before[TopicPartition(topic, partition)]
                    )
                    for partition in partitions
                ],
            )
            for topic, partitions in by_topic(before).items()
        ],
        timeout_ms=timeout_ms,
    )


def deleted_records(response: DeleteRecordsResponse) -> dict[TopicPartition, int | KafkaError]:
    """Return the first offset that each partition still has."""
    return {
        (place := TopicPartition(topic.name, result.partition_index)): (
            result.low_watermark
            if result.error_code == ErrorCode.NONE
            else _error(result.error_code, place)
        )
        for topic in response.topics
        for result in topic.partitions
    }


# -- offsets of groups ---------------------------------------------------------------------------


def offset_fetch_request(
    group_id: str,
    partitions: Iterable[TopicPartition] | None,
    version: int,
    *,
    require_stable: bool,
) -> OffsetFetchRequest:
    topics = None if partitions is None else by_topic(partitions)
    if version < FIRST_VERSION_OF_SEVERAL_GROUPS:
        return OffsetFetchRequest(
            group_id=group_id,
            topics=(
                None
                if topics is None
                else [
                    OffsetFetchRequestTopic(name=name, partition_indexes=indexes)
                    for name, indexes in topics.items()
                ]
            ),
            require_stable=require_stable and version >= 7,
        )
    group = OffsetFetchRequestGroup(
        group_id=group_id,
        topics=(
            None
            if topics is None
            else [
                OffsetFetchRequestTopics(name=name, partition_indexes=indexes)
                for name, indexes in topics.items()
            ]
        ),
    )
    return OffsetFetchRequest(groups=[group], require_stable=require_stable)


def fetched_offsets(
    response: OffsetFetchResponse, group_id: str
) -> dict[TopicPartition, OffsetAndMetadata | KafkaError | None]:
    """Return what a group has committed, None where it has not; raise what concerns all of it."""
    error_code = response.error_code or next((g.error_code for g in response.groups), 0)
    if error_code != ErrorCode.NONE:
        raise error_for(error_code, group_id=group_id)
    fetched: dict[TopicPartition, OffsetAndMetadata | KafkaError | None] = {}
    topics: list[Any] = list(response.topics)  # up to version 7
    for group in response.groups:
        topics += group.topics
    for topic in topics:
        for found in topic.partitions:
            place = TopicPartition(topic.name, found.partition_index)
            if found.error_code != ErrorCode.NONE:
                fetched[place] = _error(found.error_code, place)
            elif found.committed_offset < 0:
                fetched[place] = None
            else:
                epoch = found.committed_leader_epoch
                fetched[place] = OffsetAndMetadata(
                    found.committed_offset,
                    metadata=found.metadata or "",
                    leader_epoch=epoch if epoch >= 0 else None,
                )
    return fetched


def offset_commit_request(
    group_id: str, offsets: Mapping[TopicPartition, OffsetAndMetadata]
) -> OffsetCommitRequest:
    """Return a commit from outside of the group, which a group with members refuses."""
    return OffsetCommitRequest(
        group_id=group_id,
        topics=[
            OffsetCommitRequestTopic(
                name=topic,
                partitions=[
                    _committed(partition, offsets[TopicPartition(topic, partition)])
                    for partition in partitions
                ],
            )
            for topic, partitions in by_topic(offsets).items()
        ],
    )


def _committed(partition: int, offset: OffsetAndMetadata) -> OffsetCommitRequestPartition:
    return OffsetCommitRequestPartition(
        partition_index=partition,
        committed_offset=offset.offset,
        committed_leader_epoch=-1 if offset.leader_epoch is None else offset.leader_epoch,
        committed_metadata=offset.metadata,
    )


def committed_offsets(response: OffsetCommitResponse) -> dict[TopicPartition, KafkaError | None]:
    """Return the outcome of each partition."""
    return {
        (place := TopicPartition(topic.name, result.partition_index)): _outcome(
            result.error_code, place
        )
        for topic in response.topics
        for result in topic.partitions
    }


def offset_delete_request(
    group_id: str, partitions: Iterable[TopicPartition]
) -> OffsetDeleteRequest:
    return OffsetDeleteRequest(
        group_id=group_id,
        topics=[
            OffsetDeleteRequestTopic(
                name=topic,
                partitions=[OffsetDeleteRequestPartition(partition_index=one) for one in some],
            )
            for topic, some in by_topic(partitions).items()
        ],
    )


def deleted_offsets(
    response: OffsetDeleteResponse, group_id: str
) -> dict[TopicPartition, KafkaError | None]:
    """Return the outcome of each partition; raise what concerns all of them."""
    if response.error_code != ErrorCode.NONE:
        raise error_for(response.error_code, group_id=group_id)
    return {
        (place := TopicPartition(topic.name, result.partition_index)): _outcome(
            result.error_code, place
        )
        for topic in response.topics
        for result in topic.partitions
    }


def _outcome(error_code: int, place: TopicPartition) -> KafkaError | None:
    return None if error_code == ErrorCode.NONE else _error(error_code, place)


def _error(error_code: int, place: TopicPartition) -> KafkaError:
    return error_for(error_code, topic=place.topic, partition=place.partition)
