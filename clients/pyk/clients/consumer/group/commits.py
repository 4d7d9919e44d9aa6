"""What errors of commits ask for, and when to commit. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum

from pyk.clients.errors import (
    CommitFailedError,
    CoordinatorNotAvailableError,
    IllegalGenerationError,
    KafkaError,
    NotCoordinatorError,
    RebalanceInProgressError,
    UnknownMemberIdError,
)
from pyk.clients.topic_partition import OffsetAndMetadata, TopicPartition
from pyk.protocol.errors import ErrorCode

Offsets = Mapping[TopicPartition, OffsetAndMetadata]


class Remedy(Enum):
    """What an error of a request about offsets asks for."""

    RETRY = "ask again later"
    FIND_COORDINATOR = "look for the coordinator, then ask again"
    REJOIN = "ask again once this member is in the group's present generation"
    GIVE_UP = "tell the caller"


COORDINATOR_MOVED = (CoordinatorNotAvailableError, NotCoordinatorError)
OTHER_GENERATION = (IllegalGenerationError, RebalanceInProgressError, UnknownMemberIdError)


def remedy(error: KafkaError) -> Remedy:
    """Return what to do about an error."""
    if isinstance(error, COORDINATOR_MOVED):
        return Remedy.FIND_COORDINATOR
    if isinstance(error, OTHER_GENERATION):
        return Remedy.REJOIN
    return Remedy.RETRY if error.retriable else Remedy.GIVE_UP


def worst(errors: Iterable[KafkaError]) -> KafkaError | None:
    """Return the error that matters most: one that asking again does not cure, if any."""
    return max(errors, key=lambda error: list(Remedy).index(remedy(error)), default=None)


def commit_error(error: KafkaError) -> KafkaError:
    """Return what the application is told about an offset that is not stored."""
    if not isinstance(error, OTHER_GENERATION):
        return error
    return CommitFailedError(
        f"the offset of {error.topic_partition} was not committed ({ErrorCode(error.code).name}): "
        "the group has rebalanced, and the partition may belong to another member; what was read "
        "since is read again",
        topic=error.topic,
        partition=error.partition,
    )


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
