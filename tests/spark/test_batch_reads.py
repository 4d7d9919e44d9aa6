"""Batch reads through a Spark session."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf

from support.spark_topic import Topic

pytestmark = pytest.mark.spark

SCHEMA = (
    "struct<key:binary,value:binary,topic:string,partition:int,offset:bigint,"
    "timestamp:timestamp,timestampType:int>"
)


def test_rows_have_the_columns_of_sparks_own_kafka_source(topic: Topic) -> None:
    topic.produce([b"one"], key=b"k", partition=2, timestamp_ms=1_700_000_000_123)

    frame = topic.batch()

    assert frame.schema.simpleString() == SCHEMA
    (row,) = frame.withColumn("timestamp", sf.unix_millis("timestamp")).collect()
    assert row.asDict() == {
        "key": b"k",
        "value": b"one",
        "topic": topic.name,
        "partition": 2,
        "offset": 0,
        "timestamp": 1_700_000_000_123,
        "timestampType": 0,
    }


def test_headers_are_read_when_the_option_asks_for_them(topic: Topic) -> None:
    topic.produce([b"with"], partition=0, headers=[("a", b"1"), ("b", None), ("a", b"2")])
    topic.produce([b"without"], partition=0)

    rows = topic.batch(includeHeaders="true").orderBy("offset").collect()

    assert [tuple(header) for header in rows[0].headers] == [("a", b"1"), ("b", None), ("a", b"2")]
    assert rows[1].headers is None


def test_null_keys_and_values_are_read_as_null(topic: Topic) -> None:
    topic.produce([b"", None], partition=0)  # type: ignore[list-item]

    rows = topic.batch().orderBy("offset").collect()

    assert [(row.key, row.value) for row in rows] == [(None, b""), (None, None)]


def test_a_schema_chooses_the_columns(topic: Topic) -> None:
    topic.produce([b"x", b"y"], partition=1)

    rows = topic.batch(schema="offset long, value binary").orderBy("offset").collect()

    assert [row.asDict() for row in rows] == [
        {"offset": 0, "value": b"x"},
        {"offset": 1, "value": b"y"},
    ]


def test_starting_and_ending_offsets_limit_the_read(topic: Topic) -> None:
    for partition in range(3):
        topic.produce([b"%d" % number for number in range(10)], partition=partition)
    starts = {topic.name: {"0": 7, "1": -2, "2": 4}}
    ends = {topic.name: {"0": -1, "1": 2, "2": 4}}

    rows = topic.batch(startingOffsets=json.dumps(starts), endingOffsets=json.dumps(ends)).collect()

    assert sorted((row.partition, row.offset, row.value) for row in rows) == [
        *((0, number, b"%d" % number) for number in (7, 8, 9)),
        *((1, number, b"%d" % number) for number in (0, 1)),
    ]


def test_large_ranges_are_read_completely_and_in_order(topic: Topic) -> None:
    values = [b"%07d" % number for number in range(60_000)]
    topic.produce(values, partition=0)

    rows = topic.batch(schema="offset long, value binary", startingOffsets="earliest").collect()

    assert [row.offset for row in rows] == list(range(60_000))
    assert [row.value for row in rows] == values


def test_assigned_partitions_are_read(spark: SparkSession, topic: Topic) -> None:
    for partition in range(3):
        topic.produce([b"x"], partition=partition)
    assignment = json.dumps({topic.name: [0, 2]})

    frame = spark.read.format("pyk").options(**topic.servers, assign=assignment).load()

    assert sorted(row.partition for row in frame.collect()) == [0, 2]


def test_min_partitions_splits_a_partition_into_tasks(topic: Topic) -> None:
    topic.produce([b"x"] * 100, partition=0)

    frame = topic.batch(minPartitions=4).withColumn("task", sf.spark_partition_id())

    assert {row["count"] for row in frame.groupBy("task").count().collect()} == {25}


def test_small_partitions_share_as_many_tasks_as_spark_runs_at_once(
    make_topic: Callable[..., Topic],
) -> None:
    topic = make_topic(partitions=7)
    for partition in range(7):
        topic.produce([b"x"], partition=partition)

    tasks = topic.batch().select(sf.spark_partition_id()).distinct().count()

    assert tasks == 2, "the session is local[2]"


def test_the_worker_reads_again_after_a_limit_stopped_a_read(topic: Topic) -> None:
    topic.produce([b"%d" % number for number in range(50_000)], partition=0)
    frame = topic.batch(schema="value binary")

    assert [row.value for row in frame.limit(3).collect()] == [b"0", b"1", b"2"]
    assert frame.count() == 50_000


def test_sql_queries_can_use_the_format(spark: SparkSession, topic: Topic) -> None:
    topic.produce([b"from sql"])
    spark.sql(
        f"CREATE OR REPLACE TEMPORARY VIEW records USING pyk OPTIONS ("
        f"'kafka.bootstrap.servers' '{topic.servers['kafka.bootstrap.servers']}', "
        f"subscribe '{topic.name}')"
    )

    assert spark.sql("SELECT cast(value AS string) AS v FROM records").first()["v"] == "from sql"  # type: ignore[index]


def test_an_invalid_option_is_reported_when_the_table_is_loaded(topic: Topic) -> None:
    with pytest.raises(PySparkException, match=r"\[PYK_OPTION\].*did you mean 'startingOffsets'"):
        topic.batch(startingOffset="earliest")


def test_the_error_for_an_unknown_topic_names_it(topic: Topic) -> None:
    with pytest.raises(PySparkException, match=r"\[PYK_READ_FAILED\].*no-such-topic"):
        topic.batch(subscribe="no-such-topic").collect()


def test_ending_offsets_beyond_the_log_are_an_invalid_option(topic: Topic) -> None:
    topic.produce([b"x"], partition=0)
    offsets = json.dumps({topic.name: {"0": 5, "1": -2, "2": -2}})

    with pytest.raises(PySparkException, match=rf"\[PYK_OPTION\] {topic.name}-0 starts at"):
        topic.batch(startingOffsets=offsets).collect()


def test_options_are_not_shown_in_plans(topic: Topic, capsys: pytest.CaptureFixture[str]) -> None:
    frame = topic.batch(**{"kafka.client.id": "canary"})

    frame.explain(mode="extended")

    assert "canary" not in capsys.readouterr().out
