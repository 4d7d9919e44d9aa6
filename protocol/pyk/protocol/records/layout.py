"""Where the fields of a batch header lie, and what its attributes mean."""

from __future__ import annotations

MAGIC = 2
HEADER_BYTES = 61
LENGTH_END = 12  # the batch length counts the bytes behind itself
START_BYTES = 17  # up to the magic, which every format has at the same place

LENGTH_AT = 8
MAGIC_AT = 16
CRC_AT = 17
ATTRIBUTES_AT = 21
MAX_TIMESTAMP_AT = 35
PRODUCER_ID_AT = 43

COMPRESSION_MASK = 0x07
LOG_APPEND_TIME = 0x08
TRANSACTIONAL = 0x10
CONTROL = 0x20
DELETE_HORIZON = 0x40

MAX_INT32 = (1 << 31) - 1
MAX_INT64 = (1 << 63) - 1
MIN_INT64 = -(1 << 63)

MAX_BATCH_BYTES = MAX_INT32 + LENGTH_END
MAX_RECORD_BYTES = MAX_BATCH_BYTES - HEADER_BYTES - 5  # its length takes at most 5 bytes
