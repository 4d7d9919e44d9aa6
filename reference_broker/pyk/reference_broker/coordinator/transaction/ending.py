"""What EndTxn decides. Pure.

While markers are written, in the Prepare states, the answer is CONCURRENT_TRANSACTIONS: ask again.
In version 2 that is so for all producers, as the next transaction may have a new producer id.

Version 1: the epoch stays, so the same request twice is a retry, and the state says of what:

| state | commit | abort |
| --- | --- | --- |
| Ongoing | prepare | prepare |
| CompleteCommit | done | INVALID_TXN_STATE |
| CompleteAbort | INVALID_TXN_STATE | done |
| Empty | INVALID_TXN_STATE | INVALID_TXN_STATE |

Version 2 (KIP-890): each end raises the epoch, so a request with the epoch before is a *retry*, and
one with the current epoch is *new*. A new abort is always possible: the producer may not know
whether its records have arrived. Ongoing and Empty fence a retry.

| state | commit, retry | commit, new | abort, retry | abort, new |
| --- | --- | --- | --- | --- |
| Ongoing | | prepare | | prepare |
| CompleteCommit | done | INVALID_TXN_STATE | INVALID_TXN_STATE | prepare |
| CompleteAbort | INVALID_TXN_STATE | INVALID_TXN_STATE | done | prepare |
| Empty | | INVALID_TXN_STATE | | prepare |

Empty fields are PRODUCER_FENCED. A retried abort that would be answered with the last epoch, as a
timeout has taken it, is a new one: it ends with a new producer id.
"""

from __future__ import annotations

from pyk.protocol.errors import ErrorCode
from pyk.reference_broker.errors import ApiError
from pyk.runtime import slotted

from .initializing import ProducerIdNeededError
from .states import TransactionState
from .transaction import (
    FIRST_VERSION_WITH_EPOCH_BUMP,
    LAST_EPOCH,
    NO_PRODUCER_ID,
    Transaction,
)


@slotted.frozen(kw_only=True)
class End:
    """A producer that commits or aborts its transaction."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    commit: bool
    client_version: int
    """2 if the producer takes its next epoch from the answer (EndTxn 5), otherwise 0."""


def end(
    transaction: Transaction | None, asked: End, *, new_producer_id: int | None, time_ms: int
) -> Transaction:
    """Return the transaction prepared, or as it is if the request was carried out before.

    Raises ``ApiError``, and ``ProducerIdNeededError`` where an id is needed and none was given.
    """
    if transaction is None:
        raise ApiError(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    if asked.client_version >= FIRST_VERSION_WITH_EPOCH_BUMP:
        return _end_with_epoch_bump(transaction, asked, new_producer_id, time_ms)
    check_producer(transaction, asked.producer_id, asked.producer_epoch)
    _check_markers(transaction)
    if transaction.state is TransactionState.ONGOING:
        return transaction.prepared(commit=asked.commit, client_version=0, time_ms=time_ms)
    return _repeated(transaction, asked)


def check_producer(transaction: Transaction, producer_id: int, producer_epoch: int) -> None:
    """Raise unless this is the latest producer of the transactional id."""
    if producer_id not in (transaction.producer_id, transaction.identity[0]):
        raise ApiError(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    if transaction.identity != (producer_id, producer_epoch) or producer_epoch == LAST_EPOCH:
        raise ApiError(ErrorCode.PRODUCER_FENCED)


def check_writer(transaction: Transaction, producer_id: int, producer_epoch: int) -> None:
    """Raise unless this is the producer whose records the transaction has."""
    if transaction.producer_id != producer_id:
        raise ApiError(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    if transaction.producer_epoch != producer_epoch or producer_epoch == LAST_EPOCH:
        raise ApiError(ErrorCode.PRODUCER_FENCED)


def _end_with_epoch_bump(
    transaction: Transaction, asked: End, new_producer_id: int | None, time_ms: int
) -> Transaction:
    _check_markers(transaction)
    if _is_retry(transaction, asked):
        if transaction.state in (TransactionState.EMPTY, TransactionState.ONGOING):
            raise ApiError(ErrorCode.PRODUCER_FENCED)
        ended = _repeated(transaction, asked)
        if asked.commit or transaction.producer_epoch != LAST_EPOCH:
            return ended
    else:
        check_producer(transaction, asked.producer_id, asked.producer_epoch)
        if asked.commit and transaction.state is not TransactionState.ONGOING:
            raise _invalid(transaction, asked)
    next_producer_id = NO_PRODUCER_ID
    if transaction.is_epoch_exhausted:
        if new_producer_id is None:
            raise ProducerIdNeededError
        next_producer_id = new_producer_id
    return transaction.prepared(
        commit=asked.commit,
        client_version=asked.client_version,
        time_ms=time_ms,
        next_producer_id=next_producer_id,
    )


def _check_markers(transaction: Transaction) -> None:
    """Raise while the markers of the transaction are written."""
    if transaction.state.is_prepared:
        raise ApiError(ErrorCode.CONCURRENT_TRANSACTIONS)


def _is_retry(transaction: Transaction, asked: End) -> bool:
    producer_id, producer_epoch = transaction.identity
    if producer_id == asked.producer_id:
        return producer_epoch == asked.producer_epoch + 1
    # After the last epoch but one, a new id came instead of a raised epoch.
    is_before_new_id = asked.producer_epoch == LAST_EPOCH - 1 and producer_epoch == 0
    earlier_ids = (transaction.previous_producer_id, transaction.producer_id)
    return is_before_new_id and asked.producer_id in earlier_ids


def _repeated(transaction: Transaction, asked: End) -> Transaction:
    """Return the transaction if it has ended as asked; raise if it has not."""
    has_committed = transaction.state is TransactionState.COMPLETE_COMMIT
    has_aborted = transaction.state is TransactionState.COMPLETE_ABORT
    if has_committed if asked.commit else has_aborted:
        return transaction
    raise _invalid(transaction, asked)


def _invalid(transaction: Transaction, asked: End) -> ApiError:
    what = "commit" if asked.commit else "abort"
    return ApiError(
        ErrorCode.INVALID_TXN_STATE,
        f"Cannot {what} {transaction.transactional_id!r}: it is {transaction.state.label}.",
    )
