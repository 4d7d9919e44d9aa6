"""The small values that name a partition and an offset in it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pyk.protocol.topics import TopicPartition
from pyk.runtime import slotted

__all__ = [
    "OffsetAndMetadata",
    "OffsetAndTimestamp",
    "TopicPartition",
    "by_topic",
    "checked_offset",
    "checked_partition",
]

INT32_MAX = (1 << 31) - 1
INT64_MAX = (1 << 63) - 1


def checked_partition(partition: tuple[str, int]) -> TopicPartition:
    """Return a partition that an application named; raise ``TypeError`` or ``ValueError``."""
    match partition:
        case (str(topic), int(number)) if not isinstance(number, bool):
            if number < 0:
                raise ValueError(f"{partition!r} is not a partition: its number must be 0 or more")
            return TopicPartition(topic, number)
    raise TypeError(f"a partition must be TopicPartition(topic, partition), not {partition!r}")


def by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[TopicPartition]]:
    """Return the partitions of each topic, as requests name them."""
    topics: dict[str, list[TopicPartition]] = {}
    for topic, partition in partitions:
        topics.setdefault(topic, []).append(TopicPartition(topic, partition))
    return topics


@slotted.frozen
class OffsetAndMetadata:
    """The committed offset of a partition: that of the *next* record to read, and a note.

    ``leader_epoch`` is the epoch of the last record read, None when it is not known (KIP-320).
    """

    offset: int
    metadata: str = ""
    leader_epoch: int | None = None


@slotted.frozen
class OffsetAndTimestamp:
    """The result of a lookup by time: the first offset whose record is at or after the time.

    ``timestamp`` is that record's, in milliseconds since 1970. ``leader_epoch`` is None when it is
    not known.
    """

    offset: int
    timestamp: int
    leader_epoch: int | None = None


def checked_offset(given: Any, what: str = "an offset") -> OffsetAndMetadata:
    """Return an offset that an application gave, as a number or with more.

    Raise ``TypeError`` or ``ValueError`` for what a request cannot carry.
    """
    offset = given if isinstance(given, OffsetAndMetadata) else OffsetAndMetadata(given)
    if not _is_int(offset.offset):
        raise TypeError(f"{what} must be an int or OffsetAndMetadata, not {given!r}")
    if not 0 <= offset.offset <= INT64_MAX:
        raise ValueError(f"{what} must be 0 or more, of 64 bits at most, not {offset.offset}")
    if not isinstance(offset.metadata, str):
        raise TypeError(f"the metadata of {what} must be a str, not {offset.metadata!r}")
    try:
        offset.metadata.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"the metadata of {what} cannot be encoded: {error}") from None
    epoch = offset.leader_epoch
    if epoch is not None and not _is_int(epoch):
        raise TypeError(f"the leader_epoch of {what} must be an int or None, not {epoch!r}")
    if epoch is not None and not -1 <= epoch <= INT32_MAX:
        raise ValueError(f"the leader_epoch of {what} must be -1 to {INT32_MAX}, not {epoch}")
    return offset


def _is_int(given: object) -> bool:
    return isinstance(given, int) and not isinstance(given, bool)
