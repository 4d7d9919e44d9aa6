"""The errors for records that cannot be handed out."""

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
from pyk.protocol.records.record import ConsumerRecord

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
    following = error.next_offset if error.next_offset is not None else position + 1
    what = f"cannot read {topic_partition} at offset {position}: {error}"
    return _to_pass_over(kind, what, topic_partition, position, max(following, position + 1))


def cut_short_error(topic_partition: TopicPartition, offset: int, size: int) -> CorruptRecordError:
    """Return the error for ``size`` bytes that were fetched without one whole batch."""
    what = (
        f"cannot read {topic_partition} at offset {offset}: {size} bytes came without one whole "
        "batch"
    )
    return _to_pass_over(CorruptRecordError, what, topic_partition, offset, offset + 1)


def deserialization_error(record: ConsumerRecord | None, cause: Exception) -> DeserializationError:
    """Return the error for a record that a deserializer refused; the position stays before it.

    ``record`` is what was fetched.
    """
    assert record is not None  # a deserializer that raises was called with one
    topic_partition = TopicPartition(record.topic, record.partition)
    what = (
        f"a deserializer refused the record of {topic_partition} at offset {record.offset}: "
        f"{type(cause).__name__}"
    )
    error = _to_pass_over(
        DeserializationError, what, topic_partition, record.offset, record.offset + 1
    )
    error.record = record
    return error


def _to_pass_over(
    kind: type[E], what: str, topic_partition: TopicPartition, offset: int, next_offset: int
) -> E:
    return kind(
        f"{what}; seek to offset {next_offset} to pass over it",
        topic=topic_partition.topic,
        partition=topic_partition.partition,
        offset=offset,
    )
