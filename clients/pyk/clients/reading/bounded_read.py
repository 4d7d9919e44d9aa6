"""One bounded read, as steps that a blocking and an asyncio consumer do. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from pyk.clients.consumer.faces.health import ConsumerHealth, PartitionHealth
from pyk.clients.consumer.records.arrow import schema_of
from pyk.clients.engine.topic_names import UNKNOWN_TOPIC_SECONDS, unknown_topic
from pyk.clients.errors import (
    ClosedError,
    KafkaTimeoutError,
    LogTruncatedError,
    OffsetOutOfRangeError,
    StateError,
    TopicRecreatedError,
    UnknownTopicOrPartitionError,
)
from pyk.clients.reading.batch_size import FEWEST_ROWS, BatchSize
from pyk.clients.reading.limits import AtOffset, AtTime, Limit, ReadLimits, resolve
from pyk.clients.reading.open_ranges import OpenRanges
from pyk.clients.reading.orders import ArrivalOrder, TimeOrder, rows_below
from pyk.clients.topic_partition import OffsetAndTimestamp, TopicPartition

# Seconds that one poll waits for records. A control batch at the end of a range moves the position
# without a record that would end the wait, so the position is checked this often.
POLL_TIMEOUT = 0.05
# How many polls in a row, ten seconds, find a log that ends before the range does, or no topic,
# until the read gives up: a new leader may not know for a moment that all of its log is
# replicated, and a broker that lags behind may not know the topic.
PATIENCE_POLLS = 200

Step = Callable[[Any], Any]
"""What to call with the consumer; what it returns may have to be awaited."""


class BoundedRead:
    """Reads the range of a topic with one consumer that has no group and never resets."""

    def __init__(
        self, topic: str, limits: ReadLimits, columns: Sequence[str] | None, *, by_time: bool
    ) -> None:
        self.schema = schema_of(columns)
        self._topic = topic
        self._limits = limits
        self._columns = list(self.schema.names)
        self._order_type = TimeOrder if by_time else ArrivalOrder
        needed = ["offset", "timestamp"] if by_time else ["offset"]
        self._fetched_columns = list(dict.fromkeys([*self._columns, *needed]))
        self._size = BatchSize()
        self._has_returned = False
        self.is_complete = False
        """Whether all records of the range were returned."""
        self._polls_at_end: Counter[tuple[TopicPartition, int]] = Counter()
        """How often polls have found a partition at this end of its log, and not of its range."""
        self._polls_without_topic = 0

    def begin(self) -> Generator[Step, Any, None]:
        """Resolve the limits and assign the partitions that have something to read."""
        chosen = self._limits.choose(self._topic, (yield from self._partitions()))
        starts = {one: self._limits.start(one.partition) for one in chosen}
        ends = {one: self._limits.end(one.partition) for one in chosen}
        log_starts = yield lambda consumer: consumer.beginning_offsets(chosen)
        starts_at = yield from self._offsets_at(starts)
        ends_at = yield from self._offsets_at(ends)
        log_ends = yield lambda consumer: consumer.end_offsets(chosen)
        ranges = {}
        for one in chosen:
            log = log_starts[one], log_ends[one]
            start = resolve(starts[one], one, log, starts_at.get(one))
            end = resolve(ends[one], one, log, ends_at.get(one))
            if start < end:
                ranges[one] = start, end
        self._open(ranges)
        yield lambda consumer: consumer.assign(list(ranges))
        for partition, (start, _) in ranges.items():
            yield from _seek(partition, start)

    def _open(self, ranges: Mapping[TopicPartition, tuple[int, int]]) -> None:
        self._ranges = OpenRanges(ranges)
        self._order = self._order_type(ranges)
        self._reads = set(ranges)

    def next_table(self) -> Generator[Step, Any, pa.Table | None]:
        """Return the next records, None after the last. The first table may be empty."""
        timeout = 0.0
        while (table := self._order.take()) is None:
            if not self._ranges:
                self.is_complete = self._has_returned
                return None if self._has_returned else self._returned(self.schema.empty_table())
            yield from self._read_wanted()
            has_moved = self._ranges.advance((yield from self._poll(timeout)))
            for partition in self._ranges.finish():
                self._order.finish(partition)
            timeout = 0.0 if has_moved else POLL_TIMEOUT
        return self._returned(table.select(self._columns))

    def check_end(self) -> None:
        """Raise unless the read has ended because all records were returned."""
        if not self.is_complete:
            raise ClosedError(
                "the read was closed, or an error ended it, before all records were returned: make "
                "another one"
            )

    def check_stream(self) -> None:
        """Raise if there is nothing left for a stream, which would look like an empty range."""
        if self.is_complete:
            raise StateError(
                "the read has returned all of its records, and returns them once: make another "
                "one, or keep the table"
            )

    def _returned(self, table: pa.Table) -> pa.Table:
        self._has_returned = True
        return table

    def _partitions(self) -> Generator[Step, Any, Collection[int]]:
        found: Collection[int]
        topic = self._topic
        try:
            found = yield lambda consumer: consumer.partitions_for(
                topic, timeout=UNKNOWN_TOPIC_SECONDS
            )
        except KafkaTimeoutError as error:
            if isinstance(error.__cause__, UnknownTopicOrPartitionError):
                raise unknown_topic(topic) from None
            found = yield lambda consumer: consumer.partitions_for(topic)
        return found

    def _offsets_at(
        self, limits: Mapping[TopicPartition, Limit]
    ) -> Generator[Step, Any, Mapping[TopicPartition, OffsetAndTimestamp | None]]:
        """Look up the times among limits."""
        times = {one: at.timestamp_ms for one, at in limits.items() if isinstance(at, AtTime)}
        found: Mapping[TopicPartition, OffsetAndTimestamp | None] = {}
        if times:
            found = yield lambda consumer: consumer.offsets_for_times(times)
        return found

    def _read_wanted(self) -> Generator[Step, Any, None]:
        """Pause the partitions of which nothing is wanted now, and resume the others."""
        wanted = self._order.wanted
        paused, resumed = self._reads - wanted, wanted - self._reads
        if paused:
            yield lambda consumer: consumer.pause(*paused)
        if resumed:
            yield lambda consumer: consumer.resume(*resumed)
        self._reads = wanted

    def _poll(self, timeout: float) -> Generator[Step, Any, dict[TopicPartition, int]]:
        """Take the records of one poll; return positions after them, or those without records."""
        rows = self._size.rows
        if self._order_type is TimeOrder:  # which holds records of every partition at once
            rows = max(FEWEST_ROWS, rows // len(self._ranges.ends))
        try:
            records = yield lambda consumer: consumer.poll(timeout, rows)
        except OffsetOutOfRangeError as error:
            yield from self._skip_deleted(error)
            return {}
        if not records:
            health: ConsumerHealth = yield lambda consumer: consumer.health()
            self._check_topic(health)
            self._check_ends(health.partitions)
            positions = {one: at.position for one, at in health.partitions.items()}
            return {one: position for one, position in positions.items() if position is not None}
        for partition in records.partitions():
            self._add(partition, records.of(partition).to_arrow(self._fetched_columns))
        return {one: offset for one, (offset, _) in records.next_offsets().items()}

    def _check_topic(self, health: ConsumerHealth) -> None:
        """Raise if the topic was deleted: nothing would ever come of it again."""
        is_missing = isinstance(health.topics.get(self._topic), UnknownTopicOrPartitionError)
        self._polls_without_topic = self._polls_without_topic + 1 if is_missing else 0
        if self._polls_without_topic > PATIENCE_POLLS:
            raise UnknownTopicOrPartitionError(
                f"topic {self._topic!r} was deleted before all of its records were read",
                topic=self._topic,
            )

    def _check_ends(self, health: Mapping[TopicPartition, PartitionHealth]) -> None:
        """Raise if a log stays shorter than it was when the read began: it was truncated."""
        for one, at in health.items():
            end = self._ranges.ends.get(one)
            if end is None or at.position is None or at.lag != 0:
                continue
            self._polls_at_end[one, at.position] += 1
            if self._polls_at_end[one, at.position] > PATIENCE_POLLS:
                raise LogTruncatedError(
                    f"the log of {one} was truncated: it ends at offset {at.position}, and offset "
                    f"{end} was its end, or before it, when the read began",
                    topic=one.topic,
                    partition=one.partition,
                    offset=at.position,
                )

    def _add(self, partition: TopicPartition, table: pa.Table) -> None:
        end = self._ranges.ends.get(partition)
        inside = 0 if end is None else rows_below(table.column("offset"), end)
        self._size.adapt_to(table.num_rows, table.nbytes)
        if inside:
            self._order.add(partition, table.slice(0, inside))

    def _skip_deleted(self, error: OffsetOutOfRangeError) -> Generator[Step, Any, None]:
        """Start where the log starts now; raise if that leaves out what the caller asked for.

        What retention deletes between the start of the read and the first record was as good as
        gone before, unless the caller has named the offset.
        """
        partition = TopicPartition(str(error.topic), int(error.partition or 0))
        start = self._limits.start(partition.partition)
        is_named = isinstance(start, AtOffset) or isinstance(error, TopicRecreatedError)
        if is_named or self._ranges.has_begun(partition):
            raise error
        log_starts = yield lambda consumer: consumer.beginning_offsets([partition])
        if log_starts[partition] <= self._ranges.positions[partition]:
            raise error
        self._ranges.skip(partition, log_starts[partition])
        yield from _seek(partition, log_starts[partition])


def _seek(partition: TopicPartition, offset: int) -> Generator[Step, Any, None]:
    yield lambda consumer: consumer.seek(partition, offset)
