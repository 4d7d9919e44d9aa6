"""Messages of magic 0 and 1 for tests, good and bad, with a CRC that fits."""

from __future__ import annotations

import struct
from zlib import crc32

from pyk.protocol.records.compression import Compression, compress
from support.record_batches import NOW_MS

LOG_APPEND_TIME = 8


def legacy(
    value: bytes | None = b"v",
    *,
    magic: int = 1,
    offset: int = 0,
    key: bytes | None = b"k",
    attributes: int = 0,
    timestamp: int = NOW_MS,
    length: int | None = None,
) -> bytes:
    """Return one message."""
    fields = (struct.pack(">q", timestamp) if magic else b"") + sized(key) + sized(value)
    return legacy_of(fields, magic=magic, offset=offset, attributes=attributes, length=length)


def legacy_of(
    fields: bytes,
    *,
    magic: int = 1,
    offset: int = 0,
    attributes: int = 0,
    length: int | None = None,
) -> bytes:
    """Return a message with any bytes after its attributes."""
    body = struct.pack(">bb", magic, attributes) + fields
    size = len(body) + 4 if length is None else length
    return struct.pack(">qiI", offset, size, crc32(body)) + body


def compressed(
    *messages: bytes,
    magic: int = 1,
    offset: int = 0,
    codec: Compression = Compression.GZIP,
    attributes: int = 0,
) -> bytes:
    """Return a message that holds ``messages``; ``offset`` is that of the last."""
    value = compress(codec, b"".join(messages))
    return legacy(value, magic=magic, offset=offset, key=None, attributes=codec.codec | attributes)


def sized(value: bytes | None) -> bytes:
    return struct.pack(">i", -1) if value is None else struct.pack(">i", len(value)) + value
