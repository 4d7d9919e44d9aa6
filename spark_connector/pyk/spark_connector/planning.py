"""Plan the offsets that a batch reads, and their distribution to tasks. Pure.

Spark asks for the plan of a micro-batch in two steps: first its end (:class:`Admission`), which
Spark writes into its log, then the ranges up to that end (:func:`plan_ranges`), which must be the
same when a batch is replayed.

Data is lost if offsets that the query had to read are below the log start offset, or if a partition
is gone or shorter than it was. A gap above the log start offset is no data loss: compaction and
control batches leave such gaps in every healthy topic.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import attrs

from pyk.clients.topic_partition import TopicPartition
from pyk.spark_connector.offsets import OffsetMap


class OffsetRange(NamedTuple):
    """Offsets ``start`` to ``end - 1`` of one partition; a tuple, since it travels to tasks."""

    topic: str
    partition: int
    start: int
    end: int

    @property
    def topic_partition(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)

    @property
    def size(self) -> int:
        """Return the number of offsets, which is the number of records or a little more."""
        return self.end - self.start

    def __str__(self) -> str:
        return f"{self.topic_partition} offsets {self.start} to {self.end - 1}"


@attrs.frozen
class Plan:
    """The ranges of a batch, sorted, none empty, and a sentence for each loss of data."""

    ranges: tuple[OffsetRange, ...]
    losses: tuple[str, ...] = ()


def plan_ranges(start: OffsetMap, end: OffsetMap, log_start: OffsetMap) -> Plan:
    """Return what to read between two offsets of a stream.

    ``log_start`` holds the log start offset of each partition that exists now. A partition that
    ``start`` does not know is new and read from its log start offset.
    """
    ranges = []
    losses = [f"{gone} is gone" for gone in sorted(start.keys() - end.keys())]
    known_topics = {partition.topic for partition in start}
    for partition in sorted(end):
        if partition not in log_start:
            losses.append(f"{partition} is gone")
            continue
        first = log_start[partition]
        begin = start.get(partition)
        if begin is None:
            # In a topic that the query did not read before, retention is no data loss.
            begin = 0 if partition.topic in known_topics else first
        last = end[partition]
        if last < begin:
            losses.append(f"{partition} ends at offset {last}, before {begin}")
        elif begin < min(first, last):
            losses.append(
                f"{partition} offsets {begin} to {min(first, last) - 1} are gone: "
                f"the log now starts at {first}"
            )
        if max(begin, first) < last:
            ranges.append(OffsetRange(*partition, max(begin, first), last))
    return Plan(tuple(ranges), tuple(losses))


@attrs.define
class Admission:
    """Decides how far the next micro-batch goes, by ``min`` and ``maxOffsetsPerTrigger``."""

    min_offsets: int | None = None
    max_offsets: int | None = None
    max_delay_ms: int = 0
    _last_batch_ms: int | None = None

    def admit(
        self, now_ms: int, start: OffsetMap, latest: OffsetMap, log_start: OffsetMap
    ) -> OffsetMap:
        """Return the end of the next batch: ``start`` itself if too few records are waiting.

        ``log_start`` is needed for partitions that ``start`` does not know.
        """
        waiting = {
            partition: max(0, last - start.get(partition, log_start.get(partition, last)))
            for partition, last in latest.items()
        }
        if self._must_wait(now_ms, sum(waiting.values())):
            return start
        self._last_batch_ms = now_ms
        if self.max_offsets is None:
            return latest
        return _share(self.max_offsets, waiting, latest)

    def _must_wait(self, now_ms: int, waiting: int) -> bool:
        if self.min_offsets is None or waiting >= self.min_offsets:
            return False
        # As in Spark: the first batch of a run does not wait.
        return self._last_batch_ms is not None and now_ms - self._last_batch_ms < self.max_delay_ms


def _share(most: int, waiting: Mapping[TopicPartition, int], latest: OffsetMap) -> OffsetMap:
    """Give each partition a share of ``most`` in proportion to its waiting records, at least 1."""
    total = sum(waiting.values())
    if total <= most:
        return latest
    return {
        partition: last - size + min(size, max(1, most * size // total)) if size else last
        for partition, size in waiting.items()
        for last in (latest[partition],)
    }


def plan_tasks(
    ranges: Sequence[OffsetRange],
    *,
    min_tasks: int | None = None,
    max_records: int | None = None,
    min_records: int = 1,
    parallelism: int = 1,
) -> list[tuple[OffsetRange, ...]]:
    """Return the ranges of each Spark task, the longest task first.

    ``min_tasks`` is Spark's ``minPartitions``, ``max_records`` its ``maxRecordsPerPartition``.
    Ranges below ``min_records`` share tasks, unless many tasks were asked for or some of the
    ``parallelism`` tasks that run at once would have nothing to do.
    """
    pieces = split_ranges(ranges, min_tasks, max_records)
    return pack_ranges(pieces, 1 if min_tasks else min_records, parallelism, max_records)


def split_ranges(
    ranges: Sequence[OffsetRange], min_tasks: int | None = None, max_records: int | None = None
) -> list[OffsetRange]:
    """Split ranges so that each has at most ``max_records`` and there are about ``min_tasks``."""
    parts = [(one, -(-one.size // max_records) if max_records else 1) for one in ranges]
    pieces = [piece for one, count in parts for piece in _cut(one, count)]
    if min_tasks is None or len(pieces) >= min_tasks:
        return pieces
    total = sum(piece.size for piece in pieces)
    small = [piece for piece in pieces if _portion(piece.size, total, min_tasks) == 1]
    rest = total - sum(piece.size for piece in small)
    wanted = max(1, min_tasks - len(small))
    return [
        part
        for piece in pieces
        for part in _cut(piece, 1 if piece in small else _portion(piece.size, rest, wanted))
    ]


def pack_ranges(
    ranges: Iterable[OffsetRange],
    min_records: int,
    parallelism: int = 1,
    max_records: int | None = None,
) -> list[tuple[OffsetRange, ...]]:
    """Put small ranges together into tasks, since each task costs tens of milliseconds.

    Small ranges fill tasks of ``min_records`` each, but there are at least ``parallelism`` tasks: a
    job that is slow per record needs every core. Shared tasks have about the same size.
    """
    by_size = sorted(ranges, key=lambda range_: -range_.size)
    large = [one for one in by_size if one.size >= min_records]
    small = by_size[len(large) :]
    worth = -(-sum(one.size for one in small) // min_records)
    count = min(len(small), max(worth, parallelism - len(large)))
    tasks: list[tuple[int, int, list[OffsetRange]]] = [(0, number, []) for number in range(count)]
    for one in small:
        size, number, members = tasks[0]
        if max_records is not None and members and size + one.size > max_records:
            heapq.heappush(tasks, (one.size, len(tasks), [one]))
        else:
            heapq.heapreplace(tasks, (size + one.size, number, [*members, one]))
    shared = sorted(tasks, key=lambda task: (-task[0], task[1]))
    return [(one,) for one in large] + [tuple(sorted(members)) for _, _, members in shared]


def _portion(size: int, total: int, tasks: int) -> int:
    return max(1, round(size / total * tasks))


def _cut(one: OffsetRange, count: int) -> list[OffsetRange]:
    """Return ``count`` pieces of nearly equal size, none empty."""
    count = min(count, one.size)
    bounds = [one.start + one.size * part // count for part in range(count + 1)]
    return [one._replace(start=first, end=last) for first, last in pairwise(bounds)]
