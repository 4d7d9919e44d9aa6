"""Write the header of a batch of magic 2, and its checksum.

The CRC covers everything from the attributes on, so whoever changes one of those fields sets it.

This is the plain form; ``batch_header.pyx`` is the compiled one.
"""

from __future__ import annotations

import struct

from pyk.protocol.records.checksum import crc32c
from pyk.protocol.records.layout import (
    ATTRIBUTES_AT,
    CRC_AT,
    HEADER_BYTES,
    LENGTH_AT,
    LENGTH_END,
    MAGIC,
)

_HEADER = struct.Struct(">qiibIhiqqqhii")
_INT32 = struct.Struct(">i")
_UINT32 = struct.Struct(">I")


def write_header(  # noqa: PLR0917 - keywords would cost more than all that it does
    data: bytearray,
    attributes: int,
    last_offset_delta: int,
    base_timestamp: int,
    max_timestamp: int,
    producer_id: int,
    producer_epoch: int,
    base_sequence: int,
    count: int,
) -> None:
    """Write the header of the batch that is all of ``data``; offset 0, leader epoch -1."""
    _HEADER.pack_into(
        data,
        0,
        0,
        len(data) - LENGTH_END,
        -1,
        MAGIC,
        0,
        attributes,
        last_offset_delta,
        base_timestamp,
        max_timestamp,
        producer_id,
        producer_epoch,
        base_sequence,
        count,
    )
    set_crc(data)


def set_crc(data: bytearray | memoryview) -> None:
    """Set the CRC of the batch in ``data``, which may be followed by other bytes."""
    (length,) = _INT32.unpack_from(data, LENGTH_AT)
    end = length + LENGTH_END
    if not HEADER_BYTES <= end <= len(data):
        raise ValueError(f"a batch of {end} bytes in {len(data)} bytes has no checksum")
    with memoryview(data) as view:
        _UINT32.pack_into(data, CRC_AT, crc32c(view[ATTRIBUTES_AT:end]))
