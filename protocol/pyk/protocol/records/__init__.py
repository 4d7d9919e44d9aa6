"""Record batches: build them, read them, fill columns from them.

Each name is loaded when it is first used: who reads records does not build any.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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

_HOMES = {
    "DEFAULT_MAX_DECOMPRESSED_BYTES": "compression",
    "NO_PARTITION": "murmur2",
    "BinaryColumn": "columns",
    "Compression": "compression",
    "ConsumerRecord": "record",
    "CorruptRecordError": "errors",
    "DecompressionLimitError": "errors",
    "FetchedRecords": "cursor",
    "HeadersColumn": "columns",
    "LegacyBatch": "legacy",
    "Record": "record",
    "RecordBatch": "batch",
    "RecordBatchBuilder": "builder",
    "RecordBatchError": "errors",
    "RecordBlock": "reader",
    "RecordColumns": "columns",
    "RecordIterator": "reader",
    "RecordOrigin": "record",
    "RecordSpan": "reader",
    "TimestampType": "record",
    "UnsupportedCompressionError": "errors",
    "UnsupportedMagicError": "errors",
    "parse_any_batch": "batch",
    "parse_batch": "batch",
    "partition_for_key": "murmur2",
    "partitions_for_keys": "murmur2",
    "read_batches": "batch",
    "read_columns": "column_reader",
    "restamp": "batch",
    "rows_by_partition": "murmur2",
    "set_base_offset_and_epoch": "batch",
    "set_log_append_time": "batch",
    "set_max_timestamp": "batch",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    return found
