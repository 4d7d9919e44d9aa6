"""The records of one partition that one ShareFetch has acquired, until they are handed out. Pure.

A response has whole batches, and says which of their offsets were acquired, in ranges that begin
and end anywhere. What the application gets are *parts*: records of one batch and one range, with
the offsets that they stand for. The offsets of all parts and gaps are those of all ranges, each
exactly once: a part also stands for the offsets around its records that have none, because
compaction removed them. A stretch of offsets without any record, such as a control batch, is a
*gap*.
"""

from __future__ import annotations

from pyk.clients.consumer.group.modern.assignment import TopicIdPartition
from pyk.clients.topic_partition import TopicPartition
from pyk.protocol.records.cursor import FetchedRecords
from pyk.protocol.records.reader import RecordSpan
from pyk.protocol.records.record import RecordOrigin

ALL = 1 << 30


class Part:
    """Records that are handed out together, and the offsets that they stand for."""

    def __init__(
        self,
        acquired: AcquiredRecords,
        span: RecordSpan,
        first: int,
        last: int,
        locked_until: float,
    ) -> None:
        self.acquired = acquired
        self.span = span
        self.first = first
        self.last = last
        """Included."""
        self.locked_until = locked_until
        self.is_kept = False
        self.unfinished = last - first + 1
        """How many of the offsets of a kept part may still be handed out again."""

    def after(self, count: int, last: int) -> Part:
        """Return the rest after the first ``count`` records, which stand for offsets up to
        ``last``."""
        rest = self.span.split(count)[1] if count else self.span
        assert rest is not None
        first = last + 1 if count else self.first
        return Part(self.acquired, rest, first, self.last, self.locked_until)

    def before(self, count: int, last: int) -> Part:
        """Return the first ``count`` records, which stand for offsets up to ``last``."""
        head = self.span.split(count)[0]
        return Part(self.acquired, head, self.first, last, self.locked_until)


class AcquiredRecords:
    """Acquired records of one partition; every record leads back to them.

    ``ranges`` are the first and the last offset of each range, and how often its records have been
    delivered.
    """

    def __init__(
        self,
        partition: TopicIdPartition,
        node_id: int,
        records: FetchedRecords,
        ranges: list[tuple[int, int, int]],
        locked_until: float,
    ) -> None:
        self.partition = partition
        self.topic_partition: TopicPartition = partition.topic_partition
        self.node_id = node_id
        """The leader that has the locks."""
        self.locked_until = locked_until
        self.is_lost = False
        """Whether the locks are certainly gone."""
        self.is_not_renewed = False
        """Whether the leader has refused to renew the locks."""
        self.is_overtaken = False
        """Whether the leader has delivered some of it again, before anything came of it."""
        self.expired: list[tuple[int, int]] = []
        """Offsets that were not handed out because their lock was over."""
        self.renewed: list[tuple[int, int, float]] = []
        """Offsets to hand out again, and until when their locks last."""
        self._records = records
        self._ranges = ranges
        self._index = 0
        self._next = ranges[0][0] if ranges else 0
        self._batch: RecordSpan | None = None
        self._parts: list[Part] = []
        self._handed: list[Part] = []
        self._gaps: list[tuple[int, int]] = []
        self._unread: list[tuple[int, int]] = []

    @property
    def has_more(self) -> bool:
        """Return whether there may be another part."""
        return bool(self._parts or self.renewed or self._index < len(self._ranges))

    def next_part(self, max_records: int, now: float) -> Part | None:
        """Return at most ``max_records`` records, None if all were handed out.

        Raises a ``RecordBatchError`` for a batch that cannot be read, each time.
        """
        if self.renewed:
            self._restore_renewed()
        while True:
            part = self._parts.pop() if self._parts else self._read()
            if part is None:
                return None
            if part.locked_until <= now:
                self.expired.append((part.first, part.last))
                continue
            if part.span.count <= max_records:
                return part
            head = part.span.split(max_records)[0]
            taken = part.before(max_records, head.next_offset - 1)
            self._parts.append(part.after(max_records, taken.last))
            return taken

    def _read(self) -> Part | None:
        """Return the records of the next batch and range, None after the last."""
        while self._index < len(self._ranges):
            first, last, delivery_count = self._ranges[self._index]
            first = max(first, self._next)
            batch = self._batch or self._records.next_span(ALL)
            if batch is None:
                self._end(first, last)
                continue
            origin = RecordOrigin(
                self.partition.topic,
                self.partition.number,
                batch.origin.leader_epoch,
                batch.origin.timestamp_type,
                self,
                delivery_count,
            )
            span, rest = batch.cut(origin, first, last)
            is_whole = rest is not None or batch.next_offset > last
            self._batch = rest
            if span is None:
                if is_whole:
                    self._gaps.append((first, last))
                    self._go_on(last)
                continue
            end = last if is_whole else span.next_offset - 1
            part = Part(self, span, first, end, self.locked_until)
            self._go_on(end)
            return part
        return None

    def _end(self, first: int, last: int) -> None:
        """Account for offsets after the last batch: gaps as far as there was one, otherwise
        unread."""
        covered = min(last, self._records.next_offset - 1)
        if first <= covered:
            self._gaps.append((first, covered))
        if max(first, covered + 1) <= last:
            self._unread.append((max(first, covered + 1), last))
        self._go_on(last)

    def _go_on(self, last: int) -> None:
        self._next = last + 1
        if last == self._ranges[self._index][1]:
            self._index += 1

    def _restore_renewed(self) -> None:
        """Make parts again of records that were handed out and are to be handed out again."""
        renewed, self.renewed = self.renewed, []
        parts = []
        for first, last, locked_until in renewed:
            for kept in self._handed:
                begin, end = max(first, kept.first), min(last, kept.last)
                span = kept.span.cut(kept.span.origin, begin, end)[0] if begin <= end else None
                if span is not None:
                    part = Part(self, span, begin, end, locked_until)
                    part.is_kept = True
                    parts.append(part)
                    first = end + 1  # noqa: PLW2901 - what follows may be in a later part
        self._parts += reversed(parts)

    def give_back(self, part: Part) -> None:
        """Hand out a part next, because the application did not get it."""
        self._parts.append(part)

    def keep(self, part: Part) -> None:
        """Remember a part that was handed out, for it may be handed out again."""
        if not part.is_kept:
            part.is_kept = True
            self._handed.append(part)

    def finish(self, first: int, last: int) -> None:
        """Forget kept parts once all of their offsets are acknowledged for good.

        A part leads to these records, which would keep each other and the bytes of the response.
        """
        unfinished: list[Part] = []
        for part in self._handed:
            begin, end = max(first, part.first), min(last, part.last)
            if begin <= end:
                part.unfinished -= end - begin + 1
            if part.unfinished > 0:
                unfinished.append(part)
        self._handed = unfinished

    def has_record(self, offset: int) -> bool:
        """Return whether a kept part has a record at an offset."""
        return any(
            part.span.cut(part.span.origin, offset, offset)[0] is not None
            for part in self._handed
            if part.first <= offset <= part.last
        )

    # -- what is left ------------------------------------------------------------------------------

    def take_gaps(self) -> list[tuple[int, int]]:
        """Return the offsets without records that were found since the last call."""
        gaps, self._gaps = self._gaps, []
        return gaps

    def take_unread(self) -> list[tuple[int, int]]:
        """Return acquired offsets that the response had no batch for, since the last call."""
        unread, self._unread = self._unread, []
        return unread

    def give_up(self) -> list[tuple[int, int]]:
        """Return the offsets that were not handed out, and hand out no more."""
        left = self.take_unread() + self.take_gaps()
        left += [(part.first, part.last) for part in self._parts]
        left += [(first, last) for first, last, _ in self.renewed]
        for first, last, _ in self._ranges[self._index :]:
            left.append((max(first, self._next), last))
        self._parts.clear()
        self.renewed.clear()
        self._index = len(self._ranges)
        return left


def disjoint(ranges: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """Return the ranges of a response in order, each offset in one of them only."""
    following, kept = 0, []
    for first, last, delivery_count in sorted(ranges):
        begin = max(first, following)
        if begin <= last:
            kept.append((begin, last, delivery_count))
            following = last + 1
    return kept


Outgoing = tuple[AcquiredRecords, int, int, int]
"""What was acquired, the first and the last offset that are acknowledged, and how."""
