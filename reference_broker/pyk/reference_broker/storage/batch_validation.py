"""Validate a batch before the leader appends it, and adapt it to the topic.

1. Exactly one batch of format 2, whole, from offset 0, no larger than ``max.message.bytes``.
2. Its CRC, and its counts against each other. Only the broker writes control batches.
3. Every record, decompressed: well formed, with a key if the topic is compacted, not stamped too
   far from the broker's clock.
4. Its size again where the topic stores it with another codec: it may have grown.

The batch is stored byte for byte; only its base offset and leader epoch are set. Where the
topic wants other timestamps or another codec, the header or the whole batch is rebuilt.

Like Apache Kafka, a leader counts one offset for each record. It stores an uncompressed batch with
the offset deltas that it came with, whatever they are; a batch that it rebuilds gets the right
ones, and a compressed one that it does not rebuild must have them.
"""

from __future__ import annotations

from enum import Enum, auto

from pyk.protocol.records import (
    Compression,
    RecordBatch,
    RecordBatchError,
    RecordBlock,
    UnsupportedCompressionError,
    UnsupportedMagicError,
    parse_batch,
    read_batches,
)
from pyk.protocol.records.checksum import crc32c
from pyk.protocol.records.compression import compress, decompress
from pyk.protocol.records.layout import (
    ATTRIBUTES,
    ATTRIBUTES_AT,
    COMPRESSION_MASK,
    CRC,
    CRC_AT,
    HEADER_BYTES,
    LENGTH_END,
    LOG_APPEND_TIME,
    MAX_BATCH_BYTES,
    MAX_TIMESTAMP,
    MAX_TIMESTAMP_AT,
    PLACEMENT,
)
from pyk.protocol.records.record_buffer import RecordBuffer
from pyk.protocol.topics import TopicPartition
from pyk.reference_broker.config import LogConfig
from pyk.reference_broker.storage.errors import (
    CorruptRecordsError,
    InvalidRecordError,
    InvalidTimestampError,
    LogError,
    OffsetOutOfRangeError,
    RecordError,
    RecordTooLargeError,
    UnsupportedCompressionTypeError,
)
from pyk.runtime import slotted
from pyk.runtime.filesystem.interface import Buffer

NO_TIMESTAMP = -1
MAX_RECORD_ERRORS = 100
MAX_OFFSET_SPAN = (1 << 31) - 1

_PLACEMENT_BYTES = PLACEMENT.size


class AppendOrigin(Enum):
    """The origin of an append: a produce request of a client, or a coordinator of this broker."""

    CLIENT = auto()
    COORDINATOR = auto()


@slotted.define
class ValidatedBatch:
    """A batch as it will be stored, from byte 16 on: without base offset and leader epoch."""

    header: Buffer
    records: Buffer
    max_timestamp: int
    log_append_time_ms: int

    @property
    def size(self) -> int:
        return _PLACEMENT_BYTES + len(self.header) + len(self.records)

    def parts_at(self, base_offset: int, leader_epoch: int) -> tuple[Buffer, ...]:
        """Return the bytes to write for a batch with this base offset and leader epoch."""
        placement = PLACEMENT.pack(base_offset, self.size - LENGTH_END, leader_epoch)
        return (placement, self.header, self.records)


def parse_single_batch(records: Buffer, partition: TopicPartition) -> RecordBatch:
    """Return the one batch in ``records``; its CRC and records are not looked at yet."""
    view = memoryview(records)
    try:
        batch = parse_batch(view)
    except UnsupportedMagicError as error:
        raise InvalidRecordError(f"batch for {partition} refused: {error}") from error
    except RecordBatchError as error:
        raise CorruptRecordsError(f"batch for {partition} refused: {error}") from error
    if batch is None:
        raise InvalidRecordError(f"no whole batch for {partition} in {len(view)} bytes")
    if batch.size_in_bytes != len(view):
        raise InvalidRecordError(
            f"{len(view) - batch.size_in_bytes} bytes follow the batch for {partition}: "
            "send one batch to a partition in one request"
        )
    return batch


def parse_replicated_batches(
    records: Buffer, partition: TopicPartition, log_end_offset: int
) -> list[RecordBatch]:
    """Return the batches that a leader stored, checked; one that is cut off at the end is left out.

    Raises ``CorruptRecordsError``, or ``OffsetOutOfRangeError`` if offsets do not rise from
    ``log_end_offset``.
    """
    batches: list[RecordBatch] = []
    expected = log_end_offset
    try:
        for batch in read_batches(records):
            if not isinstance(batch, RecordBatch):
                raise CorruptRecordsError(f"{batch} for {partition} is of before Kafka 0.11")
            if batch.base_offset < expected:
                raise OffsetOutOfRangeError(
                    f"cannot append offset {batch.base_offset} to {partition}: the next offset "
                    f"is {expected}"
                )
            if batch.last_offset - (batches or [batch])[0].base_offset > MAX_OFFSET_SPAN:
                break  # more than one segment can hold
            batches.append(batch)
            expected = batch.next_offset
    except RecordBatchError as error:
        raise CorruptRecordsError(f"batch for {partition} refused: {error}") from error
    return batches


def check_header(
    batch: RecordBatch, partition: TopicPartition, config: LogConfig, origin: AppendOrigin
) -> None:
    """Raise the ``LogError`` for what the header of a batch alone tells."""
    _check_size(batch.size_in_bytes, partition, config)
    try:
        batch.check()
    except RecordBatchError as error:
        # A client may send again what was damaged on its way, not what it made wrong.
        is_damaged = crc32c(batch.data[ATTRIBUTES_AT:]) != batch.crc
        refusal = CorruptRecordsError if is_damaged else InvalidRecordError
        raise refusal(f"batch for {partition} refused: {error}") from error
    if batch.count != batch.last_offset_delta + 1:
        raise InvalidRecordError(
            f"batch for {partition} refused: {batch.count} records cannot have "
            f"{batch.last_offset_delta + 1} offsets"
        )
    if origin is AppendOrigin.CLIENT:
        _check_client_batch(batch, partition)


def validate_records(
    batch: RecordBatch, partition: TopicPartition, config: LogConfig, now_ms: int
) -> ValidatedBatch:
    """Check every record, and return the batch as it will be stored.

    Its header has passed :func:`check_header`, so there is at least one.
    """
    try:
        block = batch.open()
    except UnsupportedCompressionError as error:
        message = f"batch for {partition} refused: {error}"
        raise UnsupportedCompressionTypeError(message) from error
    except RecordBatchError as error:
        raise InvalidRecordError(f"batch for {partition} refused: {error}") from error
    if config.is_compacted and block.null_key_count:
        raise _error_of_keyless_records(block, partition)
    uses_append_time = config.message_timestamp_type == "LogAppendTime"
    if batch.attributes & LOG_APPEND_TIME and (
        uses_append_time or block.max_timestamp == NO_TIMESTAMP
    ):
        raise InvalidTimestampError(
            f"batch for {partition} refused: only brokers set the timestamp type to LogAppendTime"
        )
    if not uses_append_time:
        _check_timestamps(block, partition, config, now_ms)
    append_time_ms = now_ms if uses_append_time else NO_TIMESTAMP
    return _as_stored(batch, block, partition, config, append_time_ms)


def _check_size(size: int, partition: TopicPartition, config: LogConfig, when: str = "") -> None:
    if size > config.max_message_bytes:
        raise RecordTooLargeError(
            f"batch of {size} bytes{when} for {partition} exceeds max.message.bytes="
            f"{config.max_message_bytes}; raise the limit or send smaller batches"
        )


def _check_client_batch(batch: RecordBatch, partition: TopicPartition) -> None:
    reason = ""
    if batch.base_offset != 0:
        reason = f"its base offset is {batch.base_offset}, not 0"
    elif batch.is_control:
        reason = "only brokers write control batches"
    elif batch.has_producer_id and batch.base_sequence < 0:
        reason = f"producer {batch.producer_id} gave it sequence number {batch.base_sequence}"
    elif batch.has_producer_id and batch.producer_epoch < 0:
        reason = f"producer {batch.producer_id} gave it epoch {batch.producer_epoch}"
    if reason:
        raise InvalidRecordError(f"batch for {partition} refused: {reason}")


def _check_timestamps(
    block: RecordBlock, partition: TopicPartition, config: LogConfig, now_ms: int
) -> None:
    earliest = now_ms - config.message_timestamp_before_max_ms
    latest = now_ms + config.message_timestamp_after_max_ms
    # The block knows its newest record. For the oldest, all must be asked, but only where topics
    # have a limit that can matter.
    if block.max_timestamp <= latest and earliest <= NO_TIMESTAMP:
        return
    errors = [
        RecordError(
            index,
            f"timestamp {record.timestamp} of the record is not from {earliest} to {latest}",
        )
        for index, record in enumerate(block)
        if record.timestamp != NO_TIMESTAMP and not earliest <= record.timestamp <= latest
    ]
    if errors:
        raise _summary(InvalidTimestampError, errors, partition)


def _error_of_keyless_records(block: RecordBlock, partition: TopicPartition) -> LogError:
    errors = [
        RecordError(index, f"the topic of {partition} is compacted: its records need a key")
        for index, record in enumerate(block)
        if record.key is None
    ]
    return _summary(InvalidRecordError, errors, partition)


def _summary(
    error: type[LogError], errors: list[RecordError], partition: TopicPartition
) -> LogError:
    message = f"{len(errors)} records for {partition} refused: {errors[0].message}"
    return error(message, errors[:MAX_RECORD_ERRORS])


def _as_stored(
    batch: RecordBatch,
    block: RecordBlock,
    partition: TopicPartition,
    config: LogConfig,
    append_time_ms: int,
) -> ValidatedBatch:
    max_timestamp = append_time_ms if append_time_ms >= 0 else block.max_timestamp
    attributes = batch.attributes & ~LOG_APPEND_TIME
    if append_time_ms >= 0:
        attributes |= LOG_APPEND_TIME
    records: Buffer = batch.data[HEADER_BYTES:]
    target = _target_compression(config, batch)
    if target is not batch.compression_type:
        records = compress(target, _decompressed(batch, block), _level_of(target, config))
        attributes = attributes & ~COMPRESSION_MASK | target.codec
        _check_size(HEADER_BYTES + len(records), partition, config, f" compressed as {target}")
    elif target is not Compression.NONE and not block.are_offsets_dense:
        raise InvalidRecordError(
            f"batch for {partition} refused: the offset deltas of its compressed records do not "
            "count from 0"
        )
    elif attributes == batch.attributes and max_timestamp == batch.max_timestamp:
        header = batch.data[_PLACEMENT_BYTES:HEADER_BYTES]
        return ValidatedBatch(header, records, max_timestamp, append_time_ms)
    new_header = _new_header(batch, attributes, max_timestamp, records)
    return ValidatedBatch(new_header, records, max_timestamp, append_time_ms)


def _new_header(
    batch: RecordBatch, attributes: int, max_timestamp: int, records: Buffer
) -> bytearray:
    header = bytearray(batch.data[:HEADER_BYTES])
    ATTRIBUTES.pack_into(header, ATTRIBUTES_AT, attributes)
    MAX_TIMESTAMP.pack_into(header, MAX_TIMESTAMP_AT, max_timestamp)
    crc = crc32c(records, crc32c(header[ATTRIBUTES_AT:]))
    CRC.pack_into(header, CRC_AT, crc)
    return header[_PLACEMENT_BYTES:]


def _target_compression(config: LogConfig, batch: RecordBatch) -> Compression:
    if config.compression_type == "producer" or batch.is_control:
        return batch.compression_type
    if config.compression_type == "uncompressed":
        return Compression.NONE
    return Compression(config.compression_type)


def _level_of(compression: Compression, config: LogConfig) -> int | None:
    levels = {
        Compression.GZIP: config.compression_gzip_level,
        Compression.LZ4: config.compression_lz4_level,
        Compression.ZSTD: config.compression_zstd_level,
    }
    level = levels.get(compression)
    return None if compression is Compression.GZIP and level == -1 else level


def _decompressed(batch: RecordBatch, block: RecordBlock) -> Buffer:
    if block.are_offsets_dense:
        return decompress(
            batch.compression_type, batch.data[HEADER_BYTES:], batch.max_decompressed_bytes
        )
    counted = RecordBuffer(MAX_BATCH_BYTES, batch.base_timestamp)
    for record in block:
        counted.append(record.timestamp, record.key, record.value, record.headers)
    return counted.close()[HEADER_BYTES:]
