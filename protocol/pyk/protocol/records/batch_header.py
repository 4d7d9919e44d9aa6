"""Read and write the header of a batch of magic 2, and its checksum.

The CRC covers everything from the attributes on, so code that changes one of those fields must set
it.

This is the plain form; ``compiled/batch_header.pyx`` is the compiled one.
"""

from __future__ import annotations

from pyk.protocol.records.checksum import crc32c
from pyk.protocol.records.layout import (
    ATTRIBUTES_AT,
    COMPRESSION_MASK,
    CONTROL,
    CRC,
    CRC_AT,
    HEADER,
    HEADER_BYTES,
    HEADER_START,
    LENGTH,
    LENGTH_AT,
    LENGTH_END,
    LOG_APPEND_TIME,
    MAGIC,
    START_BYTES,
    TRANSACTIONAL,
)


class BatchHeader:
    """The fields of a batch header, as far as :meth:`read` found them; nothing of it is checked.

    Unless it ``is_whole``, only ``base_offset``, ``length``, ``magic`` and ``size_in_bytes`` are
    known: it is of another magic, or cut.
    """

    __slots__ = (
        "attributes",
        "base_offset",
        "base_sequence",
        "base_timestamp",
        "count",
        "crc",
        "is_whole",
        "last_offset_delta",
        "length",
        "magic",
        "max_timestamp",
        "partition_leader_epoch",
        "producer_epoch",
        "producer_id",
    )

    base_offset: int
    length: int
    partition_leader_epoch: int
    magic: int
    is_whole: bool
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    count: int

    @property
    def size_in_bytes(self) -> int:
        return LENGTH_END + self.length

    @property
    def is_compressed(self) -> bool:
        return bool(self.attributes & COMPRESSION_MASK)

    @property
    def is_append_time(self) -> bool:
        """Whether ``max_timestamp`` is the timestamp of all records."""
        return bool(self.attributes & LOG_APPEND_TIME)

    @property
    def is_transactional(self) -> bool:
        return bool(self.attributes & TRANSACTIONAL)

    @property
    def is_control(self) -> bool:
        return bool(self.attributes & CONTROL)

    def read(self, data: bytes | bytearray | memoryview, position: int) -> bool:
        """Take the header at ``position``, which is 0 or more; False where not even its magic is
        there."""
        left = len(data) - position
        if left < START_BYTES:
            return False
        self.base_offset, self.length, self.magic = HEADER_START.unpack_from(data, position)
        self.is_whole = self.magic == MAGIC and min(left, self.size_in_bytes) >= HEADER_BYTES
        if self.is_whole:
            (
                _base_offset,
                _length,
                self.partition_leader_epoch,
                _magic,
                self.crc,
                self.attributes,
                self.last_offset_delta,
                self.base_timestamp,
                self.max_timestamp,
                self.producer_id,
                self.producer_epoch,
                self.base_sequence,
                self.count,
            ) = HEADER.unpack_from(data, position)
        return True


def checksum(batch: memoryview) -> int:
    """Return the CRC of what it covers of ``batch``, which is one batch from its header on."""
    return crc32c(batch[ATTRIBUTES_AT:])


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
    HEADER.pack_into(
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
    (length,) = LENGTH.unpack_from(data, LENGTH_AT)
    end = length + LENGTH_END
    if not HEADER_BYTES <= end <= len(data):
        raise ValueError(f"a batch of {end} bytes in {len(data)} bytes has no checksum")
    with memoryview(data) as view:
        CRC.pack_into(data, CRC_AT, crc32c(view[ATTRIBUTES_AT:end]))
