"""Get the producer id and epoch of a transactional producer from its coordinator."""

from __future__ import annotations

import logging

from pyk.clients.config import ProducerConfig
from pyk.clients.errors import StateError
from pyk.clients.producer.sending.sequences import ProducerIdentity
from pyk.clients.producer.transactions.prepared import PreparedTransaction
from pyk.clients.producer.transactions.requester import RefusedCall, TransactionRequester
from pyk.clients.producer.transactions.requests import init_producer_id
from pyk.clients.producer.transactions.state import TransactionState

log = logging.getLogger(__name__)


class Initialization:
    """Asks with InitProducerId: for the first identity, and for the next epoch."""

    def __init__(
        self, requester: TransactionRequester, state: TransactionState, config: ProducerConfig
    ) -> None:
        self._requester = requester
        self._state = state
        self._config = config
        self.keeps_prepared = False
        """Whether the first request asks to keep what a producer before has left open."""

    def check_keeps(self, keeps_prepared: bool) -> None:
        """Raise :class:`StateError` if the producer cannot keep what was open."""
        if keeps_prepared and not self._config.transaction_two_phase_commit_enable:
            raise StateError(
                "keep_prepared_txn needs a producer with transaction_two_phase_commit_enable=True"
            )
        if keeps_prepared and not self.keeps_prepared:
            raise StateError(
                "the producer was initialized before, without keep_prepared_txn: call "
                "init_transactions(keep_prepared_txn=True) before start() and the with statement"
            )

    async def run(self, *, keeps_prepared: bool = False) -> PreparedTransaction | None:
        """Move the state on with the answer; return the transaction that is kept (KIP-939)."""
        state, config = self._state, self._config
        state.begin_initialization()
        call = init_producer_id(
            state.transactional_id,
            config.transaction_timeout_ms,
            state.identity,
            has_two_phases=config.transaction_two_phase_commit_enable,
            keeps_prepared=keeps_prepared,
        )
        try:
            response = await self._requester.ask(call, lambda: True)
        except RefusedCall as refused:
            raise state.not_initialized(refused.error) from refused.error.__cause__
        state.epochs.use(self._requester.version())
        identity = ProducerIdentity(response.producer_id, response.producer_epoch)
        log.info(
            "%r has producer id %d, epoch %d; transactions of version %d",
            state.transactional_id, identity.producer_id, identity.epoch, state.version,
        )  # fmt: skip
        if response.ongoing_txn_producer_id < 0:
            state.initialized(identity)
            return None
        state.kept(identity)
        return PreparedTransaction(
            state.transactional_id,
            response.ongoing_txn_producer_id,
            response.ongoing_txn_producer_epoch,
            state.version,
        )
