"""Batches of magic 0 and 1, the formats of before Kafka 0.11: old topics may still hold them, and
brokers send them as they are. They are read, never written.

A batch is one message. If that is compressed, its value holds more messages, none of which may be
compressed again. Their offsets end at that of the message around them: in magic 0 they say so
themselves, in magic 1 they count from anywhere and only the distance to the last of them tells
(KIP-31). Magic 0 has no timestamps. Magic 1 has the producer's in each message, unless the one
around them says LogAppendTime: then its own holds for all (KIP-32).

Few will ever meet them, so what is found is written down as records of magic 2 and read like those.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple
from zlib import crc32

from pyk.protocol.records.compression import DEFAULT_MAX_DECOMPRESSED_BYTES, Compression, decompress
from pyk.protocol.records.errors import (
    KEY_LENGTH,
    OFFSET_DELTA,
    OFFSETS,
    PROBLEMS,
    RECORD_BODY,
    VALUE_LENGTH,
    CorruptRecordError,
    RecordBatchError,
)
from pyk.protocol.records.layout import (
    COMPRESSION_MASK,
    LENGTH_END,
    LOG_APPEND_TIME,
    MAGIC_AT,
    MAX_INT32,
    MAX_INT64,
    MIN_LENGTH_OF_ANY_MAGIC,
    START_BYTES,
)
from pyk.protocol.records.reader import RecordBlock
from pyk.protocol.records.record import Record, TimestampType
from pyk.protocol.records.varint import encode_varint, encode_varlong

NO_TIMESTAMP = -1

_START = struct.Struct(">qiIbb")  # offset, length, CRC, magic, attributes
_TIMESTAMP = struct.Struct(">q")
_LENGTH = struct.Struct(">i")
_MIN_LENGTH = (MIN_LENGTH_OF_ANY_MAGIC, MIN_LENGTH_OF_ANY_MAGIC + _TIMESTAMP.size)  # by magic
_NULL = encode_varint(-1)


def parse_legacy_batch(
    data: memoryview,
    position: int = 0,
    max_decompressed_bytes: int = DEFAULT_MAX_DECOMPRESSED_BYTES,
) -> LegacyBatch | None:
    """Return the batch at ``position``, its CRC not yet checked; None if it is not there
    completely.

    Raises ``CorruptRecordError`` for an impossible length.
    """
    if len(data) - position < START_BYTES + 1:
        return None
    offset, length, _, magic, _ = _START.unpack_from(data, position)
    if length < _MIN_LENGTH[magic]:
        reason = f"a batch length of {length} is impossible"
        raise CorruptRecordError(reason, base_offset=offset)
    end = position + LENGTH_END + length
    if end > len(data):
        return None
    return LegacyBatch(data[position:end], max_decompressed_bytes)


class LegacyBatch:
    """One message, or the messages compressed in it, with the attributes of a ``RecordBatch``.

    ``base_offset`` and ``count`` are found by decompressing. What the format lacks is -1 or False.
    """

    __slots__ = (
        "_block",
        "attributes",
        "crc",
        "data",
        "last_offset",
        "magic",
        "max_decompressed_bytes",
        "max_timestamp",
    )

    partition_leader_epoch = -1
    producer_id = -1
    producer_epoch = -1
    base_sequence = -1
    last_sequence = -1
    has_producer_id = False
    is_transactional = False
    is_control = False
    delete_horizon_ms = None

    last_offset: int
    crc: int
    magic: int
    attributes: int
    max_timestamp: int

    def __init__(
        self, data: memoryview, max_decompressed_bytes: int = DEFAULT_MAX_DECOMPRESSED_BYTES
    ) -> None:
        self.data = data
        self.max_decompressed_bytes = max_decompressed_bytes
        self.last_offset, _, self.crc, self.magic, self.attributes = _START.unpack_from(data)
        self.max_timestamp = NO_TIMESTAMP
        if self.magic == 1:
            (self.max_timestamp,) = _TIMESTAMP.unpack_from(data, _START.size)
        self._block: RecordBlock | None = None

    def __repr__(self) -> str:
        return (
            f"LegacyBatch(magic={self.magic}, last_offset={self.last_offset}, "
            f"size_in_bytes={self.size_in_bytes}, attributes={self.attributes:#04x})"
        )

    @property
    def size_in_bytes(self) -> int:
        return len(self.data)

    @property
    def base_offset(self) -> int:
        return self.open().base_offset

    @property
    def last_offset_delta(self) -> int:
        return self.open().last_offset_delta

    @property
    def next_offset(self) -> int:
        return self.last_offset + 1

    @property
    def count(self) -> int:
        return len(self.open())

    @property
    def base_timestamp(self) -> int:
        """The timestamp of the first record."""
        return next(iter(self)).timestamp

    @property
    def compression_type(self) -> Compression:
        """The codec; raises ``UnsupportedCompressionError`` for a number that is not known."""
        return Compression.of_codec(self.attributes & COMPRESSION_MASK)

    @property
    def timestamp_type(self) -> TimestampType:
        """The side that set the timestamps."""
        if self.magic == 0:
            return TimestampType.NO_TIMESTAMP_TYPE
        is_append_time = self.attributes & LOG_APPEND_TIME
        return TimestampType.LOG_APPEND_TIME if is_append_time else TimestampType.CREATE_TIME

    def check(self) -> None:
        """Raise ``CorruptRecordError`` unless the CRC and the offset are right."""
        try:
            _check_crc(self.data, self.crc)
            if not 0 <= self.last_offset < MAX_INT64:
                raise CorruptRecordError(PROBLEMS[OFFSETS])
        except RecordBatchError as error:
            raise self._error(error) from error.__cause__

    def open(self) -> RecordBlock:
        """Return the records, decompressed and checked; raise a ``RecordBatchError``."""
        if self._block is None:
            try:
                self._block = self._as_block(list(self._messages()))
            except RecordBatchError as error:
                raise self._error(error) from error.__cause__
        return self._block

    def __iter__(self) -> Iterator[Record]:
        return iter(self.open())

    def _messages(self) -> Iterator[_Message]:
        message = _message(self.data)
        codec = self.compression_type
        if codec is Compression.NONE:
            return iter((message,))
        if message.value is None:
            raise CorruptRecordError("a compressed message has no value")
        if codec is Compression.ZSTD:
            raise CorruptRecordError(f"there is no zstd in message format {self.magic}")
        value = message.value
        if codec is Compression.LZ4 and self.magic == 0:
            from pyk.protocol.records.codecs.lz4 import with_right_header_checksum

            value = with_right_header_checksum(value)
        return _inner_messages(decompress(codec, value, self.max_decompressed_bytes), self.magic)

    def _as_block(self, messages: list[_Message]) -> RecordBlock:
        """Return ``messages`` as the records of a batch of magic 2."""
        if not messages:
            raise CorruptRecordError("a compressed message holds no messages")
        first, last = messages[0].offset, messages[-1].offset
        base_offset = self.last_offset - (last - first) if self.magic == 1 else first
        last_offset_delta = self.last_offset - base_offset
        if base_offset < 0 or last_offset_delta > MAX_INT32:
            raise CorruptRecordError("the offsets lie below 0, or too far apart")
        records, previous = bytearray(), -1
        for index, message in enumerate(messages):
            delta = message.offset - first
            if not previous < delta <= last_offset_delta:
                raise CorruptRecordError.in_record(PROBLEMS[OFFSET_DELTA], index, len(messages))
            records += _record_of(message, delta)
            previous = delta
        is_append_time = self.timestamp_type is TimestampType.LOG_APPEND_TIME
        return RecordBlock(
            records,
            len(messages),
            base_offset,
            last_offset_delta,
            base_timestamp=0,
            append_timestamp=self.max_timestamp if is_append_time else None,
        )

    def _error(self, error: RecordBatchError) -> RecordBatchError:
        """Return ``error`` with the place of this batch, so that a reader can go on after it."""
        is_sound = 0 <= self.last_offset < MAX_INT64
        is_one = self.attributes & COMPRESSION_MASK == 0
        return error.in_batch(
            self.last_offset if is_one else None, self.next_offset if is_sound else None
        )


class _Message(NamedTuple):
    offset: int
    timestamp: int
    key: memoryview | None
    value: memoryview | None


def _inner_messages(decompressed: bytes | bytearray | memoryview, magic: int) -> Iterator[_Message]:
    """Yield the messages inside a compressed one, each checked."""
    data, position = memoryview(decompressed), 0
    while position < len(data):
        if len(data) - position < LENGTH_END + _MIN_LENGTH[magic]:
            raise CorruptRecordError("the last message is cut off")
        _, length, crc, inner_magic, attributes = _START.unpack_from(data, position)
        if inner_magic != magic:
            raise CorruptRecordError(f"a message of magic {inner_magic} in one of magic {magic}")
        if not _MIN_LENGTH[magic] <= length <= len(data) - position - LENGTH_END:
            raise CorruptRecordError(f"a message length of {length} is impossible")
        if attributes & COMPRESSION_MASK:
            raise CorruptRecordError("a compressed message holds another compressed one")
        message = data[position : position + LENGTH_END + length]
        _check_crc(message, crc)
        yield _message(message)
        position += len(message)


def _message(data: memoryview) -> _Message:
    """Return what the message that is all of ``data``, which has the least length, says."""
    offset, _, _, magic, _ = _START.unpack_from(data)
    timestamp, position = NO_TIMESTAMP, _START.size
    if magic == 1:
        (timestamp,) = _TIMESTAMP.unpack_from(data, position)
        position += _TIMESTAMP.size
    key, position = _sized(data, position, len(data) - _LENGTH.size, KEY_LENGTH)
    value, position = _sized(data, position, len(data), VALUE_LENGTH)
    if position != len(data):
        raise CorruptRecordError(PROBLEMS[RECORD_BODY])
    return _Message(offset, timestamp, key, value)


def _sized(
    data: memoryview, position: int, end: int, problem: int
) -> tuple[memoryview | None, int]:
    """Return the bytes at ``position``, which end before ``end``, None for null; and their end."""
    (length,) = _LENGTH.unpack_from(data, position)
    start = position + _LENGTH.size
    if length == -1:
        return None, start
    if not 0 <= length <= end - start:
        raise CorruptRecordError(PROBLEMS[problem])
    return data[start : start + length], start + length


def _check_crc(data: memoryview, stored: int) -> None:
    computed = crc32(data[MAGIC_AT:])
    if computed != stored:
        reason = f"its stored CRC is {stored:#010x}, the computed one {computed:#010x}"
        raise CorruptRecordError(reason)


def _record_of(message: _Message, offset_delta: int) -> bytes:
    """Return ``message`` as a record of magic 2 with no headers, its timestamp counted from 0."""
    body = bytearray(b"\0")
    body += encode_varlong(message.timestamp)
    body += encode_varint(offset_delta)
    for field in (message.key, message.value):
        if field is None:
            body += _NULL
        else:
            body += encode_varint(len(field))
            body += field
    body += b"\0"
    return encode_varint(len(body)) + body
