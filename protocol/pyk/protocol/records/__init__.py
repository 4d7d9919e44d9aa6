"""Record batches: build them, read them, fill columns from them."""

from __future__ import annotations

from pyk.protocol.records.batch import (
    RecordBatch,
    parse_any_batch,
    parse_batch,
    read_batches,
    restamp,
    set_base_offset_and_epoch,
    set_log_append_time,
    set_max_timestamp,
)
from pyk.protocol.records.builder import RecordBatchBuilder
from pyk.protocol.records.column_reader import read_columns
from pyk.protocol.records.columns import BinaryColumn, HeadersColumn, RecordColumns
from pyk.protocol.records.compression import DEFAULT_MAX_DECOMPRESSED_BYTES, Compression
from pyk.protocol.records.cursor import FetchedRecords
from pyk.protocol.records.errors import (
    CorruptRecordError,
    DecompressionLimitError,
    RecordBatchError,
    UnsupportedCompressionError,
    UnsupportedMagicError,
)
from pyk.protocol.records.legacy import LegacyBatch
from pyk.protocol.records.murmur2 import (
    NO_PARTITION,
    murmur2,
    partition_for_key,
    partitions_for_keys,
    rows_by_partition,
)
from pyk.protocol.records.reader import RecordBlock, RecordIterator, RecordSpan
from pyk.protocol.records.record import ConsumerRecord, Record, RecordOrigin, TimestampType

__all__ = [
    "DEFAULT_MAX_DECOMPRESSED_BYTES",
    "NO_PARTITION",
    "BinaryColumn",
    "Compression",
    "ConsumerRecord",
    "CorruptRecordError",
    "DecompressionLimitError",
    "FetchedRecords",
    "HeadersColumn",
    "LegacyBatch",
    "Record",
    "RecordBatch",
    "RecordBatchBuilder",
    "RecordBatchError",
    "RecordBlock",
    "RecordColumns",
    "RecordIterator",
    "RecordOrigin",
    "RecordSpan",
    "TimestampType",
    "UnsupportedCompressionError",
    "UnsupportedMagicError",
    "murmur2",
    "parse_any_batch",
    "parse_batch",
    "partition_for_key",
    "partitions_for_keys",
    "read_batches",
    "read_columns",
    "restamp",
    "rows_by_partition",
    "set_base_offset_and_epoch",
    "set_log_append_time",
    "set_max_timestamp",
]
