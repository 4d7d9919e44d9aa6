"""Decide what to do about commit errors, and when to commit. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Protocol

from pyk.clients.consumer.records.assignment import Assignment
from pyk.clients.errors import (
    CommitFailedError,
    CoordinatorNotAvailableError,
    IllegalGenerationError,
    KafkaError,
    NotCoordinatorError,
    RebalanceInProgressError,
    StaleMemberEpochError,
    UnknownMemberIdError,
    error_for,
)
from pyk.clients.topic_partition import OffsetAndMetadata, TopicPartition
from pyk.protocol.errors import ErrorCode
from pyk.runtime import slotted

Offsets = Mapping[TopicPartition, OffsetAndMetadata]


class CommitErrorAction(Enum):
    """The action after an error of a request about offsets."""

    RETRY = "ask again later"
    FIND_COORDINATOR = "look for the coordinator, then ask again"
    REJOIN = "ask again once this member is in the group's present generation"
    GIVE_UP = "tell the caller"


COORDINATOR_MOVED = (CoordinatorNotAvailableError, NotCoordinatorError)
OTHER_GENERATION = (
    IllegalGenerationError,
    RebalanceInProgressError,
    StaleMemberEpochError,
    UnknownMemberIdError,
)
# The next answer of the coordinator brings another generation or member epoch, or takes the
# partitions away.
ON_ITS_WAY = (RebalanceInProgressError, StaleMemberEpochError)


def action_after(error: KafkaError) -> CommitErrorAction:
    """Return what to do about an error."""
    if isinstance(error, COORDINATOR_MOVED):
        return CommitErrorAction.FIND_COORDINATOR
    if isinstance(error, OTHER_GENERATION):
        return CommitErrorAction.REJOIN
    return CommitErrorAction.RETRY if error.retriable else CommitErrorAction.GIVE_UP


def worst(errors: Iterable[KafkaError]) -> KafkaError | None:
    """Return the most important error: if possible one that a retry does not cure."""
    return max(
        errors, key=lambda error: list(CommitErrorAction).index(action_after(error)), default=None
    )


def commit_error(error: KafkaError) -> KafkaError:
    """Return the error for the application about an offset that is not stored."""
    if not isinstance(error, OTHER_GENERATION):
        return error
    return CommitFailedError(
        f"the offset of {error.topic_partition} was not committed ({ErrorCode(error.code).name}): "
        "the group has rebalanced, and the partition may belong to another member; records "
        "since the last commit are read again",
        topic=error.topic,
        partition=error.partition,
    )


def not_a_member(partition: TopicPartition) -> KafkaError:
    """Return the error for records that were handed out before the group took the partition
    away."""
    topic, number = partition
    return commit_error(error_for(ErrorCode.UNKNOWN_MEMBER_ID, topic=topic, partition=number))


def of_another_topic(partition: TopicPartition) -> KafkaError:
    """Return the error for records of a topic that was deleted, and created again under its
    name."""
    topic, number = partition
    return CommitFailedError(
        f"the offset of {partition} was not committed: topic {topic!r} was deleted and created "
        "again since its records were read",
        topic=topic,
        partition=number,
    )


@slotted.frozen
class Finished:
    """The offset to commit for a partition, and the version of the position it comes from."""

    offset: OffsetAndMetadata
    version: int
    first_version: int = 0
    """What was committed of positions before it is of a topic that was deleted since."""


class HandledOffsets(Protocol):
    """Tells what ``process()`` has not finished yet of the records that were handed out."""

    @property
    def commits_by_itself(self) -> bool:
        """Whether the consumer commits what is finished; otherwise transactions do."""
        ...

    def shorten_notes(self) -> bool:
        """Write shorter notes, as a broker has refused one; return False if there are none left."""
        ...

    def restart_at(self, assignment: Assignment) -> OffsetAndMetadata | None:
        """Return the first unfinished offset and a note, None if all of a partition is finished."""
        ...


class AutoCommit:
    """Decides when to commit, and which finished offsets are new. ``interval`` is in seconds.

    While a partition is read on, no lower offset is committed: the application may have committed
    ahead of what it has finished. After the position was set, by the application or by a reset, any
    offset may be committed.
    """

    def __init__(self, interval: float, now: float) -> None:
        self._interval = interval
        self._committed: dict[TopicPartition, tuple[int, int]] = {}
        """Offset and version."""
        self._notes: dict[TopicPartition, str] = {}
        """The notes beside them, where there are any."""
        self.due_at = now + interval

    def news(self, finished: Mapping[TopicPartition, Finished]) -> dict[TopicPartition, Finished]:
        """Return the offsets that are not committed yet."""
        return {p: one for p, one in finished.items() if self._is_news(p, one)}

    def _is_news(self, partition: TopicPartition, finished: Finished) -> bool:
        offset, version = self._committed.get(partition, (-1, -1))
        if version < finished.first_version:
            return True
        if finished.offset.metadata not in ("", self._notes.get(partition)):
            return finished.version != version or finished.offset.offset >= offset
        if finished.version != version:
            return finished.offset.offset != offset
        return finished.offset.offset > offset

    def is_behind(self, partition: TopicPartition, position: int, first_version: int = 0) -> bool:
        """Return whether not everything before ``position`` is committed, as far as is known, since
        the position had its ``first_version``."""
        offset, version = self._committed.get(partition, (-1, -1))
        return version < first_version or offset < position

    def committed_at(self, partition: TopicPartition, version: int) -> int | None:
        """Return what is committed since the position got its ``version``, None if nothing."""
        offset, committed_version = self._committed.get(partition, (-1, -1))
        return offset if committed_version == version else None

    def last_stored(self, partition: TopicPartition) -> OffsetAndMetadata:
        """Return what is known to be committed, offset -1 if nothing."""
        offset, _ = self._committed.get(partition, (-1, -1))
        return OffsetAndMetadata(offset, self._notes.get(partition, ""))

    def began(self, now: float) -> None:
        self.due_at = now + self._interval

    def stored(self, partition: TopicPartition, offset: int, version: int, note: str = "") -> None:
        """Record what is committed, by auto-commit or by the application, and the position's
        version."""
        self._committed[partition] = (offset, version)
        self._notes[partition] = note

    def forget(self, partitions: Iterable[TopicPartition]) -> None:
        """Forget what is committed, because other members commit these partitions now."""
        for partition in partitions:
            self._committed.pop(partition, None)
            self._notes.pop(partition, None)


# Seconds until a wait for a transaction is worth a warning, and between two warnings.
LONG_WAIT = 10.0
WARNING_INTERVAL = 60.0


class UnstableOffsets:
    """Decides when to warn that committed offsets wait for the end of a transaction."""

    def __init__(self) -> None:
        self._since: float | None = None
        self._warn_at = 0.0

    def waited(self, now: float, *, is_unstable: bool) -> float | None:
        """Record an answer; return for how many seconds offsets have been unstable if that is worth
        a warning now."""
        if not is_unstable:
            self._since = None
            return None
        if self._since is None:
            self._since = now
            self._warn_at = now + LONG_WAIT
        if now < self._warn_at:
            return None
        self._warn_at = now + WARNING_INTERVAL
        return now - self._since
