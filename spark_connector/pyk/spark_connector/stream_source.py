"""The streaming reader, which passes Spark's calls to the :class:`StreamPlanner` of the run."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from threading import Event
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    ReadMinRows,
    SupportsTriggerAvailableNow,
)

from pyk.spark_connector.options import stream_source_options
from pyk.spark_connector.schema import wanted_columns
from pyk.spark_connector.source import TaskReader, input_partitions

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

    from pyk.spark_connector.stream_planner import StreamPlanner


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Lives in the driver as long as a query runs, and as a copy in each of its tasks."""

    def __init__(self, options: Mapping[str, str], schema: StructType) -> None:
        self._options = stream_source_options(options)
        self._reader = TaskReader(self._options, wanted_columns(schema))
        self._open_planner: StreamPlanner | None = None

    def initialOffset(self) -> dict[str, Any]:
        """Return where a new query begins."""
        return self._planner.initial_offset()

    def getDefaultReadLimit(self) -> ReadLimit:
        """Return the limit that Spark is to know; the planner applies both limits itself."""
        if self._options.max_offsets_per_trigger is not None:
            return ReadMaxRows(self._options.max_offsets_per_trigger)
        if self._options.min_offsets_per_trigger is not None:
            return ReadMinRows(self._options.min_offsets_per_trigger)
        return ReadAllAvailable()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        """Return the end of the next micro-batch, ``start`` if there is nothing to read yet."""
        return self._planner.latest_offset(start, limited=not isinstance(limit, ReadAllAvailable))

    def reportLatestOffset(self) -> dict[str, Any] | None:
        """Return the ends of the partitions, from which Spark's progress shows the lag."""
        return self._planner.report_latest()

    def prepareForTriggerAvailableNow(self) -> None:
        """Fix the current ends as the end of the query."""
        self._planner.prepare_available_now()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """Return the tasks of a micro-batch, each with its offset ranges."""
        return input_partitions(self._planner.partitions(start, end))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the records of a task."""
        return self._reader.read(partition.value)

    def stop(self) -> None:
        """Free the connections."""
        if self._open_planner is not None:
            self._open_planner.close()

    @property
    def _planner(self) -> StreamPlanner:
        if self._open_planner is None:
            from pyk.runtime.system_clock import SystemClock
            from pyk.spark_connector.kafka_cluster import KafkaCluster
            from pyk.spark_connector.parallelism import default_parallelism
            from pyk.spark_connector.stream_planner import StreamPlanner

            _exit_on_sigterm()
            self._open_planner = StreamPlanner(
                self._options,
                KafkaCluster(self._options),
                SystemClock(),
                wait=Event().wait,
                parallelism=default_parallelism(),
            )
        return self._open_planner


def _exit_on_sigterm() -> None:
    """Let SIGTERM end this process by an exception.

    Spark ends the Python process of a stopped query with SIGTERM, which by default ends it without
    ``stop()``; after an exception Spark's own ``finally`` calls that. Spark may send a second
    SIGTERM, which must not interrupt it.
    """

    def leave(*_: object) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        sys.exit(0)

    signal.signal(signal.SIGTERM, leave)
