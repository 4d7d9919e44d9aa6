"""Decide what a produce response means for a batch. Pure.

The question that decides everything is not "did it fail?" but "may it have been written?". A leader
that steps down answers NOT_LEADER_OR_FOLLOWER also for what its followers have fetched already; a
timeout or a lost connection tells nothing at all. Such a batch is unknown, never failed: it is sent
again, the same bytes, until a broker tells its outcome or its delivery timeout ends.

A broker that was restarted may remember only the last batch of each producer. It answers
OUT_OF_ORDER_SEQUENCE_NUMBER to the older ones although it has them. So that answer proves nothing
about a batch that was sent before: such a batch never gets another sequence, it fails as unknown.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING

from pyk.clients.errors import KafkaError
from pyk.clients.producer.batching.batch import ProducerBatch
from pyk.clients.producer.sending.partition_queue import PartitionQueue
from pyk.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from pyk.clients.producer.sending.identity import IdentityPolicy


class BatchOutcome(Enum):
    """The result of a batch, as far as a response tells it."""

    WRITTEN = auto()
    DUPLICATE = auto()
    """The broker has a batch with this sequence, longer ago than it remembers where."""
    REFUSED = auto()
    """Certainly not written; a retry may succeed."""
    UNKNOWN = auto()
    """Perhaps written; a retry is safe for an idempotent producer."""
    OUT_OF_ORDER = auto()
    """Not written this time: the broker expects another sequence, or forgot the producer."""
    FENCED = auto()
    """Not written this time: the broker knows this producer id with a higher epoch."""
    TOO_LARGE = auto()
    """Not written: the batch is larger than the topic allows, its records perhaps not."""
    FAILED = auto()
    """Certainly not written, and a retry would fail in the same way."""
    UNCLEAR = auto()
    """Perhaps written, and a retry is pointless."""


# Errors of a broker that checks a batch and refuses it before anything is appended.
_REFUSED_FOR_GOOD = frozenset(
    {
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
        ErrorCode.INVALID_PRODUCER_ID_MAPPING,
        ErrorCode.INVALID_RECORD,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.INVALID_REQUIRED_ACKS,
        ErrorCode.INVALID_TIMESTAMP,
        ErrorCode.INVALID_TOPIC_EXCEPTION,
        ErrorCode.INVALID_TXN_STATE,
        ErrorCode.POLICY_VIOLATION,
        ErrorCode.RECORD_LIST_TOO_LARGE,
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        ErrorCode.TRANSACTION_ABORTABLE,
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        ErrorCode.UNSUPPORTED_COMPRESSION_TYPE,
        ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT,
        ErrorCode.UNSUPPORTED_VERSION,
    }
)

_VERDICTS = {
    ErrorCode.NONE: BatchOutcome.WRITTEN,
    ErrorCode.DUPLICATE_SEQUENCE_NUMBER: BatchOutcome.DUPLICATE,
    # Checked before anything is appended.
    ErrorCode.CONCURRENT_TRANSACTIONS: BatchOutcome.REFUSED,  # the one before is not ended yet
    ErrorCode.NOT_ENOUGH_REPLICAS: BatchOutcome.REFUSED,
    ErrorCode.CORRUPT_MESSAGE: BatchOutcome.REFUSED,
    ErrorCode.THROTTLING_QUOTA_EXCEEDED: BatchOutcome.REFUSED,
    ErrorCode.UNKNOWN_SERVER_ERROR: BatchOutcome.UNKNOWN,
    ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER: BatchOutcome.OUT_OF_ORDER,
    ErrorCode.UNKNOWN_PRODUCER_ID: BatchOutcome.OUT_OF_ORDER,
    ErrorCode.INVALID_PRODUCER_EPOCH: BatchOutcome.FENCED,
    ErrorCode.PRODUCER_FENCED: BatchOutcome.FENCED,
    ErrorCode.MESSAGE_TOO_LARGE: BatchOutcome.TOO_LARGE,
    **dict.fromkeys(_REFUSED_FOR_GOOD, BatchOutcome.FAILED),
}


def outcome_of_code(code: ErrorCode) -> BatchOutcome:
    """Return what a partition's error code in a produce response means for its batch."""
    if code in _VERDICTS:
        return _VERDICTS[code]
    return BatchOutcome.UNKNOWN if code.retriable else BatchOutcome.UNCLEAR


def outcome_of_error(error: KafkaError) -> BatchOutcome:
    """Return what a missing response means for all batches of its request."""
    if not error.definite:
        return BatchOutcome.UNKNOWN
    return BatchOutcome.REFUSED if error.retriable else BatchOutcome.FAILED


class BatchAction(Enum):
    """The next step of a batch after its outcome."""

    WRITTEN = auto()
    KEPT = auto()
    """It keeps its place and is sent again."""
    SPLIT = auto()
    """It keeps its place, for its two halves."""
    FAILED = auto()
    GIVEN_UP_BEFORE = auto()
    """It has failed already; the response only tells whether there is a gap."""


# Looked up in their enums for each batch, they would cost as much as the rest of its answer.
_WRITTEN = BatchOutcome.WRITTEN
_ACTION_WRITTEN = BatchAction.WRITTEN
_GIVEN_UP_BEFORE = BatchAction.GIVEN_UP_BEFORE
_RETRIED = (BatchOutcome.REFUSED, BatchOutcome.UNKNOWN)
_ABOUT_ORDER = (BatchOutcome.OUT_OF_ORDER, BatchOutcome.FENCED)


def conclude(
    queue: PartitionQueue,
    batch: ProducerBatch,
    outcome: BatchOutcome,
    retry_at: float,
    identity: IdentityPolicy,
) -> BatchAction:
    """Bring ``queue`` up to date after an answer for ``batch`` and return what follows for it.

    A retry is due at ``retry_at``; ``identity`` decides what errors about the order lead to.
    """
    if outcome is _WRITTEN:
        return _settle(queue, batch)
    if outcome in (BatchOutcome.UNKNOWN, BatchOutcome.UNCLEAR):
        batch.may_be_written = True
    if outcome is BatchOutcome.DUPLICATE:
        # Only of a batch that was sent before: otherwise its sequence is taken by another one.
        if batch.may_be_written:
            return _settle(queue, batch)
        outcome = BatchOutcome.OUT_OF_ORDER
    queue.keep(batch, retry_at)
    if batch.is_given_up:
        queue.drop(batch)
        return BatchAction.GIVEN_UP_BEFORE
    if outcome in _RETRIED or (
        outcome in _ABOUT_ORDER and identity.keeps_place(queue, batch, outcome)
    ):
        return BatchAction.KEPT
    if outcome is BatchOutcome.TOO_LARGE and batch.count > 1 and not batch.may_be_written:
        return BatchAction.SPLIT
    queue.drop(batch)
    return BatchAction.FAILED


def _settle(queue: PartitionQueue, batch: ProducerBatch) -> BatchAction:
    queue.settle(batch)
    return _GIVEN_UP_BEFORE if batch.is_given_up else _ACTION_WRITTEN
