"""Batch and streaming writes through a Spark session."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from support.spark_topic import TIMEOUT, Topic

pytestmark = pytest.mark.spark

IMPATIENT = {"kafka.max.block.ms": "1000"}


def write(frame: DataFrame, topic: Topic, **options: object) -> None:
    given = topic.servers | {"topic": topic.name} | options
    frame.write.format("pyk").options(**given).mode("append").save()  # type: ignore[arg-type]


def test_strings_are_written_as_their_bytes(spark: SparkSession, topic: Topic) -> None:
    write(spark.createDataFrame([("k", "grün")], "key string, value string"), topic)

    (record,) = topic.read_back(1)
    assert (record.key, record.value) == (b"k", "grün".encode())


def test_every_column_of_a_record_is_written(spark: SparkSession, topic: Topic) -> None:
    frame = spark.sql(
        "SELECT X'00ff' AS key, X'01' AS value, 2 AS partition, "
        "timestamp_millis(1700000000123) AS timestamp, "
        "array(named_struct('key', 'h', 'value', X'07'), "
        "named_struct('key', 'n', 'value', CAST(NULL AS BINARY))) AS headers"
    )
    write(frame, topic)

    (record,) = topic.read_back(1)
    assert (record.key, record.value, record.partition) == (b"\x00\xff", b"\x01", 2)
    assert record.timestamp == 1_700_000_000_123
    assert record.headers == (("h", b"\x07"), ("n", None))


def test_nulls_are_written_as_nulls(spark: SparkSession, topic: Topic) -> None:
    rows = [("k", None, None), (None, "v", 1)]
    write(spark.createDataFrame(rows, "key string, value string, partition int"), topic)

    written = {(record.key, record.value) for record in topic.read_back(2)}
    assert written == {(b"k", None), (None, b"v")}


def test_a_column_names_the_topic_of_each_row(
    spark: SparkSession, make_topic: Callable[..., Topic]
) -> None:
    first, second = make_topic(), make_topic()
    rows = [(first.name, "1"), (second.name, "2"), (first.name, "3")]
    frame = spark.createDataFrame(rows, "topic string, value string").coalesce(1)

    frame.write.format("pyk").options(**first.servers).mode("append").save()

    assert sorted(record.value for record in first.read_back(2)) == [b"1", b"3"]
    assert [record.value for record in second.read_back(1)] == [b"2"]


def test_rows_of_a_key_keep_their_order(spark: SparkSession, topic: Topic) -> None:
    frame = spark.range(20_000, numPartitions=1).select(
        (sf.col("id") % 7).cast("string").alias("key"), sf.col("id").cast("string").alias("value")
    )
    write(frame, topic)

    records = topic.read_back(20_000)
    for key in {record.key for record in records}:
        numbers = [int(record.value) for record in records if record.key == key]
        assert numbers == sorted(numbers)


def test_a_stream_copies_one_topic_to_another(
    make_topic: Callable[..., Topic], tmp_path: Path
) -> None:
    source, target = make_topic(), make_topic()
    values = [b"%04d" % number for number in range(1000)]
    for more in (values[:600], values[600:]):
        source.produce(more)
        query = (
            source.stream(startingOffsets="earliest", maxOffsetsPerTrigger=250)
            .select("key", "value")
            .writeStream.format("pyk")
            .options(**target.servers, topic=target.name)
            .option("checkpointLocation", str(tmp_path / "topic-to-topic"))
            .trigger(availableNow=True)
            .start()
        )
        assert query.awaitTermination(TIMEOUT)

    assert Counter(record.value for record in target.read_back(1000)) == Counter(values)


def test_complete_results_are_appended(make_topic: Callable[..., Topic], tmp_path: Path) -> None:
    source, target = make_topic(), make_topic()
    source.produce([b"a", b"b", b"a"])
    counts = (
        source.stream(startingOffsets="earliest")
        .groupBy(sf.col("value").alias("key"))
        .agg(sf.count("*").cast("string").alias("value"))
    )

    query = (
        counts.writeStream.format("pyk")
        .options(**target.servers, topic=target.name)
        .option("checkpointLocation", str(tmp_path / "counts"))
        .outputMode("complete")
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(TIMEOUT)

    assert {(r.key, r.value) for r in target.read_back(2)} == {(b"a", b"2"), (b"b", b"1")}


def test_a_partition_that_does_not_exist_fails_the_task(spark: SparkSession, topic: Topic) -> None:
    frame = spark.createDataFrame([("v", 17)], "value string, partition int")

    with pytest.raises(PySparkException, match=rf"\[PYK_WRITE_FAILED\].*{topic.name}.*17"):
        write(frame, topic, **IMPATIENT)


def test_the_error_for_a_record_that_is_too_large_names_topic_and_code(
    spark: SparkSession, topic: Topic
) -> None:
    frame = spark.sql("SELECT repeat('x', 3000000) AS value")

    with pytest.raises(
        PySparkException, match=rf"\[PYK_WRITE_FAILED\].*{topic.name}.*MESSAGE_TOO_LARGE \(10\)"
    ):
        write(frame, topic, **{"kafka.max.request.size": 8_000_000})


def test_a_failed_batch_fails_the_stream_with_its_cause(topic: Topic, tmp_path: Path) -> None:
    topic.produce([b"v"])
    frame = topic.stream(startingOffsets="earliest").selectExpr("value", "99 AS partition")

    query = (
        frame.writeStream.format("pyk")
        .options(**topic.servers, topic=topic.name, **IMPATIENT)
        .option("checkpointLocation", str(tmp_path / "failing"))
        .trigger(availableNow=True)
        .start()
    )
    with pytest.raises(StreamingQueryException, match=r"\[PYK_WRITE_FAILED\]"):
        query.awaitTermination(TIMEOUT)


def test_overwriting_a_topic_is_refused(spark: SparkSession, topic: Topic) -> None:
    frame = spark.createDataFrame([("v",)], "value string")
    writer = frame.write.format("pyk").options(**topic.servers, topic=topic.name)

    with pytest.raises(PySparkException, match=r"\[PYK_OPTION\] topics cannot be overwritten"):
        writer.mode("overwrite").save()


def test_a_column_of_the_wrong_type_is_refused_before_anything_runs(
    spark: SparkSession, topic: Topic
) -> None:
    with pytest.raises(PySparkException, match=r"\[PYK_SCHEMA\] column 'value' must be string"):
        write(spark.range(1).withColumnRenamed("id", "value"), topic)
