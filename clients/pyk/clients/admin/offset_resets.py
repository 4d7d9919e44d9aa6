"""Which offsets a group is reset to. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Literal, TypeAlias

from pyk.clients.offsets import ListedOffset, OffsetSpec
from pyk.clients.topic_partition import TopicPartition, checked_partition
from pyk.runtime import slotted

ResetTo: TypeAlias = (
    Literal["earliest", "latest"] | datetime | timedelta | Mapping[TopicPartition, int]
)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FORM = 'to must be "earliest", "latest", a datetime, a timedelta or {TopicPartition: offset}'


@slotted.frozen
class OffsetReset:
    """The committed offset of a partition before and after a reset."""

    before: int | None
    after: int


def checked_reset(to: object) -> ResetTo:
    """Return what a group is reset to; raise ``TypeError`` or ``ValueError`` otherwise."""
    if isinstance(to, Mapping):
        for partition, offset in to.items():
            checked_partition(partition)
            if isinstance(offset, bool) or not isinstance(offset, int):
                raise TypeError(f"an offset must be an int, not {offset!r}")
            if offset < 0:
                raise ValueError(f"an offset must be 0 or more, not {offset}")
        return dict(to)
    if isinstance(to, timedelta):
        if to < timedelta():
            raise ValueError("to must be a timedelta of 0 or more: it goes back from now")
        return to
    if isinstance(to, datetime):
        if to.tzinfo is None:
            raise ValueError("to must be a datetime with a time zone")
        return to
    if to == "earliest":
        return "earliest"
    if to == "latest":
        return "latest"
    if isinstance(to, str):
        raise ValueError(f"{FORM}, not {to!r}")
    raise TypeError(f"{FORM}, not {to!r}")


def checked_choice(
    to: ResetTo, partitions: Sequence[TopicPartition] | None
) -> Sequence[TopicPartition] | None:
    """Return the partitions to reset; raise ``ValueError`` for one without its offset in ``to``."""
    if isinstance(to, Mapping):
        for one in partitions or ():
            if one not in to:
                raise ValueError(f"to has no offset for {one}")
    return partitions


def offset_spec(to: ResetTo, now_ms: int) -> OffsetSpec | int:
    """Return which offsets to list; of offsets that are given, those that must not be passed."""
    if isinstance(to, datetime):
        return max(0, (to - EPOCH) // timedelta(milliseconds=1))
    if isinstance(to, timedelta):
        return max(0, now_ms - to // timedelta(milliseconds=1))
    return OffsetSpec.EARLIEST if to == "earliest" else OffsetSpec.LATEST


def reset_offset(
    wanted: int | None, found: ListedOffset | None, begin: ListedOffset, end: ListedOffset
) -> int:
    """Return the offset to commit: what was asked for, within the log.

    A time after the last record leads to the end.
    """
    offset = wanted
    if offset is None:
        offset = end.offset if found is None else found.offset
    return min(max(offset, begin.offset), end.offset)
