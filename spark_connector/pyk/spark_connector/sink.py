"""Write the rows of a task as records of topics, batch and streaming, at least once.

A task succeeds when all in-sync replicas have acknowledged each of its records. Spark runs a task
that fails again, which writes its rows again: no row is lost, some may be written twice.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Protocol

import attrs
from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)

from pyk.clients.config import ProducerConfig
from pyk.spark_connector.client_properties import (
    compression_of,
    delivery_timeout,
    kafka_notices,
    producer_properties,
)
from pyk.spark_connector.errors import OptionError, WriteError, describe_error
from pyk.spark_connector.installation import check_codecs, warn_if_uncompiled
from pyk.spark_connector.notices import log_once
from pyk.spark_connector.options import sink_options
from pyk.spark_connector.sink_records import (
    RECORD_COLUMNS,
    check_columns,
    records_by_topic,
    timestamp_notice,
)

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

# How many batches may be without a result at the same time.
MAX_IN_FLIGHT = 64


@attrs.frozen
class TaskResult(WriterCommitMessage):
    """The records that a task wrote; Spark passes this to the driver."""

    rows: int


class BatchResult(Protocol):
    """The part of the result of ``send_batch`` that is used here."""

    def result(self, timeout: float | None = None) -> object: ...


class BatchProducer(Protocol):
    """The part of :class:`pyk.clients.Producer` that is used here."""

    def send_batch(self, topic: str, records: pa.Table) -> BatchResult: ...

    def flush(self, timeout: float | None = None) -> None: ...


def write_batches(
    batches: Iterator[pa.RecordBatch],
    producer: BatchProducer,
    topic: str | None,
    columns: Sequence[str] = RECORD_COLUMNS,
) -> int:
    """Write these columns of all rows; return the number of rows once all are acknowledged.

    Raises :class:`WriteError` for the first row that fails.
    """
    from pyk.clients.errors import KafkaError

    rows = 0
    in_flight: deque[BatchResult] = deque()
    try:
        for batch in batches:
            for name, records in records_by_topic(batch, topic, columns):
                in_flight.append(_send(producer, name, records))
            rows += batch.num_rows
            while len(in_flight) > MAX_IN_FLIGHT:
                in_flight.popleft().result()
        producer.flush()
        for sent in in_flight:
            sent.result()
    except KafkaError as error:
        raise WriteError(describe_error(error)) from error
    return rows


def _send(producer: BatchProducer, topic: str, records: pa.Table) -> BatchResult:
    try:
        return producer.send_batch(topic, records)
    except ValueError as error:  # a null header key, a negative partition or timestamp
        raise WriteError(f"{topic}: cannot write a row: {error}") from error


class TaskWriter:
    """Writes the rows of a task; Spark pickles it in the driver for the tasks."""

    def __init__(self, options: Mapping[str, str], schema: StructType) -> None:
        parsed = sink_options(options)
        self._topic = parsed.topic
        self._properties = producer_properties(parsed.kafka)
        # The time that a record has which was sent just before the brokers became unreachable.
        self._connect_timeout = delivery_timeout(self._properties)
        check_codecs(compression_of(self._properties))
        self._columns = check_columns(schema, self._topic)
        notice = timestamp_notice(schema)
        log_once((*parsed.notices, *kafka_notices(ProducerConfig, parsed.kafka)))
        log_once(() if notice is None else (notice,))

    def write(self, batches: Iterator[pa.RecordBatch]) -> TaskResult:
        """Write all rows; a task without rows does not connect."""
        from pyk.clients.errors import KafkaError
        from pyk.spark_connector.workers import clients, freeze_imports, make_producer

        first = next(batches, None)
        if first is None:
            return TaskResult(0)
        warn_if_uncompiled()
        lent = clients.borrow(make_producer, self._properties, self._connect_timeout)
        try:
            with lent as producer:
                freeze_imports()
                rows = chain([first], batches)
                return TaskResult(write_batches(rows, producer, self._topic, self._columns))
        except KafkaError as error:
            raise WriteError(describe_error(error)) from error


class BatchWriter(DataSourceArrowWriter):
    """Writes the rows of a query once."""

    def __init__(self, options: Mapping[str, str], schema: StructType, overwrite: bool) -> None:
        if overwrite:
            raise OptionError("topics cannot be overwritten; use mode('append')")
        self._writer = TaskWriter(options, schema)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> TaskResult:
        """Write the rows of a task and return once they are acknowledged."""
        return self._writer.write(iterator)


class StreamWriter(DataSourceStreamArrowWriter):
    """Writes the rows of each micro-batch. The rows that a task has written are never removed.

    There is nothing to commit or to abort: Spark writes a micro-batch that failed again.
    """

    def __init__(self, options: Mapping[str, str], schema: StructType) -> None:
        self._writer = TaskWriter(options, schema)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> TaskResult:
        """Write the rows of a task and return once they are acknowledged."""
        return self._writer.write(iterator)
