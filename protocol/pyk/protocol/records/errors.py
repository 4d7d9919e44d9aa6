"""The errors of record batches. The bytes came from outside, so each is a ``ProtocolError``.

ProtocolError
└── RecordBatchError             carries the batch's base_offset and next_offset, where known
    ├── CorruptRecordError           wrong length, CRC, count, varint …
    ├── UnsupportedMagicError        a batch format that is not read
    ├── UnsupportedCompressionError  an unknown codec, or one whose package is not installed
    └── DecompressionLimitError      more than max_decompressed_bytes comes out of one batch
"""

from __future__ import annotations

from typing import Self

from pyk.protocol.errors import ProtocolError

VARINT_CUT = 1
VARINT_TOO_LONG = 2
RECORD_LENGTH = 3
KEY_LENGTH = 4
VALUE_LENGTH = 5
HEADER_COUNT = 6
HEADER_KEY_LENGTH = 7
HEADER_KEY_TEXT = 8
HEADER_VALUE_LENGTH = 9
RECORD_BODY = 10
OFFSET_DELTA = 11
TIMESTAMP_DELTA = 12
TRAILING_BYTES = 13
MISSING_RECORDS = 14
OFFSETS = 15

# Shared by the compiled and the plain reader: the same bytes give the same words.
PROBLEMS = {
    VARINT_CUT: "a varint is cut off",
    VARINT_TOO_LONG: "a varint is longer than its value needs or its type allows",
    RECORD_LENGTH: "the record length is too small, or larger than what is left of the batch",
    KEY_LENGTH: "the key length is below -1, or larger than the rest of the record",
    VALUE_LENGTH: "the value length is below -1, or larger than the rest of the record",
    HEADER_COUNT: "the header count is negative, or larger than the rest of the record",
    HEADER_KEY_LENGTH: "a header key length is negative, or larger than the rest of the record",
    HEADER_KEY_TEXT: "a header key is not UTF-8",
    HEADER_VALUE_LENGTH: "a header value length is below -1, or larger than the rest of the record",
    RECORD_BODY: "the fields end before the record does",
    OFFSET_DELTA: "the offset delta does not rise, or lies outside the batch",
    TIMESTAMP_DELTA: "the timestamp lies outside of 64 bits",
    TRAILING_BYTES: "bytes follow the last record",
    MISSING_RECORDS: "the batch is too short for its record count",
    OFFSETS: "the offsets lie outside of 0 to 2**63 - 1",
}


class RecordBatchError(ProtocolError):
    """A record batch that cannot be read.

    ``base_offset`` is that of the batch; ``next_offset`` is the first one after it, to seek to in
    order to skip the batch. Both are None if the batch header is unknown or cannot be trusted.
    """

    def __init__(
        self, reason: str, *, base_offset: int | None = None, next_offset: int | None = None
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.base_offset = base_offset
        self.next_offset = next_offset

    def __str__(self) -> str:
        if self.base_offset is None:
            return self.reason
        if self.next_offset is None:
            return f"record batch at offset {self.base_offset}: {self.reason}"
        return (
            f"record batch of offsets {self.base_offset} to {self.next_offset - 1}: {self.reason}"
        )

    def in_batch(self, base_offset: int | None, next_offset: int | None) -> Self:
        """Return the same error with the place of the batch filled in."""
        return type(self)(self.reason, base_offset=base_offset, next_offset=next_offset)


class CorruptRecordError(RecordBatchError):
    """The bytes of a batch contradict each other or its CRC: damaged, or written wrongly."""

    @classmethod
    def in_record(cls, problem: str, index: int, count: int) -> Self:
        """Return the error for a problem in record ``index`` of a batch that declares ``count``."""
        return cls(f"record {index} of {count}: {problem}")


class UnsupportedMagicError(RecordBatchError):
    """The batch is in an unknown format, or in one that is too old for this operation."""


class UnsupportedCompressionError(RecordBatchError):
    """The batch names an unknown codec, or one whose Python package is not installed."""


class DecompressionLimitError(RecordBatchError):
    """More than ``max_decompressed_bytes`` would come out of the batch."""
