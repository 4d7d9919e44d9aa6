"""Tell the coordinator how transactions end."""

from __future__ import annotations

from pyk.clients.errors import InvalidTxnStateError, ProducerFencedError
from pyk.clients.producer.sending.sequences import ProducerIdentity
from pyk.clients.producer.transactions.requester import RefusedCall, TransactionRequester
from pyk.clients.producer.transactions.requests import CoordinatorCall, end_transaction
from pyk.clients.producer.transactions.state import TransactionState


class EndRequests:
    """Sends the EndTxn requests of one producer.

    In version 2 brokers fence an abort that comes while the markers of the transaction before are
    being written: they take it for a request of a producer that was replaced. But nobody has the
    epoch of this producer if its last end, repeated, is not fenced. So that one is repeated until
    it is done, and the abort after it.
    """

    def __init__(self, requester: TransactionRequester, state: TransactionState) -> None:
        self._requester = requester
        self._state = state
        self._last: CoordinatorCall | None = None
        """The last request of version 2 that was answered."""

    async def tell(self, *, is_commit: bool) -> ProducerIdentity | None:
        """Return the identity for the next transaction, None if it stays the same.

        Raises :class:`RefusedCall`.
        """
        state = self._state
        assert state.identity is not None
        was_started = state.contents.has_started
        call = end_transaction(
            state.transactional_id, state.identity, state.version, is_commit=is_commit
        )
        try:
            return await self._ask(call)
        except RefusedCall as refused:
            if not was_started and isinstance(refused.error, InvalidTxnStateError):
                return None  # the one request whose answer was lost did not come: nothing is open
            is_fenced = isinstance(refused.error, ProducerFencedError)
            if is_commit or not is_fenced or not await self._is_last_one_done():
                raise
        return await self._ask(call)

    async def _ask(self, call: CoordinatorCall) -> ProducerIdentity | None:
        response = await self._requester.ask(call, lambda: True)
        if response.producer_id < 0:
            return None
        self._last = call
        return ProducerIdentity(response.producer_id, response.producer_epoch)

    async def _is_last_one_done(self) -> bool:
        """Wait for the markers of the transaction before; return False if another producer has
        begun since."""
        if self._last is None:
            return False  # the initialization has waited for markers
        try:
            await self._requester.ask(self._last, lambda: True)
        except RefusedCall:
            return False
        return True
