"""Tell the coordinator how transactions end."""

from __future__ import annotations

from pyk.clients.errors import InvalidTxnStateError
from pyk.clients.producer.sending.sequences import ProducerIdentity
from pyk.clients.producer.transactions.requester import RefusedCall, TransactionRequester
from pyk.clients.producer.transactions.requests import end_transaction
from pyk.clients.producer.transactions.state import TransactionState


async def tell_end(
    requester: TransactionRequester, state: TransactionState, *, is_commit: bool
) -> ProducerIdentity | None:
    """Return the identity for the next transaction, None if it stays the same.

    Raises :class:`RefusedCall`.
    """
    assert state.identity is not None
    was_started = state.contents.has_started
    call = end_transaction(
        state.transactional_id, state.identity, state.version, is_commit=is_commit
    )
    try:
        response = await requester.ask(call, lambda: True)
    except RefusedCall as refused:
        if not was_started and isinstance(refused.error, InvalidTxnStateError):
            return None  # the one request whose answer was lost did not come: nothing is open
        raise
    if response.producer_id < 0:
        return None
    return ProducerIdentity(response.producer_id, response.producer_epoch)
