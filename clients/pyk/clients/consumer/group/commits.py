"""Requests that store and read a group's offsets, and what their answers say. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum

import attrs

from pyk.clients.consumer.offset_requests import by_topic
from pyk.clients.errors import CommitFailedError, KafkaError, error_for
from pyk.clients.topic_partition import OffsetAndMetadata, TopicPartition
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from pyk.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestTopic,
    OffsetFetchResponse,
)

NO_EPOCH = -1
Offsets = Mapping[TopicPartition, OffsetAndMetadata]


class Remedy(Enum):
    """What an error of a request about offsets asks for."""

    RETRY = "ask again later"
    FIND_COORDINATOR = "look for the coordinator, then ask again"
    REJOIN = "ask again once this member is in the group's present generation"
    GIVE_UP = "tell the caller"


COORDINATOR_MOVED = frozenset({ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR})
OTHER_GENERATION = frozenset(
    {
        ErrorCode.ILLEGAL_GENERATION,
        ErrorCode.REBALANCE_IN_PROGRESS,
        ErrorCode.UNKNOWN_MEMBER_ID,
    }
)


def remedy(code: ErrorCode) -> Remedy:
    """Return what to do about an error."""
    if code in COORDINATOR_MOVED:
        return Remedy.FIND_COORDINATOR
    if code in OTHER_GENERATION:
        return Remedy.REJOIN
    return Remedy.RETRY if code.retriable else Remedy.GIVE_UP


@attrs.frozen
class Identity:
    """As whom offsets are committed; the defaults are those of somebody outside of the group."""

    generation_id: int = -1
    member_id: str = ""
    group_instance_id: str | None = None


@attrs.frozen
class CommitOutcome:
    """Which offsets are stored, and why the others are not."""

    stored: dict[TopicPartition, OffsetAndMetadata]
    errors: dict[TopicPartition, ErrorCode]

    def worst(self) -> tuple[TopicPartition, ErrorCode] | None:
        """Return the error that matters most: one that asking again does not cure, if any."""
        for wanted in reversed(Remedy):
            for partition, code in self.errors.items():
                if remedy(code) is wanted:
                    return partition, code
        return None


def commit_request(group_id: str, identity: Identity, offsets: Offsets) -> OffsetCommitRequest:
    """Return the request that stores ``offsets``."""
    return OffsetCommitRequest(
        group_id=group_id,
        generation_id_or_member_epoch=identity.generation_id,
        member_id=identity.member_id,
        group_instance_id=identity.group_instance_id,
        topics=[
            OffsetCommitRequestTopic(
                name=topic,
                partitions=[
                    OffsetCommitRequestPartition(
                        partition_index=partition,
                        committed_offset=committed.offset,
                        committed_leader_epoch=(
                            NO_EPOCH if committed.leader_epoch is None else committed.leader_epoch
                        ),
                        committed_metadata=committed.metadata,
                    )
                    for partition, committed in partitions
                ],
            )
            for topic, partitions in by_topic(offsets).items()
        ],
    )


def read_commit(offsets: Offsets, response: OffsetCommitResponse) -> CommitOutcome:
    """Return which of ``offsets`` are stored; what the answer leaves out is not."""
    codes = {
        TopicPartition(topic.name, answer.partition_index): ErrorCode(answer.error_code)
        for topic in response.topics
        for answer in topic.partitions
    }
    outcome = CommitOutcome({}, {})
    for partition, committed in offsets.items():
        code = codes.get(partition, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        if code is ErrorCode.NONE:
            outcome.stored[partition] = committed
        else:
            outcome.errors[partition] = code
    return outcome


def commit_error(partition: TopicPartition, code: ErrorCode) -> KafkaError:
    """Return what the application is told about an offset that is not stored."""
    if code in OTHER_GENERATION:
        return CommitFailedError(
            f"the offset of {partition} was not committed ({code.name}): the group has rebalanced, "
            "and the partition may belong to another member; what was read since is read again",
            topic=partition.topic,
            partition=partition.partition,
        )
    return error_for(code, topic=partition.topic, partition=partition.partition)


def fetch_request(
    group_id: str, partitions: list[TopicPartition], *, require_stable: bool
) -> OffsetFetchRequest:
    """Return the request for committed offsets, in the form of versions up to 7."""
    topics = by_topic(dict.fromkeys(partitions, None))
    return OffsetFetchRequest(
        group_id=group_id,
        topics=[
            OffsetFetchRequestTopic(name=topic, partition_indexes=[p for p, _ in indexes])
            for topic, indexes in topics.items()
        ],
        require_stable=require_stable,
    )


def read_fetch(
    partitions: list[TopicPartition], response: OffsetFetchResponse
) -> dict[TopicPartition, OffsetAndMetadata | ErrorCode | None]:
    """Return the committed offset of each partition, None where there is none, or an error."""
    group_code = ErrorCode(response.error_code)
    if group_code is not ErrorCode.NONE:
        return dict.fromkeys(partitions, group_code)
    found: dict[TopicPartition, OffsetAndMetadata | ErrorCode | None] = {}
    for topic in response.topics:
        for answer in topic.partitions:
            partition = TopicPartition(topic.name, answer.partition_index)
            if answer.error_code != ErrorCode.NONE:
                found[partition] = ErrorCode(answer.error_code)
            elif answer.committed_offset >= 0:
                epoch = answer.committed_leader_epoch
                found[partition] = OffsetAndMetadata(
                    answer.committed_offset, answer.metadata or "", epoch if epoch >= 0 else None
                )
            else:
                found[partition] = None
    return {p: found.get(p, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION) for p in partitions}


class AutoCommit:
    """When to commit what is finished, and what of it is news. ``interval`` is in seconds."""

    def __init__(self, interval: float, now: float) -> None:
        self._interval = interval
        self._committed: dict[TopicPartition, int] = {}
        self.due_at = now + interval

    def news(self, finished: Offsets) -> dict[TopicPartition, OffsetAndMetadata]:
        """Return the offsets behind those that are committed.

        Nothing is committed backwards, but by the application itself, and after it went back
        (:meth:`forget`).
        """
        return {
            partition: offset
            for partition, offset in finished.items()
            if offset.offset > self._committed.get(partition, -1)
        }

    def began(self, now: float) -> None:
        self.due_at = now + self._interval

    def stored(self, offsets: Offsets) -> None:
        """Take note of what is committed, whoever asked for it."""
        for partition, offset in offsets.items():
            self._committed[partition] = offset.offset

    def forget(self, partitions: Iterable[TopicPartition]) -> None:
        """Forget what is committed: others commit these partitions now, or their place changed."""
        for partition in partitions:
            self._committed.pop(partition, None)
