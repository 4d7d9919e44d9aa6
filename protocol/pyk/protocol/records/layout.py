"""Define where the fields of a batch header lie, and what its attributes mean."""

from __future__ import annotations

from struct import Struct

MAGIC = 2
HEADER_BYTES = 61
LENGTH_END = 12  # the batch length counts the bytes after itself
START_BYTES = 17  # up to the magic, which every format has at the same place
MIN_LENGTH = HEADER_BYTES - LENGTH_END
"""The batch length of a batch without records."""
MIN_LENGTH_OF_ANY_MAGIC = 14
"""The length of the shortest message of all formats: of magic 0, with neither key nor value."""

HEADER = Struct(">qiibIhiqqqhii")
"""Base offset, length, leader epoch, magic, CRC, attributes, last offset delta, base timestamp, max
timestamp, producer id, producer epoch, base sequence, record count."""
HEADER_START = Struct(">qi4xb")
"""Base offset, length, magic: at the same place in every format."""
HEADER_AS_STORED = Struct(">qiib4xhi8xqqhi4x")
"""The header without CRC, base timestamp and record count, which a log need not know."""
HEADER_EXTENT = Struct(">qi4xb6xi34x")
"""Base offset, length, magic, last offset delta: what tells whether a batch holds an offset."""
PRODUCER = Struct(">qhi")
"""Producer id, producer epoch, base sequence, from ``PRODUCER_ID_AT`` on."""
BASE_OFFSET = Struct(">q")
LENGTH = Struct(">i")
LEADER_EPOCH = Struct(">i")
PLACEMENT = Struct(">qii")
"""Base offset, length, leader epoch: what a leader sets, before what the CRC covers."""
CRC = Struct(">I")
ATTRIBUTES = Struct(">h")
MAX_TIMESTAMP = Struct(">q")

LENGTH_AT = 8
LEADER_EPOCH_AT = 12
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
