"""A topic with queries over it, for tests that run Spark."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from pyk.clients import Consumer, ConsumerRecord, Producer, TopicPartition
from pyk.reference_broker import Cluster

TIMEOUT = 60


class Topic:
    """A topic of its own for a test, and a checkpoint folder for a query over it."""

    def __init__(self, spark: SparkSession, cluster: Cluster, name: str, folder: Path) -> None:
        self.name = name
        self.servers = {"kafka.bootstrap.servers": cluster.bootstrap}
        self._spark = spark
        self._cluster = cluster
        self._checkpoint = str(folder / "checkpoint")

    def produce(self, values: Sequence[bytes], **record: Any) -> None:
        with Producer[bytes, bytes](self._cluster.bootstrap) as producer:
            for value in values:
                producer.send(self.name, value, **record)

    def batch(self, schema: str | None = None, **options: object) -> DataFrame:
        reader = self._spark.read.format("pyk").options(**self._source(options))
        return (reader.schema(schema) if schema else reader).load()

    def stream(self, schema: str | None = None, **options: object) -> DataFrame:
        reader = self._spark.readStream.format("pyk").options(**self._source(options))
        return (reader.schema(schema) if schema else reader).load()

    def _source(self, options: Mapping[str, object]) -> dict[str, Any]:
        return self.servers | {"subscribe": self.name} | dict(options)

    def run(self, frame: DataFrame, each: Callable[[DataFrame, int], None]) -> StreamingQuery:
        """Run a query over the records available now, with this topic's checkpoint; return it
        ended.

        Raises what ended the query if it failed.
        """
        query = self._start(frame, each, availableNow=True)
        assert query.awaitTermination(TIMEOUT)
        return query

    def start(self, frame: DataFrame, each: Callable[[DataFrame, int], None]) -> StreamingQuery:
        """Start a query that goes on, and return it once it waits for records."""
        query = self._start(frame, each, processingTime="0 seconds")
        deadline = time.monotonic() + TIMEOUT
        while query.status["message"] != "Waiting for data to arrive":
            assert time.monotonic() < deadline, query.status
            time.sleep(0.02)
        return query

    def _start(
        self, frame: DataFrame, each: Callable[[DataFrame, int], None], **trigger: Any
    ) -> StreamingQuery:
        return (
            frame.writeStream.foreachBatch(each)
            .option("checkpointLocation", self._checkpoint)
            .trigger(**trigger)
            .start()
        )

    def read_back(self, count: int) -> list[ConsumerRecord]:
        """Return the records of the topic, of which there must be so many."""
        with Consumer[bytes, bytes](
            self._cluster.bootstrap, auto_offset_reset="earliest"
        ) as consumer:
            partitions = [TopicPartition(self.name, number) for number in range(3)]
            consumer.assign(partitions)
            ends = consumer.end_offsets(partitions)
            records: list[ConsumerRecord] = []
            while any(consumer.position(one) < ends[one] for one in partitions):
                records += consumer.poll(1.0)
        assert len(records) == count
        return records
