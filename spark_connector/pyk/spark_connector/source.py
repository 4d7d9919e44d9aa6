"""The batch reader, and the reading in a task that batch and streaming readers share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceReader, InputPartition

from pyk.clients.config import ConsumerConfig
from pyk.spark_connector.batch_planner import plan_batch
from pyk.spark_connector.client_properties import (
    consumer_properties,
    kafka_notices,
)
from pyk.spark_connector.errors import ReadError, describe_error
from pyk.spark_connector.installation import check_codecs, warn_if_uncompiled
from pyk.spark_connector.notices import log_once
from pyk.spark_connector.options import SourceOptions, batch_source_options
from pyk.spark_connector.parallelism import default_parallelism
from pyk.spark_connector.planning import OffsetRange
from pyk.spark_connector.schema import wanted_columns

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

    from pyk.spark_connector.schema import Column


class TaskReader:
    """Reads the ranges of a task; Spark pickles it in the driver for the tasks."""

    def __init__(self, options: SourceOptions, columns: Sequence[Column]) -> None:
        check_codecs()
        log_once((*options.notices, *kafka_notices(ConsumerConfig, options.kafka)))
        self._columns = columns
        self._properties = consumer_properties(options.kafka)
        self._fail_on_data_loss = options.fail_on_data_loss
        self._stall_timeout = options.poll_timeout_ms / 1000

    def read(self, ranges: Sequence[OffsetRange]) -> Iterator[pa.RecordBatch]:
        """Yield the records of the ranges as batches in Spark's own schema."""
        from pyk.clients.errors import KafkaError
        from pyk.runtime.system_clock import SystemClock
        from pyk.spark_connector.range_reader import RangeReader, ReadSettings
        from pyk.spark_connector.workers import clients, freeze_imports, make_consumer

        warn_if_uncompiled()
        settings = ReadSettings(
            fail_on_data_loss=self._fail_on_data_loss, stall_timeout=self._stall_timeout
        )
        lent = clients.borrow(make_consumer, self._properties, self._stall_timeout)
        try:
            with lent as consumer:
                freeze_imports()
                try:
                    reader = RangeReader(consumer, self._columns, settings, SystemClock())
                    yield from reader.read(ranges)
                finally:
                    # Stop fetching and keep the fetch buffer, which the next batch often reads.
                    consumer.pause(*consumer.assignment())
        except KafkaError as error:
            raise ReadError(describe_error(error)) from error


def input_partitions(tasks: Sequence[Sequence[OffsetRange]]) -> list[InputPartition]:
    """Return the tasks of a batch as Spark's ``InputPartition``."""
    return [InputPartition(tuple(task)) for task in tasks]


class BatchReader(DataSourceReader):
    """Reads the offsets of a batch query."""

    def __init__(self, options: Mapping[str, str], schema: StructType) -> None:
        self._options = batch_source_options(options)
        self._reader = TaskReader(self._options, wanted_columns(schema))

    def partitions(self) -> Sequence[InputPartition]:
        """Return the tasks, each with its offset ranges."""
        from pyk.spark_connector.kafka_cluster import KafkaCluster

        cluster = KafkaCluster(self._options)
        try:
            return input_partitions(plan_batch(self._options, cluster, default_parallelism()))
        finally:
            cluster.close()

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the records of a task."""
        return self._reader.read(partition.value or ())
