"""A consumer in memory for the range reader of Spark tasks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

import attrs
import pyarrow as pa

from pyk.clients.consumer.faces.health import ConsumerHealth, PartitionHealth, PartitionState
from pyk.clients.errors import KafkaError, OffsetOutOfRangeError, TopicRecreatedError
from pyk.clients.topic_partition import TopicPartition
from pyk.runtime.virtual_time import VirtualClock

TOPIC = "orders"
ARROW_TYPES = {
    "value": pa.binary(),
    "topic": pa.string(),
    "partition": pa.int32(),
    "offset": pa.int64(),
    "timestamp": pa.timestamp("ms", tz="UTC"),
}


@attrs.define
class FakeRecords:
    """Polled records as (partition, offset) pairs; value and timestamp follow from the offset."""

    records: list[tuple[TopicPartition, int]]

    def __len__(self) -> int:
        return len(self.records)

    def partitions(self) -> list[TopicPartition]:
        return sorted({partition for partition, _ in self.records})

    def next_offsets(self) -> dict[TopicPartition, tuple[int, int]]:
        return {partition: (offset + 1, 0) for partition, offset in self.records}

    def of(self, partition: TopicPartition) -> FakeRecords:
        return FakeRecords([record for record in self.records if record[0] == partition])

    def to_arrow(self, columns: Sequence[str] | None = None) -> pa.Table:
        rows = {
            "value": [b"%d" % offset for _, offset in self.records],
            "topic": [partition.topic for partition, _ in self.records],
            "partition": [partition.partition for partition, _ in self.records],
            "offset": [offset for _, offset in self.records],
            "timestamp": [offset * 1000 for _, offset in self.records],
        }
        names = list(columns or rows)
        return pa.table([pa.array(rows[name], ARROW_TYPES[name]) for name in names], names)


@attrs.frozen
class FetchFailure:
    """Why no record of a partition comes: ``health`` names the error, ``poll`` may raise it."""

    error: KafkaError
    until: float = math.inf
    is_raised: bool = False


@attrs.define
class FakeLog:
    """The log of one partition, and what goes wrong with it."""

    offsets: list[int]
    """Of its records: those that compaction removed, and markers, are not among them."""
    end: int
    start: int = 0
    failure: FetchFailure | None = None
    recreated_at: int | None = None
    """The next poll at this position finds that the topic was deleted and created again."""


@attrs.define
class FakeConsumer:
    """Consumes logs that are lists of offsets; a poll without records takes virtual time."""

    logs: dict[TopicPartition, FakeLog]
    clock: VirtualClock = attrs.field(factory=VirtualClock)
    records_per_poll: int = 3
    poll_error: KafkaError | None = None
    positions: dict[TopicPartition, int] = attrs.field(factory=dict)
    paused: set[TopicPartition] = attrs.field(factory=set)
    seeks: int = 0

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        self.positions = {one: self.positions.get(one, -1) for one in partitions}

    def assignment(self) -> frozenset[TopicPartition]:
        return frozenset(self.positions)

    def seek(self, partition: TopicPartition, offset: int) -> None:
        self.seeks += 1
        self.positions[partition] = offset

    def position(self, partition: TopicPartition) -> int:
        return self.positions[partition]

    def pause(self, *partitions: TopicPartition) -> None:
        self.paused.update(partitions)

    def resume(self, *partitions: TopicPartition) -> None:
        self.paused.difference_update(partitions)

    def beginning_offsets(
        self, partitions: Iterable[TopicPartition]
    ) -> Mapping[TopicPartition, int]:
        return {one: self.logs[one].start for one in partitions}

    def end_offsets(self, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, int]:
        return {one: self.logs[one].end for one in partitions}

    def health(self) -> ConsumerHealth:
        failing = {
            partition: PartitionHealth(PartitionState.FAILING, position, None, 1.0, failure.error)
            for partition, position in self.positions.items()
            if (failure := self.logs[partition].failure) is not None
        }
        return ConsumerHealth(None, None, failing)

    def poll(self, timeout: float = 1.0, max_records: int | None = None) -> FakeRecords:
        if self.poll_error is not None:
            raise self.poll_error
        fetched = [
            record for partition in self._fetchable(timeout) for record in self._fetch(partition)
        ]
        if not fetched:
            self.clock.advance(timeout)
        return FakeRecords(fetched)

    def _fetchable(self, timeout: float) -> Iterator[TopicPartition]:
        for partition in [one for one in self.positions if one not in self.paused]:
            failure = self.logs[partition].failure
            if failure is None or self.clock.now() >= failure.until:
                yield partition
            elif failure.is_raised:
                self.clock.advance(timeout)
                raise failure.error

    def _fetch(self, partition: TopicPartition) -> list[tuple[TopicPartition, int]]:
        log, position = self.logs[partition], self.positions[partition]
        topic, number = partition
        if log.recreated_at == position:
            log.recreated_at = None
            raise TopicRecreatedError("another topic id", topic=topic, partition=number)
        if not log.start <= position <= log.end:
            raise OffsetOutOfRangeError("outside the log", topic=topic, partition=number)
        following = [offset for offset in log.offsets if offset >= position]
        fetched = following[: self.records_per_poll]
        # Behind the last record of the log only markers follow, which a consumer passes unseen.
        is_last = len(fetched) == len(following)
        self.positions[partition] = log.end if is_last else fetched[-1] + 1
        return [(partition, offset) for offset in fetched]


def consumer_of(*logs: Iterable[int]) -> FakeConsumer:
    """Return a consumer of partitions 0, 1 … whose logs have records at these offsets."""
    return FakeConsumer(
        {
            TopicPartition(TOPIC, number): FakeLog(offsets, end=offsets[-1] + 1)
            for number, offsets in enumerate(map(list, logs))
        }
    )
