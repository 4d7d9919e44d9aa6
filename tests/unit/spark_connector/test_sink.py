"""Rows are converted to records by the rules of Spark's Kafka sink."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import attrs
import pyarrow as pa
import pytest
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from pyk.clients.errors import BootstrapError, KafkaError, RecordTooLargeError
from pyk.spark_connector import notices, workers
from pyk.spark_connector.errors import OptionError, SchemaError, WriteError
from pyk.spark_connector.sink import MAX_IN_FLIGHT, BatchWriter, StreamWriter, write_batches
from pyk.spark_connector.sink_records import check_columns, records_by_topic

SERVERS = {"kafka.bootstrap.servers": "localhost:9092"}
HEADERS = ArrayType(
    StructType([StructField("key", StringType()), StructField("value", BinaryType())])
)


@pytest.fixture(autouse=True)
def nothing_logged_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notices, "_logged", set())


def schema_of(**columns: DataType) -> StructType:
    return StructType([StructField(name, type_) for name, type_ in columns.items()])


@attrs.define
class FakeResult:
    producer: FakeProducer

    def result(self, timeout: float | None = None) -> None:
        self.producer.in_flight -= 1
        if self.producer.error is not None:
            raise self.producer.error


@attrs.define
class FakeProducer:
    """Keeps the records that it gets; each result can be read once."""

    sent: list[tuple[str, dict[str, list[Any]]]] = attrs.field(factory=list)
    error: KafkaError | None = None
    refusal: ValueError | None = None
    in_flight: int = 0
    most_in_flight: int = 0

    def send_batch(self, topic: str, records: pa.Table) -> FakeResult:
        if self.refusal is not None:
            raise self.refusal
        self.sent.append((topic, records.to_pydict()))
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        return FakeResult(self)

    def flush(self, timeout: float | None = None) -> None:
        pass


class TestColumns:
    @pytest.mark.parametrize(
        ("schema", "topic"),
        [
            (schema_of(value=StringType()), "out"),
            (schema_of(value=BinaryType(), topic=StringType()), None),
            (schema_of(value=BinaryType(), key=StringType(), other=LongType()), "out"),
            (
                schema_of(
                    value=BinaryType(),
                    headers=HEADERS,
                    partition=IntegerType(),
                    timestamp=TimestampType(),
                ),
                "out",
            ),
        ],
    )
    def test_valid_schemas_are_accepted(self, schema: StructType, topic: str | None) -> None:
        check_columns(schema, topic)

    @pytest.mark.parametrize("type_", [StringType(), LongType(), TimestampNTZType()])
    def test_a_timestamp_column_of_another_type_is_refused(
        self, type_: DataType, caplog: pytest.LogCaptureFixture
    ) -> None:
        producer = FakeProducer()
        schema = schema_of(value=StringType(), timestamp=type_)

        with caplog.at_level(logging.WARNING):
            columns = check_columns(schema, "out")
            StreamWriter(SERVERS | {"topic": "out"}, schema)
        batch = pa.record_batch({"value": ["v"], "timestamp": ["yesterday"]})
        write_batches(iter([batch]), producer, "out", columns)

        assert producer.sent == [("out", {"value": ["v"]})]
        assert f"its type is {type_.simpleString()}" in caplog.text

    @pytest.mark.parametrize(
        ("schema", "topic", "message"),
        [
            (schema_of(key=StringType()), "out", "column 'value' is missing; there are key"),
            (schema_of(value=StringType()), None, "option 'topic' must be given"),
            (schema_of(value=LongType()), "out", "'value' must be string or binary, not bigint"),
            (
                schema_of(value=StringType(), key=LongType()),
                "out",
                "'key' must be string or binary, not bigint",
            ),
            (
                schema_of(value=StringType(), partition=LongType()),
                "out",
                "'partition' must be int, not bigint",
            ),
            (schema_of(value=StringType(), headers=StringType()), "out", "'headers' must be array"),
            (
                schema_of(value=StringType(), topic=BinaryType()),
                "out",
                "'topic' must be string, not binary",
            ),
        ],
    )
    def test_invalid_schemas_are_refused(
        self, schema: StructType, topic: str | None, message: str
    ) -> None:
        with pytest.raises(SchemaError, match=message):
            check_columns(schema, topic)


class TestTopics:
    def test_the_option_wins_over_the_column(self) -> None:
        batch = pa.record_batch({"topic": ["a", None], "value": [b"1", b"2"]})

        ((topic, records),) = records_by_topic(batch, "out")

        assert topic == "out"
        assert records.to_pydict() == {"value": [b"1", b"2"]}

    def test_each_topic_gets_its_rows_in_their_order(self) -> None:
        batch = pa.record_batch({"topic": ["a", "b", "a", "c"], "value": ["1", "2", "3", "4"]})

        by_topic = {topic: records.to_pydict() for topic, records in records_by_topic(batch, None)}

        assert by_topic == {
            "a": {"value": ["1", "3"]},
            "b": {"value": ["2"]},
            "c": {"value": ["4"]},
        }

    def test_a_row_without_a_topic_is_an_error(self) -> None:
        batch = pa.record_batch({"topic": ["a", None], "value": [b"1", b"2"]})

        with pytest.raises(WriteError, match="its column 'topic' is null"):
            list(records_by_topic(batch, None))

    def test_only_the_columns_of_a_record_are_sent(self) -> None:
        batch = pa.record_batch({"other": [1], "key": ["k"], "value": [b"1"], "partition": [0]})

        ((_, records),) = records_by_topic(batch, "out")

        assert records.column_names == ["key", "value", "partition"]


class TestWriting:
    def batches(self, count: int) -> Iterator[pa.RecordBatch]:
        for number in range(count):
            yield pa.record_batch({"value": [b"%d" % number]})

    def test_every_row_is_sent_and_its_result_awaited(self) -> None:
        producer = FakeProducer()

        assert write_batches(self.batches(5), producer, "out") == 5

        assert [records["value"] for _, records in producer.sent] == [[b"%d" % n] for n in range(5)]
        assert producer.in_flight == 0

    def test_the_number_of_pending_results_is_limited(self) -> None:
        producer = FakeProducer()

        write_batches(self.batches(500), producer, "out")

        assert producer.most_in_flight == MAX_IN_FLIGHT + 1

    def test_a_failure_names_the_partition_and_the_code(self) -> None:
        error = RecordTooLargeError("too large", topic="out", partition=3)

        with pytest.raises(
            WriteError, match=r"^\[PYK_WRITE_FAILED\] out-3: MESSAGE_TOO_LARGE \(10\)"
        ):
            write_batches(self.batches(1), FakeProducer(error=error), "out")

    def test_the_error_for_a_row_that_cannot_be_a_record_names_the_topic(self) -> None:
        producer = FakeProducer(refusal=ValueError("the key of header 0 is null"))

        with pytest.raises(
            WriteError, match=r"^\[PYK_WRITE_FAILED\] out: cannot write a row: the key of"
        ):
            write_batches(self.batches(1), producer, "out")


class TestWriters:
    def test_overwriting_is_refused_in_a_batch(self) -> None:
        with pytest.raises(OptionError, match=r"use mode\('append'\)"):
            BatchWriter(SERVERS | {"topic": "out"}, schema_of(value=StringType()), overwrite=True)

    def test_a_task_without_rows_does_not_connect(self) -> None:
        writer = StreamWriter(SERVERS | {"topic": "out"}, schema_of(value=StringType()))

        assert writer.write(iter([])).rows == 0

    def test_a_cluster_that_cannot_be_reached_has_a_code(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refuse(properties: object) -> None:
            raise BootstrapError("no bootstrap server answers")

        monkeypatch.setattr(workers, "make_producer", refuse)
        options = SERVERS | {
            "topic": "out", "kafka.delivery.timeout.ms": "40", "kafka.request.timeout.ms": "40",
            "kafka.linger.ms": "0",
        }  # fmt: skip
        writer = StreamWriter(options, schema_of(value=StringType()))

        with pytest.raises(
            WriteError, match=r"^\[PYK_WRITE_FAILED\] BootstrapError: no bootstrap server answers"
        ):
            writer.write(iter([pa.record_batch({"value": ["v"]})]))

    def test_commit_and_abort_keep_written_records(self) -> None:
        writer = StreamWriter(SERVERS | {"topic": "out"}, schema_of(value=StringType()))

        writer.commit([], 7)
        writer.abort([None], 7)

    def test_options_without_effect_are_reported_once(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        options = SERVERS | {
            "topic": "out",
            "startingOffsets": "earliest",
            "kafka.auto.offset.reset": "latest",
            "kafka.send.buffer.bytes": "65536",
        }

        with caplog.at_level(logging.WARNING):
            for _ in range(3):
                StreamWriter(options, schema_of(value=StringType()))

        (record,) = caplog.records
        assert record.getMessage() == (
            "format('pyk'): option 'startingOffsets' has no effect on a write; "
            "kafka.auto.offset.reset has no effect: an option of Consumer; "
            "kafka.send.buffer.bytes has no effect: the operating system sizes the buffers of "
            "sockets"
        )

    @pytest.mark.parametrize("make", [BatchWriter, StreamWriter])
    def test_client_options_are_checked_before_anything_runs(self, make: type) -> None:
        options = SERVERS | {"topic": "out", "kafka.linger.mss": "5"}
        arguments = (False,) if make is BatchWriter else ()

        with pytest.raises(OptionError, match=r"did you mean 'linger\.ms'"):
            make(options, schema_of(value=StringType()), *arguments)
