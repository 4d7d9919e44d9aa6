"""What the application is told when a record cannot be given to it."""

from __future__ import annotations

from pyk.clients.errors import (
    BrokerError,
    CorruptRecordError,
    DeserializationError,
    RecordTooLargeError,
    UnsupportedCompressionTypeError,
    UnsupportedForMessageFormatError,
)
from pyk.clients.topic_partition import TopicPartition
from pyk.protocol.records import (
    DecompressionLimitError,
    RecordBatchError,
    UnsupportedCompressionError,
    UnsupportedMagicError,
)

KINDS: tuple[tuple[type[RecordBatchError], type[BrokerError]], ...] = (
    (UnsupportedMagicError, UnsupportedForMessageFormatError),
    (UnsupportedCompressionError, UnsupportedCompressionTypeError),
    (DecompressionLimitError, RecordTooLargeError),
    (RecordBatchError, CorruptRecordError),
)


def unreadable_records_error(
    topic_partition: TopicPartition, position: int, error: RecordBatchError
) -> BrokerError:
    """Return the error for a batch that cannot be read; the position stays before it."""
    kind = next(kind for cause, kind in KINDS if isinstance(error, cause))
    behind = error.next_offset if error.next_offset is not None else position + 1
    return kind(
        f"cannot read {topic_partition} at offset {position}: {error}; "
        f"seek to offset {max(behind, position + 1)} to pass over it",
        topic=topic_partition.topic,
        partition=topic_partition.partition,
        offset=position,
    )


def deserialization_error(
    topic_partition: TopicPartition, offset: int | None, cause: Exception
) -> DeserializationError:
    """Return the error for a record that a deserializer refused; the position stays before it."""
    return DeserializationError(
        f"a deserializer refused the record of {topic_partition} at offset {offset}: "
        f"{type(cause).__name__}; seek to offset {(offset or 0) + 1} to pass over it",
        topic=topic_partition.topic,
        partition=topic_partition.partition,
        offset=offset,
    )
