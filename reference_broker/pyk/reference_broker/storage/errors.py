"""Why a log refuses a request, each with the error code of the response.

LogError
├── InvalidRecordError         a batch or a record that breaks a rule; lists the records
├── InvalidTimestampError      records stamped too far from the broker's clock; lists them
├── CorruptRecordsError        bytes that contradict each other or their CRC
├── UnsupportedCompressionTypeError
├── RecordTooLargeError        above max.message.bytes
├── SegmentTooSmallError       above segment.bytes
├── OffsetOutOfRangeError      not between log start and log end
├── OutOfOrderSequenceError    a gap in the sequence numbers of a producer
├── InvalidProducerEpochError  a newer producer with the same id has written
├── InvalidTransactionStateError   a batch that does not belong to the open transaction
├── TransactionCoordinatorFencedError  a newer coordinator has ended transactions
├── NotLeaderError             another broker, or none, leads the partition
├── FencedLeaderEpochError     the client knows an older leader epoch
├── UnknownLeaderEpochError    the client knows a newer leader epoch
├── NotEnoughReplicasError     fewer in sync than min.insync.replicas
└── StorageError               the disk failed, or the files on it cannot be used
    └── FailedDirectoryError   a whole data directory cannot be used
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from pyk.protocol.errors import ErrorCode


class RecordError(NamedTuple):
    """The defect of one record of a batch (KIP-467)."""

    batch_index: int
    message: str


class LogError(Exception):
    """A request the log cannot carry out; nothing was changed."""

    code: ClassVar[ErrorCode] = ErrorCode.UNKNOWN_SERVER_ERROR

    def __init__(self, message: str, record_errors: Sequence[RecordError] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.record_errors = tuple(record_errors)


class InvalidRecordError(LogError):
    code = ErrorCode.INVALID_RECORD


class InvalidTimestampError(LogError):
    code = ErrorCode.INVALID_TIMESTAMP


class CorruptRecordsError(LogError):
    code = ErrorCode.CORRUPT_MESSAGE


class UnsupportedCompressionTypeError(LogError):
    code = ErrorCode.UNSUPPORTED_COMPRESSION_TYPE


class RecordTooLargeError(LogError):
    code = ErrorCode.MESSAGE_TOO_LARGE


class SegmentTooSmallError(LogError):
    code = ErrorCode.RECORD_LIST_TOO_LARGE


class OffsetOutOfRangeError(LogError):
    code = ErrorCode.OFFSET_OUT_OF_RANGE


class OutOfOrderSequenceError(LogError):
    code = ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


class InvalidProducerEpochError(LogError):
    code = ErrorCode.INVALID_PRODUCER_EPOCH


class InvalidTransactionStateError(LogError):
    code = ErrorCode.INVALID_TXN_STATE


class TransactionCoordinatorFencedError(LogError):
    code = ErrorCode.TRANSACTION_COORDINATOR_FENCED


class NotLeaderError(LogError):
    code = ErrorCode.NOT_LEADER_OR_FOLLOWER


class FencedLeaderEpochError(LogError):
    code = ErrorCode.FENCED_LEADER_EPOCH


class UnknownLeaderEpochError(LogError):
    code = ErrorCode.UNKNOWN_LEADER_EPOCH


class NotEnoughReplicasError(LogError):
    code = ErrorCode.NOT_ENOUGH_REPLICAS


class StorageError(LogError):
    code = ErrorCode.KAFKA_STORAGE_ERROR


class FailedDirectoryError(StorageError):
    """The operating system refuses something in a data directory: its disk may be broken."""


def helpful_traceback(error: BaseException) -> BaseException | None:
    """Return what to log as ``exc_info``: None for a failing disk, whose message says it all."""
    return None if isinstance(error, OSError | LogError) else error
