"""The same counts by Spark: a streaming query over ``format("pyk")``, its result in a topic."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

from examples.journey.text import Count, Counts
from pyk.clients import Consumer, TopicPartition

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


LOG_SETTINGS = """
rootLogger.level = error
rootLogger.appenderRef.console.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %p %c{1}: %m%n
"""


def start_session(folder: Path) -> SparkSession:
    """Start Spark in this process; without a Java of the machine, on the one that pip installed."""
    from pyk.spark_connector.java import prepare_local_spark

    prepare_local_spark()
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    log_settings = folder / "log4j2.properties"
    log_settings.write_text(LOG_SETTINGS)
    from pyspark.sql import SparkSession

    return (
        SparkSession.builder.master("local[2]")
        .appName("journey")
        .config("spark.driver.memory", "1g")
        .config("spark.driver.extraJavaOptions", f"-Dlog4j2.configurationFile={log_settings}")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.warehouse.dir", str(folder / "warehouse"))
        .getOrCreate()
    )


def count_with_spark(
    session: SparkSession, bootstrap: str, topic: str, result_topic: str, folder: Path
) -> int:
    """Count lines and words per package in micro-batches; return how many batches it took."""
    from pyspark.sql import functions as f

    lines = (
        session.readStream.format("pyk")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("subscribe", topic)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", 150_000)
        .load()
    )
    words = f.regexp_count(f.col("value").cast("string"), f.lit(r"\S+"))
    counts = (
        lines.groupBy(f.substring_index(f.col("key").cast("string"), ".", 1).alias("package"))
        .agg(f.count("*").alias("lines"), f.sum(words).alias("words"))
        .select(
            f.col("package").alias("key"),
            f.to_json(f.struct("lines", "words")).alias("value"),
        )
    )
    query = (
        counts.writeStream.format("pyk")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("topic", result_topic)
        .option("checkpointLocation", str(folder / "checkpoint"))
        .outputMode("complete")  # sinks in Python do not support output mode update
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    return len(query.recentProgress)


def read_counts(bootstrap: str, result_topic: str) -> Counts:
    """Return the last count of each package in the topic that Spark wrote."""
    partition = TopicPartition(result_topic, 0)
    counts = Counts()
    with Consumer(bootstrap, auto_offset_reset="earliest") as consumer:
        consumer.assign([partition])
        end = consumer.end_offsets([partition])[partition]
        while consumer.position(partition) < end:
            for record in consumer.poll(5.0):
                count = json.loads(record.value)
                counts[record.key.decode()] = Count(count["lines"], count["words"])
    return counts
