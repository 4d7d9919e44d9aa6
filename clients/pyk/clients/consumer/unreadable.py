"""What the application is told when a record cannot be given to it."""

from __future__ import annotations

from typing import TypeVar

from pyk.clients.errors import (
    BrokerError,
    CorruptRecordError,
    DeserializationError,
    KafkaError,
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

E = TypeVar("E", bound=KafkaError)

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
    what = f"cannot read {topic_partition} at offset {position}: {error}"
    return _to_pass_over(kind, what, topic_partition, position, max(behind, position + 1))


def cut_short_error(topic_partition: TopicPartition, offset: int, size: int) -> CorruptRecordError:
    """Return the error for ``size`` bytes that were fetched without one whole batch."""
    what = (
        f"cannot read {topic_partition} at offset {offset}: {size} bytes came without one whole "
        "batch"
    )
    return _to_pass_over(CorruptRecordError, what, topic_partition, offset, offset + 1)


def deserialization_error(
    topic_partition: TopicPartition, offset: int | None, cause: Exception
) -> DeserializationError:
    """Return the error for a record that a deserializer refused; the position stays before it."""
    what = (
        f"a deserializer refused the record of {topic_partition} at offset {offset}: "
        f"{type(cause).__name__}"
    )
    return _to_pass_over(DeserializationError, what, topic_partition, offset, (offset or 0) + 1)


def _to_pass_over(
    kind: type[E], what: str, topic_partition: TopicPartition, offset: int | None, behind: int
) -> E:
    return kind(
        f"{what}; seek to offset {behind} to pass over it",
        topic=topic_partition.topic,
        partition=topic_partition.partition,
        offset=offset,
    )
