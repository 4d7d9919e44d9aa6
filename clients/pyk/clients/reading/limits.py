"""Where a bounded read starts and ends, as callers say it. Pure.

A limit is parsed into what a broker has to be asked for, and resolved with what it answered.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from typing import Any, Literal

from pyk.clients.errors import OffsetOutOfRangeError, UnknownTopicOrPartitionError
from pyk.clients.offsets import OffsetSpec
from pyk.clients.timestamps import milliseconds
from pyk.clients.topic_partition import OffsetAndTimestamp, TopicPartition
from pyk.clients.wording import counted
from pyk.runtime import slotted

When = Literal["earliest", "latest"] | datetime | timedelta
ReadLimit = When | Mapping[int, int | When]

NAMED = {"earliest": OffsetSpec.EARLIEST, "latest": OffsetSpec.LATEST}


@slotted.frozen(order=True)
class AtOffset:
    """An offset that the caller named."""

    offset: int


@slotted.frozen(order=True)
class AtTime:
    """The first record at or after a time."""

    timestamp_ms: int


Limit = OffsetSpec | AtOffset | AtTime


@slotted.frozen
class ReadLimits:
    """Where to start and to end each partition; ``partitions`` is None for all of the topic."""

    partitions: frozenset[int] | None
    _starts: Mapping[int, Limit] | Limit
    _ends: Mapping[int, Limit] | Limit

    @classmethod
    def of(cls, start: ReadLimit, end: ReadLimit, now_ms: int) -> ReadLimits:
        """Parse limits; ``now_ms`` is what a ``timedelta`` is counted back from.

        Raises ``TypeError`` or ``ValueError`` for what is no limit, and for limits that contradict
        each other.
        """
        starts, ends = _parsed(start, "start", now_ms), _parsed(end, "end", now_ms)
        named = [frozenset(one) for one in (starts, ends) if isinstance(one, Mapping)]
        if len(set(named)) > 1:
            raise ValueError("start and end must name the same partitions")
        limits = cls(named[0] if named else None, starts, ends)
        for partition in limits.partitions or {0}:
            first, last = limits.start(partition), limits.end(partition)
            if type(first) is type(last) and first > last:  # type: ignore[operator]
                raise ValueError(f"start={start!r} is after end={end!r}")
        return limits

    def start(self, partition: int) -> Limit:
        """Return where to start a partition."""
        return self._starts[partition] if isinstance(self._starts, Mapping) else self._starts

    def end(self, partition: int) -> Limit:
        """Return where to end a partition."""
        return self._ends[partition] if isinstance(self._ends, Mapping) else self._ends

    def choose(self, topic: str, existing: Collection[int]) -> list[TopicPartition]:
        """Return the partitions to read; raise if the topic does not have one of them."""
        for partition in sorted((self.partitions or frozenset()) - set(existing)):
            raise UnknownTopicOrPartitionError(
                f"topic {topic!r} has no partition {partition}: it has "
                f"{counted(len(existing), 'partition')}",
                topic=topic,
                partition=partition,
            )
        chosen = existing if self.partitions is None else self.partitions
        return [TopicPartition(topic, partition) for partition in sorted(chosen)]


def resolve(
    limit: Limit,
    partition: TopicPartition,
    log: tuple[int, int],
    found: OffsetAndTimestamp | None,
) -> int:
    """Return the offset that a limit means in a log; ``found`` is the answer for a time.

    Raises :class:`OffsetOutOfRangeError` for a named offset that the log does not have.
    """
    log_start, log_end = log
    if isinstance(limit, AtOffset):
        if not log_start <= limit.offset <= log_end:
            raise OffsetOutOfRangeError(
                f"{partition} has no offset {limit.offset}: its log starts at {log_start} and ends "
                f"at {log_end}",
                topic=partition.topic,
                partition=partition.partition,
                offset=limit.offset,
            )
        return limit.offset
    if isinstance(limit, AtTime):
        return log_end if found is None else found.offset
    return log_start if limit is OffsetSpec.EARLIEST else log_end


def _parsed(limit: Any, what: str, now_ms: int) -> Mapping[int, Limit] | Limit:
    if not isinstance(limit, Mapping):
        return _when(limit, what, now_ms)
    if not limit:
        raise ValueError(f"{what} names no partition")
    for partition in limit:
        if isinstance(partition, bool) or not isinstance(partition, int):
            raise TypeError(f"{what} must name partitions by int, not {partition!r}")
    return {
        partition: _when_or_offset(one, f"{what}[{partition}]", now_ms)
        for partition, one in limit.items()
    }


def _when_or_offset(limit: Any, what: str, now_ms: int) -> Limit:
    if isinstance(limit, bool) or not isinstance(limit, int):
        return _when(limit, what, now_ms)
    if limit < 0:
        raise ValueError(f"{what} must be an offset from 0 on, not {limit}")
    return AtOffset(limit)


def _when(limit: Any, what: str, now_ms: int) -> Limit:
    if isinstance(limit, datetime):
        if limit.tzinfo is None:
            raise ValueError(f"{what} must be a datetime with a time zone, not {limit!r}")
        return AtTime(milliseconds(int(limit.timestamp() * 1000), f"{what}={limit!r}"))
    if isinstance(limit, timedelta):
        if limit < timedelta(0):
            raise ValueError(f"{what} must be a timedelta before now, from 0 on, not {limit!r}")
        at_ms = now_ms - limit // timedelta(milliseconds=1)
        return AtTime(milliseconds(at_ms, f"{what}={limit!r}"))
    if isinstance(limit, str) and limit in NAMED:
        return NAMED[limit]
    raise (ValueError if isinstance(limit, str) else TypeError)(
        f"{what} must be 'earliest', 'latest', a datetime, a timedelta before now, or a mapping "
        f"such as {{0: 100}} from partitions to offsets, not {limit!r}"
    )
