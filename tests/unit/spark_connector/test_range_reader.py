"""A task reads exactly the offsets of its ranges, from logs of any kind."""

from __future__ import annotations

import pyarrow as pa
import pytest

from pyk.clients.errors import (
    CorruptRecordError,
    KafkaError,
    LeaderNotAvailableError,
    UnknownTopicIdError,
    UnknownTopicOrPartitionError,
)
from pyk.clients.topic_partition import TopicPartition
from pyk.spark_connector.errors import DataLossError, ReadError
from pyk.spark_connector.planning import OffsetRange
from pyk.spark_connector.range_reader import RangeReader, ReadSettings
from pyk.spark_connector.schema import Column
from support.range_consumer import TOPIC, FakeConsumer, FetchFailure, consumer_of

PARTITION_0, PARTITION_1 = TopicPartition(TOPIC, 0), TopicPartition(TOPIC, 1)
PARTITION_COLUMN = Column("partition", "partition")
OFFSET_COLUMN = Column("offset", "offset")
FAIL_ON_DATA_LOSS = ReadSettings()
SKIP_LOST_DATA = ReadSettings(fail_on_data_loss=False)


def offset_range(start: int, end: int, *, partition: int = 0) -> OffsetRange:
    return OffsetRange(TOPIC, partition, start, end)


def reader_of(
    consumer: FakeConsumer, *columns: Column, settings: ReadSettings = FAIL_ON_DATA_LOSS
) -> RangeReader:
    return RangeReader(consumer, columns, settings, consumer.clock)


def read_offsets(
    consumer: FakeConsumer, *ranges: OffsetRange, settings: ReadSettings = FAIL_ON_DATA_LOSS
) -> list[int]:
    """Return the offsets of all records that a task with these ranges reads."""
    reader = reader_of(consumer, OFFSET_COLUMN, settings=settings)
    return [offset for batch in reader.read(ranges) for offset in batch.column(0).to_pylist()]


class TestRanges:
    def test_a_range_is_read_from_its_start_to_its_end(self) -> None:
        consumer = consumer_of(range(20))

        assert read_offsets(consumer, offset_range(4, 11)) == [4, 5, 6, 7, 8, 9, 10]

    def test_a_range_of_a_compacted_log_is_read_without_the_missing_offsets(self) -> None:
        consumer = consumer_of([0, 3, 9, 10, 14, 30])

        assert read_offsets(consumer, offset_range(1, 14)) == [3, 9, 10]

    def test_reading_a_range_without_records_ends(self) -> None:
        consumer = consumer_of([0, 50])

        assert read_offsets(consumer, offset_range(10, 20)) == []

    def test_reading_a_range_that_ends_with_markers_ends(self) -> None:
        consumer = consumer_of([0, 1, 2])
        consumer.logs[PARTITION_0].end = 5

        assert read_offsets(consumer, offset_range(0, 5)) == [0, 1, 2]

    def test_ranges_of_several_partitions_are_read_by_one_task(self) -> None:
        consumer = consumer_of(range(10), range(100, 130))
        reader = reader_of(consumer, PARTITION_COLUMN, OFFSET_COLUMN)

        batches = list(
            reader.read([offset_range(2, 8, partition=0), offset_range(100, 121, partition=1)])
        )

        rows = pa.Table.from_batches(batches).sort_by("partition").to_pylist()
        assert rows == [
            *({"partition": 0, "offset": offset} for offset in range(2, 8)),
            *({"partition": 1, "offset": offset} for offset in range(100, 121)),
        ]

    def test_ranges_of_one_partition_are_read_one_after_the_other(self) -> None:
        consumer = consumer_of(range(30))

        read = read_offsets(consumer, offset_range(2, 5), offset_range(20, 23))

        assert read == [2, 3, 4, 20, 21, 22]

    def test_batches_have_the_columns_and_types_of_the_schema_that_spark_expects(self) -> None:
        columns = (Column("timestamp", "TIMESTAMP"), Column("value", "value", nullable=False))

        (batch,) = reader_of(consumer_of([0, 1]), *columns).read([offset_range(0, 2)])

        assert batch.schema == pa.schema(
            [
                pa.field("TIMESTAMP", pa.timestamp("us", tz="UTC")),
                pa.field("value", pa.binary(), nullable=False),
            ]
        )
        assert batch.column(0).cast(pa.int64()).to_pylist() == [0, 1_000_000]
        assert batch.column(1).to_pylist() == [b"0", b"1"]

    def test_a_partition_is_paused_when_its_range_is_read(self) -> None:
        consumer = consumer_of(range(10), range(40))
        batches = reader_of(consumer, OFFSET_COLUMN).read(
            [offset_range(0, 2, partition=0), offset_range(0, 40, partition=1)]
        )

        for _ in range(3):
            next(batches)

        assert consumer.paused == {PARTITION_0}

    def test_the_next_task_does_not_seek_where_the_last_one_ended(self) -> None:
        consumer = consumer_of(range(40))
        consumer.records_per_poll = 10  # so that the last poll ends with the range
        assert read_offsets(consumer, offset_range(0, 20)) == [*range(20)]
        seeks_before = consumer.seeks

        assert read_offsets(consumer, offset_range(20, 40)) == [*range(20, 40)]

        assert consumer.seeks == seeks_before == 1

    def test_closing_the_iterator_ends_the_reading(self) -> None:
        consumer = consumer_of(range(100))
        batches = reader_of(consumer, OFFSET_COLUMN).read([offset_range(0, 100)])
        next(batches)

        batches.close()  # type: ignore[attr-defined]

        assert consumer.positions[PARTITION_0] < 100


class TestDataLoss:
    """Lost offsets fail the task by default; with ``SKIP_LOST_DATA`` it reads the rest."""

    def test_offsets_below_the_log_start_fail_the_task(self) -> None:
        consumer = consumer_of(range(6, 20))
        consumer.logs[PARTITION_0].start = 6

        with pytest.raises(DataLossError, match="orders-0 offsets 2 to 5 are gone: the log now st"):
            read_offsets(consumer, offset_range(2, 9))

    def test_offsets_below_the_log_start_are_skipped(self) -> None:
        consumer = consumer_of(range(6, 20))
        consumer.logs[PARTITION_0].start = 6

        assert read_offsets(consumer, offset_range(2, 9), settings=SKIP_LOST_DATA) == [6, 7, 8]

    def test_a_range_below_the_log_start_is_skipped(self) -> None:
        consumer = consumer_of(range(60, 70))
        consumer.logs[PARTITION_0].start = 60

        assert read_offsets(consumer, offset_range(2, 9), settings=SKIP_LOST_DATA) == []

    def test_the_error_for_a_range_below_the_log_start_ends_with_the_range(self) -> None:
        consumer = consumer_of(range(60, 70))
        consumer.logs[PARTITION_0].start = 60

        with pytest.raises(
            DataLossError, match="offsets 2 to 8 are gone: the log now starts at 60"
        ):
            read_offsets(consumer, offset_range(2, 9))

    def test_offsets_after_the_log_end_fail_the_task(self) -> None:
        consumer = consumer_of(range(5))

        with pytest.raises(
            DataLossError, match="orders-0 offsets 8 to 11 are gone: the log now en"
        ):
            read_offsets(consumer, offset_range(8, 12))


class TestRecreatedTopic:
    """The topic was deleted, and another one with its name was created."""

    def test_a_range_that_was_begun_in_the_old_topic_fails_the_task(self) -> None:
        consumer = consumer_of(range(9))
        consumer.logs[PARTITION_0].recreated_at = 6

        with pytest.raises(DataLossError, match=r"orders-0 offsets 6 to 8 are gone: .*ed again"):
            read_offsets(consumer, offset_range(0, 9))

    def test_the_rest_of_a_range_that_was_begun_in_the_old_topic_is_skipped(self) -> None:
        consumer = consumer_of(range(9))
        consumer.logs[PARTITION_0].recreated_at = 6

        read = read_offsets(consumer, offset_range(0, 9), settings=SKIP_LOST_DATA)

        assert read == [0, 1, 2, 3, 4, 5]

    def test_a_range_that_was_planned_for_the_new_topic_is_read(self) -> None:
        consumer = consumer_of(range(9))
        consumer.logs[PARTITION_0].recreated_at = 2  # the consumer read the old topic up to here

        assert read_offsets(consumer, offset_range(2, 5)) == [2, 3, 4]


class TestDeletedTopic:
    @pytest.mark.parametrize("is_raised", [False, True], ids=["in health", "raised by poll"])
    @pytest.mark.parametrize(
        "error",
        [UnknownTopicIdError("no such id"), UnknownTopicOrPartitionError("no such topic")],
        ids=lambda error: type(error).__name__,
    )
    def test_a_deleted_topic_fails_the_task_after_ten_seconds(
        self, error: KafkaError, is_raised: bool
    ) -> None:
        consumer = consumer_of(range(10), range(10))
        consumer.logs[PARTITION_1].failure = FetchFailure(error, is_raised=is_raised)

        with pytest.raises(
            DataLossError, match="orders-1 offsets 2 to 7 are gone: the topic was deleted"
        ):
            read_offsets(consumer, offset_range(2, 8, partition=1))

        assert consumer.clock.now() == pytest.approx(10, abs=0.2)

    def test_a_deleted_topic_is_skipped_and_the_other_partitions_are_read(self) -> None:
        consumer = consumer_of(range(10), range(10))
        consumer.logs[PARTITION_1].failure = FetchFailure(UnknownTopicIdError("no such id"))

        read = read_offsets(
            consumer,
            offset_range(2, 8, partition=0),
            offset_range(2, 8, partition=1),
            settings=SKIP_LOST_DATA,
        )

        assert read == [2, 3, 4, 5, 6, 7]

    def test_a_topic_that_is_unknown_for_less_than_ten_seconds_is_read(self) -> None:
        consumer = consumer_of(range(10))
        consumer.logs[PARTITION_0].failure = FetchFailure(
            UnknownTopicIdError("no such id"), until=9
        )

        assert read_offsets(consumer, offset_range(2, 8)) == [2, 3, 4, 5, 6, 7]


class TestErrors:
    def test_a_read_error_names_partition_offset_and_error_code(self) -> None:
        consumer = consumer_of([0, 1])
        consumer.poll_error = CorruptRecordError("bad checksum", topic=TOPIC, partition=0)

        with pytest.raises(ReadError) as error:
            read_offsets(consumer, offset_range(1, 2))

        assert str(error.value) == (
            "[PYK_READ_FAILED] cannot read orders-0 at offset 1 (of 2): "
            "orders-0: CORRUPT_MESSAGE (2): bad checksum (topic 'orders', partition 0)"
        )

    def test_a_range_without_progress_fails_after_the_stall_timeout(self) -> None:
        consumer = consumer_of([0, 1])
        no_leader = LeaderNotAvailableError("no leader", topic=TOPIC, partition=0)
        consumer.logs[PARTITION_0].failure = FetchFailure(no_leader)

        with pytest.raises(
            ReadError,
            match=r"no records for 30 s from orders-0 at offset 0 \(of 2\): orders-0 fails and tri",
        ):
            read_offsets(consumer, offset_range(0, 2), settings=ReadSettings(stall_timeout=30.0))

        assert consumer.clock.now() == pytest.approx(30, abs=0.1)
