"""Batches of magic 2: their header, their check, the few fields that others set in place.

:func:`read_batches` alone reads the older formats too, with the help of :mod:`.legacy`.

A client stamps a producer's identity, a broker the offset, the leader epoch and, where
configured, the time. The CRC covers everything from the attributes on, so offset and leader epoch
can be set without touching it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pyk.protocol.records.batch_header import BatchHeader, checksum, set_crc
from pyk.protocol.records.compression import DEFAULT_MAX_DECOMPRESSED_BYTES, Compression, decompress
from pyk.protocol.records.errors import (
    OFFSETS,
    PROBLEMS,
    CorruptRecordError,
    RecordBatchError,
    UnsupportedMagicError,
)
from pyk.protocol.records.layout import (
    ATTRIBUTES,
    ATTRIBUTES_AT,
    BASE_OFFSET,
    COMPRESSION_MASK,
    DELETE_HORIZON,
    HEADER_BYTES,
    LEADER_EPOCH,
    LEADER_EPOCH_AT,
    LOG_APPEND_TIME,
    MAGIC,
    MAGIC_AT,
    MAX_INT32,
    MAX_INT64,
    MAX_TIMESTAMP,
    MAX_TIMESTAMP_AT,
    MIN_LENGTH,
    MIN_LENGTH_OF_ANY_MAGIC,
    PRODUCER,
    PRODUCER_ID_AT,
)
from pyk.protocol.records.reader import RecordBlock
from pyk.protocol.records.record import Record, TimestampType

if TYPE_CHECKING:
    from pyk.protocol.records.legacy import LegacyBatch

_TIMESTAMP_TYPES = (TimestampType.CREATE_TIME, TimestampType.LOG_APPEND_TIME)


class RecordBatch(BatchHeader):
    """One batch where it lies in ``data``: the fields of its header, and its records when iterated.

    Iterating decompresses, at most to ``max_decompressed_bytes``, and checks all records before
    it yields the first.
    """

    __slots__ = ("data", "max_decompressed_bytes")

    data: memoryview

    def __init__(
        self, data: memoryview, max_decompressed_bytes: int = DEFAULT_MAX_DECOMPRESSED_BYTES
    ) -> None:
        self.data = data
        self.max_decompressed_bytes = max_decompressed_bytes
        if not (self.read(data, 0) and self.is_whole):
            raise CorruptRecordError(f"{len(data)} bytes do not begin with a header of magic 2")

    def __repr__(self) -> str:
        return (
            f"RecordBatch(base_offset={self.base_offset}, last_offset={self.last_offset}, "
            f"count={self.count}, size_in_bytes={self.size_in_bytes}, "
            f"attributes={self.attributes:#06x}, "
            f"producer_id={self.producer_id}, producer_epoch={self.producer_epoch}, "
            f"base_sequence={self.base_sequence}, "
            f"partition_leader_epoch={self.partition_leader_epoch})"
        )

    @property
    def last_offset(self) -> int:
        return _sum(self.base_offset, self.last_offset_delta)

    @property
    def next_offset(self) -> int:
        """The offset after the batch: compaction may have removed the records at its end."""
        return _sum(self.base_offset, self.last_offset_delta) + 1

    @property
    def last_sequence(self) -> int:
        """The sequence number of the last offset, -1 without sequence numbers; after 2147483647
        comes 0."""
        if self.base_sequence < 0:
            return -1
        return _sum(self.base_sequence, self.last_offset_delta) & MAX_INT32

    @property
    def compression_type(self) -> Compression:
        """The codec; raises ``UnsupportedCompressionError`` for a number that is not known."""
        return Compression.of_codec(self.attributes & COMPRESSION_MASK)

    @property
    def timestamp_type(self) -> TimestampType:
        return _TIMESTAMP_TYPES[self.is_append_time]

    @property
    def has_producer_id(self) -> bool:
        return self.producer_id >= 0

    @property
    def delete_horizon_ms(self) -> int | None:
        """When compaction may remove the batch's tombstones, None if that is not settled yet."""
        return self.base_timestamp if self.attributes & DELETE_HORIZON else None

    def check(self) -> None:
        """Raise ``CorruptRecordError`` unless the CRC and the counts of the header are right."""
        computed = checksum(self.data)
        if computed != self.crc:
            reason = f"its stored CRC is {self.crc:#010x}, the computed one {computed:#010x}"
            raise self._error(CorruptRecordError(reason))
        highest = MAX_INT64 - 1 - max(0, self.last_offset_delta)
        if not 0 <= self.base_offset <= highest:
            raise self._error(CorruptRecordError(PROBLEMS[OFFSETS]))
        if self.count < 0 or self.last_offset_delta < max(0, self.count - 1):
            reason = (
                f"it declares {self.count} records with a last offset delta "
                f"of {self.last_offset_delta}"
            )
            raise self._error(CorruptRecordError(reason))

    def open(self) -> RecordBlock:
        """Return the records, decompressed and checked; raise a ``RecordBatchError``."""
        try:
            if self.is_compressed:
                data, start = self._decompressed(), 0
            else:
                data, start = self.data, HEADER_BYTES
            return RecordBlock(
                data,
                self.count,
                self.base_offset,
                self.last_offset_delta,
                base_timestamp=self.base_timestamp,
                append_timestamp=self.max_timestamp if self.is_append_time else None,
                start=start,
            )
        except RecordBatchError as error:
            raise self._error(error) from error.__cause__

    def __iter__(self) -> Iterator[Record]:
        return iter(self.open())

    def _decompressed(self) -> bytes | bytearray | memoryview:
        records = self.data[HEADER_BYTES:]
        return decompress(self.compression_type, records, self.max_decompressed_bytes)

    def _error(self, error: RecordBatchError) -> RecordBatchError:
        """Return ``error`` with the place of this batch, so that a reader can go on after it."""
        next_offset = self.next_offset if 0 < self.next_offset <= MAX_INT64 else None
        return error.in_batch(self.base_offset, next_offset)


def parse_batch(
    data: memoryview,
    position: int = 0,
    max_decompressed_bytes: int = DEFAULT_MAX_DECOMPRESSED_BYTES,
) -> RecordBatch | None:
    """Return the batch at ``position``, its CRC not yet checked; None if it is not there
    completely.

    Raises ``CorruptRecordError`` for an impossible length, ``UnsupportedMagicError`` for any
    format but magic 2, which is the only one that is ever written.
    """
    batch = RecordBatch.__new__(RecordBatch)  # without __init__, which takes what is cut already
    if not batch.read(data, position):
        return None
    if not batch.is_whole and (batch.magic != MAGIC or batch.length < MIN_LENGTH):
        raise _unreadable(batch.base_offset, batch.length, batch.magic)
    end = position + batch.size_in_bytes
    if end > len(data):
        return None
    batch.data = data if position == 0 and end == len(data) else data[position:end]
    batch.max_decompressed_bytes = max_decompressed_bytes
    return batch


def parse_any_batch(
    data: memoryview,
    position: int = 0,
    max_decompressed_bytes: int = DEFAULT_MAX_DECOMPRESSED_BYTES,
) -> RecordBatch | LegacyBatch | None:
    """Return what :func:`parse_batch` does, or a batch of magic 0 or 1."""
    if is_legacy(data, position):
        from pyk.protocol.records.legacy import parse_legacy_batch  # few topics are that old

        return parse_legacy_batch(data, position, max_decompressed_bytes)
    return parse_batch(data, position, max_decompressed_bytes)


def is_legacy(data: memoryview, position: int) -> bool:
    """Return whether what begins at ``position`` is of magic 0 or 1."""
    magic_at = position + MAGIC_AT
    return magic_at < len(data) and data[magic_at] <= 1


def read_batches(
    data: bytes | bytearray | memoryview,
    *,
    max_decompressed_bytes: int = DEFAULT_MAX_DECOMPRESSED_BYTES,
) -> Iterator[RecordBatch | LegacyBatch]:
    """Yield the batches of ``data``, of any magic, each checked; a partial one at the end is left
    out, as brokers cut them.

    Raises a ``RecordBatchError`` when it comes to a bad batch: those before it have been yielded.
    """
    view = memoryview(data).cast("B")
    position = 0
    while True:
        batch = parse_any_batch(view, position, max_decompressed_bytes)
        if batch is None:
            return
        batch.check()
        yield batch
        position += batch.size_in_bytes


def set_base_offset_and_epoch(
    data: bytearray | memoryview, base_offset: int, partition_leader_epoch: int
) -> None:
    """Write where a leader put the batch in ``data``; the CRC does not cover these fields."""
    BASE_OFFSET.pack_into(data, 0, base_offset)
    LEADER_EPOCH.pack_into(data, LEADER_EPOCH_AT, partition_leader_epoch)


def set_log_append_time(data: bytearray | memoryview, timestamp_ms: int) -> None:
    """Make ``timestamp_ms`` the timestamp of all records (``message.timestamp.type``)."""
    (attributes,) = ATTRIBUTES.unpack_from(data, ATTRIBUTES_AT)
    ATTRIBUTES.pack_into(data, ATTRIBUTES_AT, attributes | LOG_APPEND_TIME)
    set_max_timestamp(data, timestamp_ms)


def set_max_timestamp(data: bytearray | memoryview, timestamp_ms: int) -> None:
    """Write the largest timestamp of the batch in ``data``."""
    MAX_TIMESTAMP.pack_into(data, MAX_TIMESTAMP_AT, timestamp_ms)
    set_crc(data)


def restamp(
    data: bytearray | memoryview, producer_id: int, producer_epoch: int, base_sequence: int
) -> None:
    """Give the batch another producer identity. Only for one that certainly was never written."""
    PRODUCER.pack_into(data, PRODUCER_ID_AT, producer_id, producer_epoch, base_sequence)
    set_crc(data)


def _sum(first: int, delta: int) -> int:
    """Return the sum as a number of Python: that of two from a hostile header may be too large."""
    return first + delta


def _unreadable(base_offset: int, length: int, magic: int) -> RecordBatchError:
    if length < MIN_LENGTH_OF_ANY_MAGIC:
        reason = f"a batch length of {length} is impossible"
        return CorruptRecordError(reason, base_offset=base_offset)
    if magic in (0, 1):
        reason = f"message format {magic} is older than Kafka 0.11 and not accepted here"
        return UnsupportedMagicError(reason, base_offset=base_offset)
    if magic != MAGIC:
        reason = f"magic byte {magic} is not a known record format"
        return UnsupportedMagicError(reason, base_offset=base_offset)
    reason = f"a batch length of {length} is below the {MIN_LENGTH} of an empty batch"
    return CorruptRecordError(reason, base_offset=base_offset)
