"""End a prepared transaction of another producer."""

from __future__ import annotations

import asyncio

from pyk.clients.engine.client import Client
from pyk.clients.errors import (
    InvalidTxnStateError,
    KafkaTimeoutError,
    PreparedTransactionEndedError,
    ProducerFencedError,
)
from pyk.clients.producer.transactions.epochs import TransactionEpochs
from pyk.clients.producer.transactions.prepared import PreparedTransaction
from pyk.clients.producer.transactions.requester import RefusedCall, TransactionRequester
from pyk.clients.producer.transactions.requests import end_transaction
from pyk.clients.wording import because


async def complete_elsewhere(
    client: Client, prepared: PreparedTransaction, is_commit: bool, timeout: float
) -> None:
    """End a prepared transaction of another producer; it may have ended in this way before.

    Raises :class:`PreparedTransactionEndedError` if it has ended otherwise, or if its producer has
    gone on since, and :class:`KafkaTimeoutError` after ``timeout`` seconds: the call may be
    repeated.
    """
    if prepared.is_empty:
        return
    requester = TransactionRequester(client, TransactionEpochs())
    call = end_transaction(
        prepared.transactional_id, prepared.identity, prepared.version, is_commit=is_commit
    )
    name = prepared.transactional_id
    try:
        async with asyncio.timeout(timeout):
            await requester.ask(call, lambda: True)
    except TimeoutError:
        raise KafkaTimeoutError(
            f"the prepared transaction of {name!r} was not ended within {timeout:g} s"
            f"{because(requester.error)}; call complete_transaction() again"
        ) from None
    except RefusedCall as refused:
        if isinstance(refused.error, InvalidTxnStateError | ProducerFencedError):
            verb = "committed" if is_commit else "aborted"
            raise PreparedTransactionEndedError(
                f"the prepared transaction of {name!r} cannot be {verb}: it was ended otherwise, "
                "it timed out, or its producer has gone on since it was ended"
            ) from refused.error
        raise refused.error from None
