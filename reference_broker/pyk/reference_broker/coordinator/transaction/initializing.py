"""What InitProducerId decides: the next epoch of a producer, a new id, or to fence. Pure."""

from __future__ import annotations

from pyk.protocol.errors import ErrorCode
from pyk.reference_broker.errors import ApiError
from pyk.runtime import slotted

from .transaction import LAST_EPOCH, NO_EPOCH, NO_TIMEOUT_MS, Transaction, is_epoch_exhausted


class ProducerIdNeededError(Exception):
    """A new producer id is needed: fetch one, and ask again with it."""


@slotted.frozen(kw_only=True)
class Initialization:
    """A producer with a transactional id that wants an identity."""

    transactional_id: str
    timeout_ms: int
    expected: tuple[int, int] | None = None
    """The producer id and epoch that it has, to go on after an error (KIP-360)."""
    is_two_phase: bool = False
    """An outside coordinator decides, so that there is no timeout (KIP-939)."""
    keeps_prepared: bool = False
    """The producer is going to end the transaction that is open, which is not aborted (KIP-939)."""

    @property
    def effective_timeout_ms(self) -> int:
        return NO_TIMEOUT_MS if self.is_two_phase else self.timeout_ms


def initialize(
    transaction: Transaction | None,
    asked: Initialization,
    *,
    new_producer_id: int | None,
    server_version: int,
    time_ms: int,
) -> Transaction:
    """Return the transactional id with an identity for the producer.

    If a transaction is open it is aborted instead, and the producer has to ask again, unless it
    keeps the transaction. Raises ``ApiError``, and ``ProducerIdNeededError`` where an id is needed
    and none was given.
    """
    if transaction is None:
        return _created(asked, new_producer_id, time_ms)
    if transaction.state.is_prepared:
        raise ApiError(ErrorCode.CONCURRENT_TRANSACTIONS)
    _check_expected_id(transaction, asked)
    if not transaction.state.is_idle:
        if asked.keeps_prepared:
            return _kept(transaction, asked, new_producer_id, time_ms)
        return transaction.fenced(server_version, time_ms)
    expected_epoch = None if asked.expected is None else asked.expected[1]
    if _needs_new_id(transaction, expected_epoch):
        return transaction.initialized(
            _given(new_producer_id),
            0,
            last_producer_epoch=NO_EPOCH if expected_epoch is None else transaction.producer_epoch,
            timeout_ms=asked.effective_timeout_ms,
            time_ms=time_ms,
        )
    epoch, last_epoch = _next_epoch(transaction, expected_epoch)
    return transaction.initialized(
        transaction.producer_id,
        epoch,
        last_producer_epoch=last_epoch,
        timeout_ms=asked.effective_timeout_ms,
        time_ms=time_ms,
    )


def _created(asked: Initialization, new_producer_id: int | None, time_ms: int) -> Transaction:
    # A producer that expects an id may be one whose transactional id has expired.
    return Transaction(
        transactional_id=asked.transactional_id,
        producer_id=_given(new_producer_id),
        producer_epoch=0,
        timeout_ms=asked.effective_timeout_ms,
        updated_ms=time_ms,
    )


def _kept(
    transaction: Transaction, asked: Initialization, new_producer_id: int | None, time_ms: int
) -> Transaction:
    """Return the transaction as it is, with the next epoch for the producer that will end it."""
    producer_id, producer_epoch = transaction.identity
    if transaction.is_epoch_exhausted:
        producer_id, producer_epoch = _given(new_producer_id), -1
    return transaction.kept(
        producer_id,
        producer_epoch + 1,
        timeout_ms=asked.effective_timeout_ms,
        time_ms=time_ms,
    )


def _check_expected_id(transaction: Transaction, asked: Initialization) -> None:
    """Raise unless the producer is the latest one of its transactional id.

    An older id with an exhausted epoch may be a retry: the response with the new id was lost.
    """
    known_ids = (transaction.producer_id, transaction.identity[0])
    if asked.expected is None or asked.expected[0] in known_ids:
        return
    producer_id, epoch = asked.expected
    if producer_id != transaction.previous_producer_id or not is_epoch_exhausted(epoch):
        raise _fenced(transaction)


def _needs_new_id(transaction: Transaction, expected_epoch: int | None) -> bool:
    """Return whether the next epoch, or the current one for a retry, is one that nobody gets."""
    if transaction.producer_epoch == LAST_EPOCH:
        return expected_epoch in (None, LAST_EPOCH, transaction.last_producer_epoch)
    return transaction.is_epoch_exhausted and expected_epoch in (None, transaction.producer_epoch)


def _next_epoch(transaction: Transaction, expected_epoch: int | None) -> tuple[int, int]:
    """Return the epoch for the producer, and the one before it.

    1. Without an expected epoch another producer takes over.
    2. The current epoch is expected: the producer goes on after an error.
    3. The epoch before is expected: the request is a retry, so nothing is raised. No other producer
       can have come in between, for that would have forgotten the epoch before.
    """
    current = transaction.producer_epoch
    if expected_epoch is None:
        return current + 1, NO_EPOCH
    if expected_epoch == current:
        return current + 1, current
    if expected_epoch == transaction.last_producer_epoch:
        return current, transaction.last_producer_epoch
    raise _fenced(transaction)


def _fenced(transaction: Transaction) -> ApiError:
    return ApiError(
        ErrorCode.PRODUCER_FENCED,
        f"Another producer has initialized {transaction.transactional_id!r}.",
    )


def _given(new_producer_id: int | None) -> int:
    if new_producer_id is None:
        raise ProducerIdNeededError
    return new_producer_id
