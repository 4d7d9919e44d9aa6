"""What errors of commits ask for, and when to commit. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum

import attrs

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


class CommitErrorAction(Enum):
    """What to do about an error of a request about offsets."""

    RETRY = "ask again later"
    FIND_COORDINATOR = "look for the coordinator, then ask again"
    REJOIN = "ask again once this member is in the group's present generation"
    GIVE_UP = "tell the caller"


COORDINATOR_MOVED = (CoordinatorNotAvailableError, NotCoordinatorError)
OTHER_GENERATION = (IllegalGenerationError, RebalanceInProgressError, UnknownMemberIdError)


def action_after(error: KafkaError) -> CommitErrorAction:
    """Return what to do about an error."""
    if isinstance(error, COORDINATOR_MOVED):
        return CommitErrorAction.FIND_COORDINATOR
    if isinstance(error, OTHER_GENERATION):
        return CommitErrorAction.REJOIN
    return CommitErrorAction.RETRY if error.retriable else CommitErrorAction.GIVE_UP


def worst(errors: Iterable[KafkaError]) -> KafkaError | None:
    """Return the error that matters most: one that asking again does not cure, if any."""
    return max(
        errors, key=lambda error: list(CommitErrorAction).index(action_after(error)), default=None
    )


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


@attrs.frozen
class Finished:
    """Where the group would go on in a partition, and the version of the position it comes from."""

    offset: OffsetAndMetadata
    version: int


class AutoCommit:
    """When to commit what is finished, and what of it is news. ``interval`` is in seconds.

    While a partition is read on, nothing is committed backwards: the application may have committed
    ahead of what it has finished. Once its position was set, by the application or by a reset,
    the offset may be any.
    """

    def __init__(self, interval: float, now: float) -> None:
        self._interval = interval
        self._committed: dict[TopicPartition, tuple[int, int]] = {}
        """Offset and version."""
        self.due_at = now + interval

    def news(self, finished: Mapping[TopicPartition, Finished]) -> dict[TopicPartition, Finished]:
        """Return what is not committed yet."""
        return {p: one for p, one in finished.items() if self._is_news(p, one)}

    def _is_news(self, partition: TopicPartition, finished: Finished) -> bool:
        offset, version = self._committed.get(partition, (-1, -1))
        if finished.version != version:
            return finished.offset.offset != offset
        return finished.offset.offset > offset

    def is_behind(self, partition: TopicPartition, position: int) -> bool:
        """Tell whether not everything before ``position`` is committed, as far as is known."""
        return self._committed.get(partition, (-1, -1))[0] < position

    def began(self, now: float) -> None:
        self.due_at = now + self._interval

    def stored(self, partition: TopicPartition, offset: int, version: int) -> None:
        """Take note of what is committed, whoever asked for it, and of the position's version."""
        self._committed[partition] = (offset, version)

    def forget(self, partitions: Iterable[TopicPartition]) -> None:
        """Forget what is committed: others commit these partitions now."""
        for partition in partitions:
            self._committed.pop(partition, None)
