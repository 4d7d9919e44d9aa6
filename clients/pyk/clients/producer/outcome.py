"""What an answer to a produce request says of a batch. Pure.

The question that decides everything is not "did it fail?" but "may it have been written?". A leader
that steps down answers NOT_LEADER_OR_FOLLOWER also for what its followers have fetched already; a
time-out or a lost connection says nothing at all. Such a batch is unknown, never failed: it is sent
again, the same bytes, until a broker says which it was or its delivery timeout ends.
"""

from __future__ import annotations

from enum import Enum, auto

from pyk.clients.errors import KafkaError
from pyk.clients.producer.batch import ProducerBatch
from pyk.clients.producer.partition_queue import PartitionQueue
from pyk.protocol.errors import ErrorCode


class Verdict(Enum):
    """What is known of a batch after an answer."""

    WRITTEN = auto()
    REFUSED = auto()
    """Certainly not written, worth another try."""
    UNKNOWN = auto()
    """Perhaps written; another try is safe for an idempotent producer."""
    OUT_OF_ORDER = auto()
    """Not written: the broker expects another sequence."""
    FORGOTTEN = auto()
    """The broker has no memory of this producer."""
    FENCED = auto()
    """Not written: somebody uses this producer id with a higher epoch."""
    TOO_LARGE = auto()
    """Not written: the batch is larger than the topic allows, its records perhaps not."""
    FAILED = auto()
    """Certainly not written, and another try would end the same."""


_VERDICTS = {
    ErrorCode.NONE: Verdict.WRITTEN,
    # Written before, and longer ago than the broker remembers where.
    ErrorCode.DUPLICATE_SEQUENCE_NUMBER: Verdict.WRITTEN,
    # Looked at before anything is appended.
    ErrorCode.NOT_ENOUGH_REPLICAS: Verdict.REFUSED,
    ErrorCode.CORRUPT_MESSAGE: Verdict.REFUSED,
    ErrorCode.THROTTLING_QUOTA_EXCEEDED: Verdict.REFUSED,
    ErrorCode.UNKNOWN_SERVER_ERROR: Verdict.UNKNOWN,
    ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER: Verdict.OUT_OF_ORDER,
    ErrorCode.UNKNOWN_PRODUCER_ID: Verdict.FORGOTTEN,
    ErrorCode.INVALID_PRODUCER_EPOCH: Verdict.FENCED,
    ErrorCode.PRODUCER_FENCED: Verdict.FENCED,
    ErrorCode.MESSAGE_TOO_LARGE: Verdict.TOO_LARGE,
}


def verdict_of_code(code: ErrorCode) -> Verdict:
    """Return what a partition's error code in a produce response means for its batch."""
    if code in _VERDICTS:
        return _VERDICTS[code]
    return Verdict.UNKNOWN if code.retriable else Verdict.FAILED


def verdict_of_error(error: KafkaError) -> Verdict:
    """Return what it means for all batches of a request that there is no answer to it."""
    if not error.definite:
        return Verdict.UNKNOWN
    return Verdict.REFUSED if error.retriable else Verdict.FAILED


class Fate(Enum):
    """What follows for the batch."""

    WRITTEN = auto()
    KEPT = auto()
    """It keeps its place and is sent again."""
    SPLIT = auto()
    """It keeps its place, for its two halves."""
    FAILED = auto()
    GIVEN_UP_BEFORE = auto()
    """Nobody waits for it any more; it only told whether there is a gap."""


def conclude(
    queue: PartitionQueue, batch: ProducerBatch, verdict: Verdict, retry_at: float
) -> Fate:
    """Bring ``queue`` up to date after an answer for ``batch`` and return what follows for it.

    A retry is due at ``retry_at``.
    """
    if verdict is Verdict.UNKNOWN:
        batch.may_be_written = True
    if verdict is Verdict.WRITTEN:
        queue.settle(batch)
        return Fate.GIVEN_UP_BEFORE if batch.is_given_up else Fate.WRITTEN
    queue.keep(batch, retry_at)
    if batch.is_given_up:
        queue.drop(batch)
        return Fate.GIVEN_UP_BEFORE
    if verdict in (Verdict.REFUSED, Verdict.UNKNOWN) or _is_kept_in_order(queue, batch, verdict):
        return Fate.KEPT
    if verdict is Verdict.TOO_LARGE and batch.count > 1 and not batch.may_be_written:
        return Fate.SPLIT
    queue.drop(batch)
    return Fate.FAILED


def _is_kept_in_order(queue: PartitionQueue, batch: ProducerBatch, verdict: Verdict) -> bool:
    """Return whether an answer about sequences leaves the batch a place to be sent again.

    1. Out of order, and an older batch is unsettled: that one is the reason, and comes first.
    2. Out of order, and none is: the broker lacks what came before (a gap, or it lost what it had).
       It would know this batch if it had it, so the batch can begin a new order.
    3. The broker forgot the producer: if the batch may have been written before that, nobody can
       say any more; else as 2.
    4. Fenced: as 3, but only a new producer id helps.
    """
    is_oldest = queue.unsettled[0] is batch
    if queue.sequence is None:
        return False
    if verdict is Verdict.OUT_OF_ORDER:
        queue.must_restart |= is_oldest
        return True
    if verdict is Verdict.FORGOTTEN:
        if is_oldest and not batch.may_be_written:
            queue.must_restart = True
        return not (is_oldest and batch.may_be_written)
    if verdict is Verdict.FENCED:
        queue.must_restart = queue.needs_new_producer_id = True
        return not batch.may_be_written
    return False
