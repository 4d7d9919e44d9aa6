"""One batch of a producer: filled by the accumulator, sent by the sender, settled by a response."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING
from uuid import UUID

from pyk.clients.errors import KafkaError
from pyk.clients.producer.arguments import Headers
from pyk.clients.producer.batching.delivery import Delivery, new_result
from pyk.clients.producer.batching.row_source import RowSource
from pyk.clients.topic_partition import TopicPartition
from pyk.clients.wording import counted
from pyk.protocol.records import Record, read_batches
from pyk.protocol.records import restamp as restamp_data
from pyk.protocol.records.builder import RecordBatchBuilder

if TYPE_CHECKING:
    from pyk.clients.engine.waiter import Engine

_MAX_BYTES = (1 << 31) - 1  # the batch that is split was no larger


class ProducerBatch:
    """Records on their way to one partition.

    While it is open, only the accumulator touches it, under its lock; once closed it belongs to the
    sender, on the engine's loop. ``created_at`` is in seconds of the engine's clock.
    """

    __slots__ = (
        "_builder",
        "attempts",
        "base_offset",
        "base_sequence",
        "charged_bytes",
        "count",
        "created_at",
        "data",
        "error",
        "is_given_up",
        "is_in_flight",
        "is_open",
        "last_error",
        "log_append_time",
        "may_be_written",
        "partition",
        "producer_epoch",
        "producer_id",
        "record_errors",
        "result",
        "retry_at",
        "size",
        "topic",
        "topic_id",
        "topic_partition",
    )

    def __init__(
        self,
        topic_partition: TopicPartition,
        builder: RecordBatchBuilder,
        created_at: float,
        engine: Engine | None = None,
    ) -> None:
        self._begin(
            topic_partition.topic,
            topic_partition.partition,
            topic_partition,
            builder,
            created_at,
            engine,
        )

    def _begin(  # noqa: PLR0917 - keywords would cost a compiled caller more than the rest
        self,
        topic: str,
        partition: int,
        topic_partition: TopicPartition,
        builder: RecordBatchBuilder,
        created_at: float,
        engine: Engine | None,
    ) -> None:
        self.topic = topic
        self.partition = partition
        self.topic_partition = topic_partition
        self.topic_id: UUID | None = None
        """The topic id in the last request with this batch, if that had one."""
        self.created_at = created_at
        self.result = new_result(topic, partition, engine)
        self.is_open = True
        self.count = 0
        self.size = builder.size  # bytes on the wire; before sealing, an upper bound
        self.charged_bytes = 0  # what the buffer's budget gets back at the end
        self.data: bytearray | None = None
        self.producer_id = -1
        self.producer_epoch = -1
        self.base_sequence = -1
        self.attempts = 0
        self.retry_at = 0.0
        self.may_be_written = False
        self.is_in_flight = False
        self.is_given_up = False
        self.last_error: KafkaError | None = None
        self.error: KafkaError | None = None  # why it failed, once that is settled
        self.record_errors: dict[int, KafkaError] | None = None
        self.base_offset = -1  # where it was written, if an answer said so
        self.log_append_time = -1
        self._builder: RecordBatchBuilder | None = builder

    def append(
        self, timestamp: int, key: bytes | None, value: bytes | None, headers: Headers
    ) -> Delivery | None:
        """Add a record and return its delivery; None if it does not fit any more."""
        builder = self._builder
        index = builder.append(timestamp, key, value, headers)  # type: ignore[union-attr]
        if index < 0:
            return None
        self.count = index + 1
        self.size = builder.size  # type: ignore[union-attr]
        delivery = Delivery.__new__(Delivery)
        delivery._batch = self.result
        delivery._index = index
        delivery._timestamp = timestamp
        return delivery

    def extend(self, source: RowSource, start: int) -> int:
        """Add the records of ``source`` from ``start`` on, as many as fit; return how many."""
        builder = self._builder
        assert builder is not None
        try:
            return source.fill(builder, start)
        finally:  # also if the handler of a signal has raised in the middle of it
            self.count = builder.count
            self.size = builder.size

    def seal(
        self, producer_id: int = -1, producer_epoch: int = -1, base_sequence: int = -1
    ) -> None:
        """Compress, stamp and checksum the records; from now on the bytes are fixed."""
        builder, self._builder = self._builder, None
        assert builder is not None, "a batch is sealed once"
        self.data = builder.sealed(producer_id, producer_epoch, base_sequence)
        self.size = len(self.data)
        self._stamp(producer_id, producer_epoch, base_sequence)

    def restamp(self, producer_id: int, producer_epoch: int, base_sequence: int) -> None:
        """Give the batch a new producer id, epoch and sequence; it is certainly not written."""
        assert self.data is not None, "only a sealed batch has a place to change"
        assert not self.may_be_written, "what may be written is sent again as it is, or not at all"
        # A copy: a request that gave up may still hold the old bytes in a buffer of its connection.
        data = bytearray(self.data)
        restamp_data(data, producer_id, producer_epoch, base_sequence)
        self.data = data
        self._stamp(producer_id, producer_epoch, base_sequence)

    def _stamp(self, producer_id: int, producer_epoch: int, base_sequence: int) -> None:
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.base_sequence = base_sequence

    def failed(self, error: KafkaError, record_errors: dict[int, KafkaError] | None = None) -> None:
        """Record why the batch, and single records of it, were not written."""
        self.error = error
        self.record_errors = record_errors

    def hand_out(self) -> None:
        """Settle the deliveries of the records: written, or failed."""
        if self.error is None:
            self.result.complete(self.base_offset, self.log_append_time)
        else:
            self.result.fail(self.error, self.count, self.record_errors)

    def __repr__(self) -> str:
        return (
            f"<ProducerBatch {self.topic}-{self.partition}: {counted(self.count, 'record')}, "
            f"sequence {self.base_sequence} of {self.producer_id}/{self.producer_epoch}>"
        )


def new_batch(  # noqa: PLR0917
    topic: str,
    partition: int,
    topic_partition: TopicPartition,
    builder: RecordBatchBuilder,
    created_at: float,
    engine: Engine | None,
) -> ProducerBatch:
    """Return an open batch; compiled, no arguments are parsed on the way."""
    batch = ProducerBatch.__new__(ProducerBatch)
    batch._begin(topic, partition, topic_partition, builder, created_at, engine)
    return batch


def halve(
    batch: ProducerBatch, new_builder: Callable[[int], RecordBatchBuilder]
) -> tuple[ProducerBatch, ProducerBatch]:
    """Return two batches with the records of ``batch``, which was refused as too large.

    They are not sealed yet. The deliveries of ``batch`` follow them.
    """
    assert batch.data is not None
    (whole,) = read_batches(batch.data)
    records = list(whole)
    middle = len(records) // 2
    first = _batch_of(batch, records[:middle], new_builder)
    second = _batch_of(batch, records[middle:], new_builder)
    first.charged_bytes = batch.charged_bytes // 2
    second.charged_bytes = batch.charged_bytes - first.charged_bytes
    batch.result.split(first.result, second.result, middle)
    return first, second


def _batch_of(
    batch: ProducerBatch,
    records: Sequence[Record],
    new_builder: Callable[[int], RecordBatchBuilder],
) -> ProducerBatch:
    builder = new_builder(_MAX_BYTES)
    piece = ProducerBatch(batch.topic_partition, builder, batch.created_at, batch.result.engine)
    for record in records:
        piece.append(record.timestamp, record.key, record.value, record.headers)
    piece.is_open = False
    return piece
