"""Exactly the offsets of a range, whatever the log looks like."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import attrs
import pyarrow as pa
import pytest

from pyk.clients.consumer.health import ConsumerHealth, PartitionHealth, PartitionState
from pyk.clients.errors import (
    CorruptRecordError,
    KafkaError,
    LeaderNotAvailableError,
    OffsetOutOfRangeError,
    TopicRecreatedError,
    UnknownTopicIdError,
    UnknownTopicOrPartitionError,
)
from pyk.clients.topic_partition import TopicPartition
from pyk.spark_connector.errors import DataLossError, ReadError
from pyk.spark_connector.planning import OffsetRange
from pyk.spark_connector.range_reader import RangeReader, ReadSettings
from pyk.spark_connector.schema import Column
from support.virtual_time import VirtualClock

A0, A1 = TopicPartition("a", 0), TopicPartition("a", 1)
DEFAULTS = ReadSettings()
FORGIVING = ReadSettings(fail_on_data_loss=False)
OFFSET_ONLY = (Column("offset", "offset"),)
TYPES = {
    "value": pa.binary(),
    "topic": pa.string(),
    "partition": pa.int32(),
    "offset": pa.int64(),
    "timestamp": pa.timestamp("ms", tz="UTC"),
}


@attrs.define
class FakeRecords:
    """Records as (partition, offset) pairs."""

    records: list[tuple[TopicPartition, int]]

    def __len__(self) -> int:
        return len(self.records)

    def partitions(self) -> list[TopicPartition]:
        return sorted({partition for partition, _ in self.records})

    def next_offsets(self) -> dict[TopicPartition, tuple[int, int]]:
        return {partition: (offset + 1, 0) for partition, offset in self.records}

    def of(self, partition: TopicPartition) -> FakeRecords:
        return FakeRecords([one for one in self.records if one[0] == partition])

    def to_arrow(self, columns: Sequence[str] | None = None) -> pa.Table:
        rows = {
            "value": [b"%d" % offset for _, offset in self.records],
            "topic": [partition.topic for partition, _ in self.records],
            "partition": [partition.partition for partition, _ in self.records],
            "offset": [offset for _, offset in self.records],
            "timestamp": [offset * 1000 for _, offset in self.records],
        }
        names = list(columns or rows)
        return pa.table([pa.array(rows[name], TYPES[name]) for name in names], names)


@attrs.define
class FakeConsumer:
    """A consumer of logs that are lists of offsets; a poll takes virtual time when it is empty."""

    logs: dict[TopicPartition, list[int]]
    ends: dict[TopicPartition, int]
    clock: VirtualClock
    starts: dict[TopicPartition, int] = attrs.field(factory=dict)
    error: KafkaError | None = None
    positions: dict[TopicPartition, int] = attrs.field(factory=dict)
    paused: set[TopicPartition] = attrs.field(factory=set)
    batch: int = 3
    seeks: int = 0
    failing: dict[TopicPartition, KafkaError] = attrs.field(factory=dict)
    failing_until: float = math.inf
    raises_failing: bool = False
    recreated: dict[TopicPartition, int] = attrs.field(factory=dict)

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
        return {one: self.starts.get(one, 0) for one in partitions}

    def end_offsets(self, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, int]:
        return {one: self.ends[one] for one in partitions}

    def health(self) -> ConsumerHealth:
        return ConsumerHealth(
            None,
            None,
            {
                one: PartitionHealth(PartitionState.FAILING, position, None, 1.0, error)
                for one, position in self.positions.items()
                if (error := self.failing.get(one)) is not None
            },
        )

    def poll(self, timeout: float = 1.0, max_records: int | None = None) -> FakeRecords:
        if self.error is not None:
            raise self.error
        found: list[tuple[TopicPartition, int]] = []
        for partition, position in self.positions.items():
            if partition in self.paused:
                continue
            if partition in self.failing and self.clock.now() < self.failing_until:
                if self.raises_failing:
                    self.clock.advance(timeout)
                    raise self.failing[partition]
                continue
            if self.recreated.get(partition) == position:
                del self.recreated[partition]
                raise TopicRecreatedError("another", topic=partition.topic, partition=partition[1])
            if not self.starts.get(partition, 0) <= position <= self.ends[partition]:
                raise OffsetOutOfRangeError("no", topic=partition.topic, partition=partition[1])
            mine = [offset for offset in self.logs[partition] if offset >= position][: self.batch]
            found += [(partition, offset) for offset in mine]
            # Like a real one: what follows the last record of the log, if only markers, is passed.
            rest = [offset for offset in self.logs[partition] if not mine or offset > mine[-1]]
            after_mine = mine[-1] + 1 if mine else self.ends[partition]
            self.positions[partition] = after_mine if rest and mine else self.ends[partition]
        if not found:
            self.clock.advance(timeout)
        return FakeRecords(found)


def consumer_of(**logs: list[int]) -> FakeConsumer:
    partitions = {TopicPartition("a", int(name[1:])): log for name, log in logs.items()}
    ends = {one: log[-1] + 1 for one, log in partitions.items()}
    return FakeConsumer(partitions, ends, VirtualClock())


def reader_of(
    consumer: FakeConsumer,
    columns: tuple[Column, ...] = OFFSET_ONLY,
    settings: ReadSettings = DEFAULTS,
) -> RangeReader:
    return RangeReader(consumer, columns, settings, consumer.clock)


def offsets_read(
    consumer: FakeConsumer, *ranges: OffsetRange, settings: ReadSettings = DEFAULTS
) -> list[int]:
    batches = list(reader_of(consumer, settings=settings).read(ranges))
    return [offset for batch in batches for offset in batch.column(0).to_pylist()]


def test_a_range_is_read_from_its_start_to_its_end() -> None:
    assert offsets_read(consumer_of(p0=list(range(20))), OffsetRange("a", 0, 4, 11)) == [
        *range(4, 11)
    ]


def test_a_compacted_log_gives_what_it_has() -> None:
    consumer = consumer_of(p0=[0, 3, 9, 10, 14, 30])

    assert offsets_read(consumer, OffsetRange("a", 0, 1, 14)) == [3, 9, 10]


def test_a_range_that_holds_no_record_at_all_ends() -> None:
    assert offsets_read(consumer_of(p0=[0, 50]), OffsetRange("a", 0, 10, 20)) == []


def test_a_range_whose_last_offsets_are_markers_ends() -> None:
    consumer = consumer_of(p0=[0, 1, 2])
    consumer.ends[A0] = 5

    assert offsets_read(consumer, OffsetRange("a", 0, 0, 5)) == [0, 1, 2]


def test_several_partitions_share_a_task() -> None:
    consumer = consumer_of(p0=list(range(10)), p1=list(range(100, 130)))

    batches = list(
        reader_of(consumer, (Column("partition", "partition"), Column("offset", "offset"))).read(
            [OffsetRange("a", 0, 2, 8), OffsetRange("a", 1, 100, 121)]
        )
    )

    rows = [tuple(row.values()) for batch in batches for row in batch.to_pylist()]
    assert [offset for partition, offset in rows if partition == 0] == [*range(2, 8)]
    assert [offset for partition, offset in rows if partition == 1] == [*range(100, 121)]


def test_several_ranges_of_one_partition_are_read_one_after_the_other() -> None:
    consumer = consumer_of(p0=list(range(30)))

    assert offsets_read(consumer, OffsetRange("a", 0, 2, 5), OffsetRange("a", 0, 20, 23)) == [
        *(2, 3, 4),
        *(20, 21, 22),
    ]


def test_columns_come_in_the_schema_that_spark_compares_with() -> None:
    columns = (Column("timestamp", "TIMESTAMP"), Column("value", "value", nullable=False))

    (batch,) = reader_of(consumer_of(p0=[0, 1]), columns).read([OffsetRange("a", 0, 0, 2)])

    assert batch.schema == pa.schema(
        [
            pa.field("TIMESTAMP", pa.timestamp("us", tz="UTC")),
            pa.field("value", pa.binary(), nullable=False),
        ]
    )
    assert batch.column(0).cast(pa.int64()).to_pylist() == [0, 1_000_000]
    assert batch.column(1).to_pylist() == [b"0", b"1"]


def test_a_partition_that_is_read_is_not_fetched_any_more() -> None:
    consumer = consumer_of(p0=list(range(10)), p1=list(range(40)))
    batches = reader_of(consumer).read([OffsetRange("a", 0, 0, 2), OffsetRange("a", 1, 0, 40)])

    next(batches)
    next(batches)
    next(batches)

    assert consumer.paused == {A0}


def test_the_next_batch_goes_on_with_what_was_fetched() -> None:
    consumer = consumer_of(p0=list(range(40)))
    consumer.batch = 10
    assert offsets_read(consumer, OffsetRange("a", 0, 0, 20)) == [*range(20)]

    assert offsets_read(consumer, OffsetRange("a", 0, 20, 40)) == [*range(20, 40)]

    assert consumer.seeks == 1


class TestLoss:
    def test_offsets_below_the_log_start_fail_the_task(self) -> None:
        consumer = consumer_of(p0=list(range(6, 20)))
        consumer.starts[A0] = 6

        with pytest.raises(DataLossError, match="a-0 offsets 2 to 5 are gone: the log now starts"):
            offsets_read(consumer, OffsetRange("a", 0, 2, 9))

    def test_or_are_left_out_and_nothing_comes_twice(self) -> None:
        consumer = consumer_of(p0=list(range(6, 20)))
        consumer.starts[A0] = 6

        assert offsets_read(consumer, OffsetRange("a", 0, 2, 9), settings=FORGIVING) == [*(6, 7, 8)]

    def test_a_range_that_is_gone_whole_is_left_out(self) -> None:
        consumer = consumer_of(p0=list(range(60, 70)))
        consumer.starts[A0] = 60

        assert offsets_read(consumer, OffsetRange("a", 0, 2, 9), settings=FORGIVING) == []

    def test_a_log_that_became_shorter_fails_the_task(self) -> None:
        consumer = consumer_of(p0=list(range(5)))

        with pytest.raises(DataLossError, match="a-0 offsets 8 to 11 are gone: the log now ends"):
            offsets_read(consumer, OffsetRange("a", 0, 8, 12))

    def test_a_topic_that_is_created_again_while_it_is_read_fails_the_task(self) -> None:
        consumer = consumer_of(p0=list(range(9)))
        consumer.recreated[A0] = 6

        with pytest.raises(DataLossError, match=r"a-0 offsets 6 to 8 are gone: .* created again"):
            offsets_read(consumer, OffsetRange("a", 0, 0, 9))

    def test_or_what_was_read_of_the_old_topic_is_all(self) -> None:
        consumer = consumer_of(p0=list(range(9)))
        consumer.recreated[A0] = 6

        found = offsets_read(consumer, OffsetRange("a", 0, 0, 9), settings=FORGIVING)

        assert found == [0, 1, 2, 3, 4, 5]

    def test_a_range_that_was_planned_for_the_new_topic_is_read(self) -> None:
        consumer = consumer_of(p0=list(range(9)))
        consumer.recreated[A0] = 2  # a consumer of an earlier batch knows the old topic

        assert offsets_read(consumer, OffsetRange("a", 0, 2, 5)) == [2, 3, 4]

    @pytest.mark.parametrize("raises", [False, True], ids=["in health", "raised"])
    @pytest.mark.parametrize(
        "error",
        [UnknownTopicIdError("no such id"), UnknownTopicOrPartitionError("no such topic")],
        ids=lambda error: type(error).__name__,
    )
    def test_a_topic_that_was_deleted_is_told_in_seconds(
        self, error: KafkaError, raises: bool
    ) -> None:
        consumer = consumer_of(p0=list(range(10)), p1=list(range(10)))
        consumer.failing[A1] = error
        consumer.raises_failing = raises

        with pytest.raises(
            DataLossError, match=r"a-1 offsets 2 to 7 are gone: the topic was deleted"
        ):
            offsets_read(consumer, OffsetRange("a", 1, 2, 8))

        assert consumer.clock.now() == pytest.approx(10, abs=0.2)

    def test_what_other_partitions_hold_is_read_if_the_query_may_go_on(self) -> None:
        consumer = consumer_of(p0=list(range(10)), p1=list(range(10)))
        consumer.failing[A1] = UnknownTopicIdError("no such id")

        read = offsets_read(
            consumer, OffsetRange("a", 0, 2, 8), OffsetRange("a", 1, 2, 8), settings=FORGIVING
        )

        assert read == [*range(2, 8)]

    def test_a_topic_that_is_unknown_for_a_moment_is_not_lost(self) -> None:
        consumer = consumer_of(p0=list(range(10)))
        consumer.failing[A0] = UnknownTopicIdError("no such id")
        consumer.failing_until = 9

        assert offsets_read(consumer, OffsetRange("a", 0, 2, 8)) == [*range(2, 8)]


class TestFailure:
    def test_an_error_says_where_and_which_code(self) -> None:
        consumer = consumer_of(p0=[0, 1])
        consumer.error = CorruptRecordError("bad checksum", topic="a", partition=0)

        with pytest.raises(ReadError) as error:
            offsets_read(consumer, OffsetRange("a", 0, 1, 2))

        assert str(error.value) == (
            "[PYK_READ_FAILED] cannot read a-0 at offset 1 (of 2): "
            "a-0: CORRUPT_MESSAGE (2): bad checksum (topic 'a', partition 0)"
        )

    def test_a_range_that_brings_nothing_is_given_up_in_time(self) -> None:
        consumer = consumer_of(p0=[0, 1])
        consumer.logs[A0] = []
        consumer.ends[A0] = 0

        consumer.failing[A0] = LeaderNotAvailableError("no leader", topic="a", partition=0)

        with pytest.raises(
            ReadError,
            match=r"nothing came for 30 s of a-0 at offset 0 \(of 2\): a-0 fails and tries ag",
        ):
            offsets_read(
                consumer, OffsetRange("a", 0, 0, 2), settings=ReadSettings(stall_timeout=30.0)
            )

        assert consumer.clock.now() == pytest.approx(30, abs=0.1)

    def test_a_reader_that_is_abandoned_reads_no_more(self) -> None:
        consumer = consumer_of(p0=list(range(100)))
        batches = reader_of(consumer).read([OffsetRange("a", 0, 0, 100)])
        next(batches)

        batches.close()  # type: ignore[attr-defined]

        assert consumer.positions[A0] < 100
