"""Describe why a batch failed, in the words of its error. Pure."""

from __future__ import annotations

from collections.abc import Callable

from pyk.clients.errors import InvalidRecordError, KafkaError, KafkaTimeoutError, error_for
from pyk.clients.errors.base import copy_to_raise
from pyk.clients.producer.batching.batch import ProducerBatch
from pyk.clients.topic_partition import TopicPartition
from pyk.clients.wording import counted
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.produce import BatchIndexAndErrorMessage, PartitionProduceResponse

WhyUnsent = Callable[[TopicPartition], str]
"""Returns the reason why the batches of a partition are not sent."""


def timeout_error(
    batch: ProducerBatch, delivery_timeout: float, why_unsent: WhyUnsent
) -> KafkaTimeoutError:
    """Return the error of a batch that was not acknowledged within ``delivery_timeout`` seconds."""
    if batch.last_error is not None:
        reason = f"the last error was: {batch.last_error}"
    elif batch.attempts:
        reason = "no answer came"
    else:
        reason = f"never sent: {why_unsent(batch.topic_partition)}"
    return KafkaTimeoutError(
        f"{counted(batch.count, 'record')} for {batch.topic_partition}: not acknowledged within "
        f"delivery_timeout_ms={delivery_timeout * 1000:.0f}; {reason}",
        topic=batch.topic,
        partition=batch.partition,
        definite=True,
    )


def fail(batch: ProducerBatch, answer: PartitionProduceResponse | None) -> None:
    """Note why a batch failed: its last error, and the records that the broker found invalid."""
    assert batch.last_error is not None
    error = copy_to_raise(batch.last_error)
    error.definite = not batch.may_be_written
    if batch.may_be_written:
        error.args = (f"{error.args[0]}; it may have been written, so it is not sent again",)
    if answer is None or not answer.record_errors:
        batch.failed(error)
        return
    others = InvalidRecordError(
        "refused together with other records of its batch, which the broker found invalid",
        topic=batch.topic,
        partition=batch.partition,
    )
    record_errors = {
        refused.batch_index: _record_error(batch, error, refused)
        for refused in answer.record_errors
    }
    batch.failed(others, record_errors)


def _record_error(
    batch: ProducerBatch, error: KafkaError, refused: BatchIndexAndErrorMessage
) -> KafkaError:
    if not refused.batch_index_error_message:
        return error
    # The code is that of the batch. Brokers use this one only if a record has such a timestamp.
    is_timestamp = error.code == ErrorCode.INVALID_TIMESTAMP
    return error_for(
        ErrorCode.INVALID_TIMESTAMP if is_timestamp else ErrorCode.INVALID_RECORD,
        refused.batch_index_error_message,
        topic=batch.topic,
        partition=batch.partition,
    )
