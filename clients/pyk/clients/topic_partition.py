"""The small values that name a partition and an offset in it."""

from __future__ import annotations

from collections.abc import Iterable

from pyk.protocol.topics import TopicPartition
from pyk.runtime import slotted

__all__ = [
    "OffsetAndMetadata",
    "OffsetAndTimestamp",
    "TopicPartition",
    "by_topic",
    "checked_partition",
]


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
