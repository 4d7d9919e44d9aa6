"""The meaning of each error of each request of a transaction. Pure.

Four things may follow from an error:

* ``RETRY``: the same request again, after a backoff.
* ``FIND_COORDINATOR``: the same, once the coordinator has been looked up again.
* ``ABORT``: the transaction cannot be committed any more; after an abort the producer goes on.
* ``FAIL``: another producer has taken over, or nothing this producer can do would help.

The tables are those of Kafka's ``TransactionManager`` (4.x), with one difference that is noted
below. What they do not list and is not retriable is fatal: nobody knows what it leaves behind.
"""

from __future__ import annotations

from enum import Enum, auto

from pyk.clients.errors import KafkaError
from pyk.protocol.errors import ErrorCode


class Meaning(Enum):
    """The effect of the response to a request; a later member outweighs those before it."""

    DONE = auto()
    RETRY = auto()
    FIND_COORDINATOR = auto()
    ABORT = auto()
    FAIL = auto()


class TransactionRequest(Enum):
    """The requests of a transaction, by Kafka's names."""

    FIND_COORDINATOR = "FindCoordinator"
    INIT_PRODUCER_ID = "InitProducerId"
    ADD_PARTITIONS = "AddPartitionsToTxn"
    ADD_OFFSETS = "AddOffsetsToTxn"
    COMMIT_OFFSETS = "TxnOffsetCommit"
    END = "EndTxn"
    PRODUCE = "Produce"


_MOVED = frozenset({ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE})

_ABORT = {
    TransactionRequest.FIND_COORDINATOR: {
        ErrorCode.GROUP_AUTHORIZATION_FAILED,
        ErrorCode.TRANSACTION_ABORTABLE,
    },
    TransactionRequest.INIT_PRODUCER_ID: set(),
    TransactionRequest.ADD_PARTITIONS: set(),
    TransactionRequest.ADD_OFFSETS: {
        ErrorCode.GROUP_AUTHORIZATION_FAILED,
        ErrorCode.TRANSACTION_ABORTABLE,
        ErrorCode.UNKNOWN_PRODUCER_ID,
    },
    TransactionRequest.COMMIT_OFFSETS: {
        ErrorCode.FENCED_INSTANCE_ID,
        ErrorCode.GROUP_AUTHORIZATION_FAILED,
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        ErrorCode.OFFSET_METADATA_TOO_LARGE,
        ErrorCode.TRANSACTION_ABORTABLE,
        # KIP-447: the group has given the member's partitions to another one.
        ErrorCode.ILLEGAL_GENERATION,
        ErrorCode.STALE_MEMBER_EPOCH,
        ErrorCode.UNKNOWN_MEMBER_ID,
    },
    TransactionRequest.END: {
        # It is not committed: in version 2, brokers say this of a transaction that timed out.
        ErrorCode.INVALID_TXN_STATE,
        ErrorCode.TRANSACTION_ABORTABLE,
        ErrorCode.UNKNOWN_PRODUCER_ID,
    },
    TransactionRequest.PRODUCE: set(),
}

# A batch that failed for any other reason is missing in its transaction, and no more than that.
_FATAL_FOR_BATCHES = frozenset(
    {
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
        ErrorCode.INVALID_PRODUCER_ID_MAPPING,
        ErrorCode.PRODUCER_FENCED,
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        ErrorCode.UNSUPPORTED_VERSION,
    }
)

# The same for a partition that cannot be added.
_FATAL_FOR_PARTITIONS = _FATAL_FOR_BATCHES | {
    ErrorCode.INVALID_PRODUCER_EPOCH,
    ErrorCode.INVALID_TXN_STATE,
}


def meaning_of_code(request: TransactionRequest, code: ErrorCode) -> Meaning:
    """Return what follows from the error code of an answer."""
    if code is ErrorCode.NONE:
        return Meaning.DONE
    if request is TransactionRequest.PRODUCE:
        return Meaning.FAIL if code in _FATAL_FOR_BATCHES else Meaning.ABORT
    if request is TransactionRequest.ADD_PARTITIONS:
        return _meaning_for_partition(code)
    if request is TransactionRequest.COMMIT_OFFSETS and code is ErrorCode.REQUEST_TIMED_OUT:
        return Meaning.FIND_COORDINATOR
    if code in _ABORT[request]:
        return Meaning.ABORT
    return _meaning_if_it_passes(code) or Meaning.FAIL


def _meaning_for_partition(code: ErrorCode) -> Meaning:
    if code in _FATAL_FOR_PARTITIONS:
        return Meaning.FAIL
    if code is ErrorCode.OPERATION_NOT_ATTEMPTED:
        return Meaning.RETRY  # it is well: the code of another partition of the request decides
    return _meaning_if_it_passes(code) or Meaning.ABORT


def _meaning_if_it_passes(code: ErrorCode) -> Meaning | None:
    """Return what follows from an error that may pass, None for any other."""
    if code in _MOVED:
        return Meaning.FIND_COORDINATOR
    return Meaning.RETRY if code.retriable else None


def meaning_of_error(request: TransactionRequest, error: KafkaError) -> Meaning:
    """Return what follows from a request that failed, with or without an answer."""
    if error.code is not None and not error.retriable:
        return meaning_of_code(request, ErrorCode(error.code))
    if request is TransactionRequest.PRODUCE:
        return Meaning.ABORT
    return Meaning.FIND_COORDINATOR if error.retriable else Meaning.FAIL


def worst(meanings: list[Meaning]) -> Meaning:
    """Return the one of several meanings that outweighs the others; DONE if there are none."""
    return max(meanings, key=lambda meaning: meaning.value, default=Meaning.DONE)
