"""Count the records of a topic per minute with Spark, late ones included, and write the counts.

The checkpoint keeps offsets and counts: stopped and started again, the query goes on where it was.

    python examples/spark_windows.py localhost:9092 checkpoint
"""

from __future__ import annotations

import sys

from pyk.spark_connector import prepare_local_spark

prepare_local_spark()  # before Spark is imported; not needed on a cluster

from pyspark.sql import SparkSession  # noqa: E402
from pyspark.sql import functions as f  # noqa: E402
from pyspark.sql.streaming.query import StreamingQuery  # noqa: E402


def count_per_minute(spark: SparkSession, bootstrap: str, checkpoint: str) -> StreamingQuery:
    """Start the query over all that the topic ``clicks`` holds now."""
    clicks = (
        spark.readStream.format("pyk")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("subscribe", "clicks")
        .option("startingOffsets", "earliest")
        .load()
    )
    counts = (
        clicks.withWatermark("timestamp", "10 minutes")  # how late a record may be
        .groupBy(f.window("timestamp", "1 minute").alias("minute"), f.col("key"))
        .count()
    )
    return (
        counts.select(
            "key",
            f.to_json(f.struct(f.col("minute.start").alias("minute"), "count")).alias("value"),
        )
        .writeStream.format("pyk")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("topic", "clicks-per-minute")
        .option("checkpointLocation", checkpoint)
        .outputMode("append")  # a minute is written once, when no more records can belong to it
        .trigger(availableNow=True)  # to run for ever: processingTime="10 seconds"
        .start()
    )


if __name__ == "__main__":
    session = SparkSession.builder.master("local[2]").appName("clicks").getOrCreate()
    count_per_minute(session, sys.argv[1], sys.argv[2]).awaitTermination()
    session.stop()
