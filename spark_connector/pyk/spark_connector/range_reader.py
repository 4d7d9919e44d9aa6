"""Read offset ranges in a task: exactly these offsets, as Arrow batches.

A range ends when the *position* reaches its end, not when a record does: the last offsets of a
range may be a control batch, an aborted record, or removed by compaction, and no record comes for
them. A missing offset is data loss only if it is below the log start offset.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Protocol

import attrs
import pyarrow as pa

from pyk.clients.consumer.faces.health import ConsumerHealth
from pyk.clients.errors import (
    KafkaError,
    OffsetOutOfRangeError,
    TopicRecreatedError,
    UnknownTopicIdError,
    UnknownTopicOrPartitionError,
)
from pyk.clients.reading.batch_size import BatchSize
from pyk.clients.reading.orders import rows_below
from pyk.clients.topic_partition import TopicPartition
from pyk.runtime.clock import Clock
from pyk.spark_connector.arrow_batches import slices, spark_batch
from pyk.spark_connector.errors import ReadError, describe_error
from pyk.spark_connector.planning import OffsetRange
from pyk.spark_connector.schema import Column, arrow_schema
from pyk.spark_connector.stream_planner import report_losses

# Seconds that one poll waits for records. A control batch at the end of a range moves the position
# without a record that would end the wait, so the position is checked this often.
POLL_TIMEOUT = 0.05
# After this many seconds without progress, a topic that brokers do not know counts as gone: brokers
# learn of topics, and of their ids, one after the other.
GONE_AFTER = 10.0
RECREATED = "the topic was deleted and created again"
UNKNOWN_TOPIC = (UnknownTopicIdError, UnknownTopicOrPartitionError)


class Records(Protocol):
    """The part of :class:`pyk.clients.ConsumerRecords` that is used here."""

    def __len__(self) -> int: ...

    def partitions(self) -> Collection[TopicPartition]: ...

    def of(self, partition: TopicPartition) -> Records: ...

    def next_offsets(self) -> Mapping[TopicPartition, tuple[int, int]]: ...

    def to_arrow(self, columns: Sequence[str] | None = None) -> pa.Table: ...


class RangeConsumer(Protocol):
    """The part of :class:`pyk.clients.Consumer` that is used here."""

    def assign(self, partitions: Collection[TopicPartition]) -> None: ...

    def assignment(self) -> Collection[TopicPartition]: ...

    def seek(self, partition: TopicPartition, offset: int) -> None: ...

    def position(self, partition: TopicPartition) -> int: ...

    def pause(self, *partitions: TopicPartition) -> None: ...

    def resume(self, *partitions: TopicPartition) -> None: ...

    def poll(self, timeout: float = 1.0, max_records: int | None = None) -> Records: ...

    def health(self) -> ConsumerHealth: ...

    def beginning_offsets(
        self, partitions: Collection[TopicPartition]
    ) -> Mapping[TopicPartition, int]: ...

    def end_offsets(
        self, partitions: Collection[TopicPartition]
    ) -> Mapping[TopicPartition, int]: ...


@attrs.frozen(kw_only=True)
class ReadSettings:
    """The settings of a task's reader, besides its ranges and columns."""

    fail_on_data_loss: bool = True
    stall_timeout: float = 120.0
    """Seconds without any progress after which reading fails."""


class RangeReader:
    """Read the ranges of one task with one consumer, those of different partitions together."""

    def __init__(
        self,
        consumer: RangeConsumer,
        columns: Sequence[Column],
        settings: ReadSettings,
        clock: Clock,
    ) -> None:
        self._consumer = consumer
        self._columns = columns
        self._names = [column.client_name for column in columns]
        self._schema = arrow_schema(columns)
        self._settings = settings
        self._clock = clock
        self._size = BatchSize()
        self._open: dict[TopicPartition, OffsetRange] = {}
        self._positions: dict[TopicPartition, int] = {}

    def read(self, ranges: Iterable[OffsetRange]) -> Iterator[pa.RecordBatch]:
        """Yield all records of the ranges, those of one partition in order.

        Raises :class:`ReadError` if records cannot be read and
        :class:`~pyk.spark_connector.errors.DataLossError` if they are gone.
        """
        for together in _one_per_partition(ranges):
            self._begin(together)
            yield from self._read_open()

    def _begin(self, ranges: Iterable[OffsetRange]) -> None:
        self._open = {one.topic_partition: one for one in ranges}
        self._positions = {partition: one.start for partition, one in self._open.items()}
        consumer, assigned_before = self._consumer, set(self._consumer.assignment())
        consumer.assign(list(self._open))
        for partition, offset in self._positions.items():
            # Seeking would drop fetched records, which are often the next ones of this task.
            if partition not in assigned_before or consumer.position(partition) != offset:
                consumer.seek(partition, offset)
        consumer.resume(*self._open)

    def _read_open(self) -> Iterator[pa.RecordBatch]:
        moved_at, poll_timeout = self._clock.now(), 0.0
        while self._open:
            records = self._poll(poll_timeout)
            if self._advance(records):
                yield from self._batches(records)
                self._finish_ranges()
                moved_at, poll_timeout = self._clock.now(), 0.0
                continue
            poll_timeout = POLL_TIMEOUT
            waited = self._clock.now() - moved_at
            if waited >= min(GONE_AFTER, self._settings.stall_timeout):
                self._skip_deleted_topics()
            if self._open and waited >= self._settings.stall_timeout:
                raise ReadError(self._stalled())

    def _poll(self, timeout: float) -> Records | None:
        """Return the records of one poll; None if an offset is out of range or a topic unknown."""
        try:
            return self._consumer.poll(timeout, self._size.rows)
        except OffsetOutOfRangeError as error:
            self._skip_lost(error)
            return None
        except UNKNOWN_TOPIC:
            return None  # brokers may know the topic in a moment
        except KafkaError as error:
            raise ReadError(f"cannot read {self._where()}: {describe_error(error)}") from error

    def _advance(self, records: Records | None) -> bool:
        """Update the positions, to after the records if there are any; return whether any moved."""
        if records is not None and len(records):
            moved = {partition: offset for partition, (offset, _) in records.next_offsets().items()}
        else:
            moved = {partition: self._consumer.position(partition) for partition in self._open}
        before = self._positions
        self._positions = before | moved
        return self._positions != before

    def _batches(self, records: Records | None) -> Iterator[pa.RecordBatch]:
        if records is None or not len(records):
            return
        for table in self._tables(records):
            batch = spark_batch(table, self._columns, self._schema)
            self._size.adapt_to(batch.num_rows, batch.nbytes)
            yield from slices(batch)

    def _tables(self, records: Records) -> Iterator[pa.Table]:
        if all(self._positions[partition] <= one.end for partition, one in self._open.items()):
            yield records.to_arrow(self._names)
            return
        names = self._names if "offset" in self._names else [*self._names, "offset"]
        for partition in records.partitions():
            table = records.of(partition).to_arrow(names)
            yield table.slice(0, rows_below(table.column("offset"), self._open[partition].end))

    def _finish_ranges(self) -> None:
        done = [one for one, range_ in self._open.items() if self._positions[one] >= range_.end]
        for partition in done:
            del self._open[partition], self._positions[partition]
        if done:
            self._consumer.pause(*done)

    def _skip_lost(self, error: OffsetOutOfRangeError) -> None:
        """Seek past offsets that are gone; raise DataLossError if ``fail_on_data_loss`` is set."""
        partition = TopicPartition(str(error.topic), int(error.partition or 0))
        position, end = self._positions[partition], self._open[partition].end
        log_start = self._consumer.beginning_offsets([partition])[partition]
        log_end = self._consumer.end_offsets([partition])[partition]
        # Before the first record, the range may have been planned for the new topic.
        has_begun = position > self._open[partition].start
        if has_begun and isinstance(error, TopicRecreatedError):
            target = end
            loss = f"offsets {position} to {end - 1} are gone: {RECREATED}"
        elif position < log_start:
            target = min(log_start, end)
            loss = f"offsets {position} to {target - 1} are gone: the log now starts at {log_start}"
        elif position > log_end:
            target = end
            loss = f"offsets {position} to {end - 1} are gone: the log now ends at {log_end}"
        else:
            return self._consumer.seek(partition, position)  # a replica lagged behind for a moment
        report_losses((f"{partition} {loss}",), fail=self._settings.fail_on_data_loss)
        return self._consumer.seek(partition, target)

    def _skip_deleted_topics(self) -> None:
        """Skip partitions whose topics are gone; raise DataLossError if that option is set.

        A task that waited for them would stall until its timeout and not say why.
        """
        health = self._consumer.health().partitions
        gone = [one for one in self._open if one in health if _is_unknown(health[one].error)]
        losses = tuple(
            f"{one} offsets {self._positions[one]} to {self._open[one].end - 1} are gone: "
            "the topic was deleted"
            for one in gone
        )
        report_losses(losses, fail=self._settings.fail_on_data_loss)
        self._positions.update({one: self._open[one].end for one in gone})
        self._finish_ranges()

    def _stalled(self) -> str:
        problems = (
            "; ".join(self._consumer.health().problems) or "the brokers answer without records"
        )
        return (
            f"no records for {self._settings.stall_timeout:g} s from {self._where()}: {problems}; "
            "kafkaConsumer.pollTimeoutMs sets how long to wait"
        )

    def _where(self) -> str:
        return ", ".join(
            f"{partition} at offset {offset} (of {self._open[partition].end})"
            for partition, offset in self._positions.items()
        )


def _is_unknown(error: BaseException | None) -> bool:
    return isinstance(error, UNKNOWN_TOPIC)


def _one_per_partition(ranges: Iterable[OffsetRange]) -> Iterator[list[OffsetRange]]:
    """Group ranges, one per partition in each group: a consumer has one position per partition."""
    waiting = list(ranges)
    while waiting:
        together = {one.topic_partition: one for one in reversed(waiting)}
        waiting = [one for one in waiting if together[one.topic_partition] is not one]
        yield list(together.values())
