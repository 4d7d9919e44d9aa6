"""Logs on disk, in Kafka's own files."""

from pyk.reference_broker.storage.batch_validation import AppendOrigin
from pyk.reference_broker.storage.errors import (
    CorruptRecordsError,
    FencedLeaderEpochError,
    InvalidProducerEpochError,
    InvalidRecordError,
    InvalidTimestampError,
    InvalidTransactionStateError,
    LogError,
    NotEnoughReplicasError,
    NotLeaderError,
    OffsetOutOfRangeError,
    OutOfOrderSequenceError,
    RecordError,
    RecordTooLargeError,
    SegmentTooSmallError,
    StorageError,
    TransactionCoordinatorFencedError,
    UnknownLeaderEpochError,
    UnsupportedCompressionTypeError,
)
from pyk.reference_broker.storage.file_records import NO_RECORDS, FileRecords
from pyk.reference_broker.storage.flushing import FlushQueue
from pyk.reference_broker.storage.leader_epochs import EpochEntry
from pyk.reference_broker.storage.log import Log, LogAppendResult
from pyk.reference_broker.storage.log_manager import LogManager
from pyk.reference_broker.storage.maintenance import Task
from pyk.reference_broker.storage.offset_lookup import OffsetAndTimestamp
from pyk.reference_broker.storage.transaction_marker import TransactionMarker
from pyk.reference_broker.storage.unstable_transactions import EndedTransaction

__all__ = [
    "NO_RECORDS",
    "AppendOrigin",
    "CorruptRecordsError",
    "EndedTransaction",
    "EpochEntry",
    "FencedLeaderEpochError",
    "FileRecords",
    "FlushQueue",
    "InvalidProducerEpochError",
    "InvalidRecordError",
    "InvalidTimestampError",
    "InvalidTransactionStateError",
    "Log",
    "LogAppendResult",
    "LogError",
    "LogManager",
    "NotEnoughReplicasError",
    "NotLeaderError",
    "OffsetAndTimestamp",
    "OffsetOutOfRangeError",
    "OutOfOrderSequenceError",
    "RecordError",
    "RecordTooLargeError",
    "SegmentTooSmallError",
    "StorageError",
    "Task",
    "TransactionCoordinatorFencedError",
    "TransactionMarker",
    "UnknownLeaderEpochError",
    "UnsupportedCompressionTypeError",
]
