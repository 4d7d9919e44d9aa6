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
    topic_partition: TopicPartition,
    position: int,
    error: RecordBatchError,
    *,
    is_released: bool = False,
) -> BrokerError:
    """Return the error for a batch that cannot be read.

    The position stays before it, unless it was released to its share group.
    """
    kind = next(kind for cause, kind in KINDS if isinstance(error, cause))
    following = error.next_offset if error.next_offset is not None else position + 1
    what = f"cannot read {topic_partition} at offset {position}: {error}"
    following = max(following, position + 1)
    return _to_pass_over(kind, what, topic_partition, position, following, is_released=is_released)


def cut_short_error(topic_partition: TopicPartition, offset: int, size: int) -> CorruptRecordError:
    """Return the error for ``size`` bytes that were fetched without one whole batch."""
    what = (
        f"cannot read {topic_partition} at offset {offset}: {size} bytes came without one whole "
        "batch"
    )
    return _to_pass_over(CorruptRecordError, what, topic_partition, offset, offset + 1)


def deserialization_error(
    record: ConsumerRecord | None, cause: Exception, *, is_released: bool = False
) -> DeserializationError:
    """Return the error for a record that a deserializer refused; ``record`` is what was fetched.

    The position stays before it, unless it was released to its share group.
    """
    assert record is not None  # a deserializer that raises was called with one
    topic_partition = TopicPartition(record.topic, record.partition)
    what = (
        f"a deserializer refused the record of {topic_partition} at offset {record.offset}: "
        f"{type(cause).__name__}"
    )
    error = _to_pass_over(
        DeserializationError,
        what,
        topic_partition,
        record.offset,
        record.offset + 1,
        is_released=is_released,
    )
    error.record = record
    return error


def _to_pass_over(
    kind: type[E],
    what: str,
    topic_partition: TopicPartition,
    offset: int,
    next_offset: int,
    *,
    is_released: bool = False,
) -> E:
    next_step = (
        "it was released, and is delivered again as often as the group allows"
        if is_released
        else f"seek to offset {next_offset} to pass over it"
    )
    return kind(
        f"{what}; {next_step}",
        topic=topic_partition.topic,
        partition=topic_partition.partition,
        offset=offset,
    )
