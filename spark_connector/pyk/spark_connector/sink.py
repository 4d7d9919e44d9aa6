"""Writing, batch and streaming: rows of a task to records of topics, at least once.

A task succeeds when every one of its records is acknowledged by all in-sync replicas. A task that
fails is run again by Spark, and then writes its rows again: nothing is lost, some may come twice.
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
    describe_error,
    kafka_notices,
    producer_properties,
)
from pyk.spark_connector.errors import OptionError, WriteError
from pyk.spark_connector.installation import check_codecs, tell_if_uncompiled
from pyk.spark_connector.notices import tell_once
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

# Results are kept until they are known; so many batches are on their way at most.
MOST_OUTSTANDING = 64


@attrs.frozen
class Written(WriterCommitMessage):
    """What a task wrote; Spark carries it to the driver."""

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
    """Write these columns of all rows; return how many rows there were, once all are acknowledged.

    Raises :class:`WriteError` for the first row that is not.
    """
    from pyk.clients.errors import KafkaError

    rows = 0
    outstanding: deque[BatchResult] = deque()
    try:
        for batch in batches:
            for name, records in records_by_topic(batch, topic, columns):
                outstanding.append(_send(producer, name, records))
            rows += batch.num_rows
            while len(outstanding) > MOST_OUTSTANDING:
                outstanding.popleft().result()
        producer.flush()
        for sent in outstanding:
            sent.result()
    except KafkaError as error:
        raise WriteError(describe_error(error)) from error
    return rows


def _send(producer: BatchProducer, topic: str, records: pa.Table) -> BatchResult:
    try:
        return producer.send_batch(topic, records)
    except ValueError as error:  # a null header key, a negative partition or timestamp
        raise WriteError(f"{topic}: a row cannot be written: {error}") from error


class TaskWriter:
    """Writes the rows of a task; it travels from the driver to the tasks."""

    def __init__(self, options: Mapping[str, str], schema: StructType) -> None:
        parsed = sink_options(options)
        self._topic = parsed.topic
        self._properties = producer_properties(parsed.kafka)
        # As long as a record may take that was handed over before the brokers went away.
        self._connect_timeout = delivery_timeout(self._properties)
        check_codecs(compression_of(self._properties))
        self._columns = check_columns(schema, self._topic)
        notice = timestamp_notice(schema)
        tell_once((*parsed.notices, *kafka_notices(ProducerConfig, parsed.kafka)))
        tell_once(() if notice is None else (notice,))

    def write(self, batches: Iterator[pa.RecordBatch]) -> Written:
        """Write all rows; a task without rows does not even connect."""
        from pyk.clients.errors import KafkaError
        from pyk.spark_connector.workers import clients, freeze_imports, make_producer

        first = next(batches, None)
        if first is None:
            return Written(0)
        tell_if_uncompiled()
        lent = clients.borrow(make_producer, self._properties, self._connect_timeout)
        try:
            with lent as producer:
                freeze_imports()
                rows = chain([first], batches)
                return Written(write_batches(rows, producer, self._topic, self._columns))
        except KafkaError as error:
            raise WriteError(describe_error(error)) from error


class BatchWriter(DataSourceArrowWriter):
    """Writes the rows of a query once."""

    def __init__(self, options: Mapping[str, str], schema: StructType, overwrite: bool) -> None:
        if overwrite:
            raise OptionError("topics cannot be overwritten; use mode('append')")
        self._writer = TaskWriter(options, schema)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        """Write the rows of a task and return once they are acknowledged."""
        return self._writer.write(iterator)


class StreamWriter(DataSourceStreamArrowWriter):
    """Writes the rows of each micro-batch. What a task has written stays, come what may.

    There is nothing to commit or to abort: Spark calls ``abort`` even after a ``commit`` that
    failed, and a micro-batch that failed is written again.
    """

    def __init__(self, options: Mapping[str, str], schema: StructType) -> None:
        self._writer = TaskWriter(options, schema)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        """Write the rows of a task and return once they are acknowledged."""
        return self._writer.write(iterator)
