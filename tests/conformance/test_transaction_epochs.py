"""Epochs of transactional producers, request by request, in transactions of version 2."""

from __future__ import annotations

import pytest

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.end_txn import EndTxnRequest
from pyk.protocol.messages.init_producer_id import InitProducerIdRequest
from support.brokers import Kafka
from support.raw_transactions import RawTransactions


class Epochs(RawTransactions):
    """Initializes and ends as any producer of the transactional id would."""

    async def init_as(self, producer_id: int = -1, epoch: int = -1) -> tuple[int, int] | ErrorCode:
        """Return the identity that InitProducerId gives, once nothing is in its way."""
        request = InitProducerIdRequest(
            transactional_id=self._transactional_id,
            transaction_timeout_ms=60_000,
            producer_id=producer_id,
            producer_epoch=epoch,
        )
        response = await self._of_transactions.ask_until_ready(request, 5)
        code = ErrorCode(response.error_code)
        return code or (response.producer_id, response.producer_epoch)

    async def end_as(
        self, producer_id: int, epoch: int, *, is_commit: bool, version: int = 5
    ) -> tuple[int, int] | ErrorCode:
        """Return the identity for the next transaction, -1 and -1 before version 5."""
        request = EndTxnRequest(
            transactional_id=self._transactional_id,
            producer_id=producer_id,
            producer_epoch=epoch,
            committed=is_commit,
        )
        response = await self._of_transactions.ask_until_ready(request, version)
        code = ErrorCode(response.error_code)
        return code or (response.producer_id, response.producer_epoch)


@pytest.mark.parametrize("does_expect", [True, False])
async def test_an_open_transaction_is_aborted_in_the_next_epoch(
    kafka: Kafka, topic: str, group: str, does_expect: bool
) -> None:
    async with Epochs(kafka.bootstrap, topic, group, 2) as epochs:
        producer_id, epoch = epochs.producer_id, epochs.producer_epoch
        await epochs.commit(1)

        expected = (producer_id, epoch) if does_expect else (-1, -1)
        following = await epochs.init_as(*expected)

        # The abort has raised the epoch already, for the producer that goes on.
        assert following == (producer_id, epoch + (1 if does_expect else 2))


async def test_a_late_end_is_answered_with_the_outcome(
    kafka: Kafka, topic: str, group: str
) -> None:
    async with Epochs(kafka.bootstrap, topic, group, 2) as epochs:
        producer_id, epoch = epochs.producer_id, epochs.producer_epoch
        await epochs.commit(1)
        await epochs.end(is_commit=False)

        late = await epochs.end_as(producer_id, epoch, is_commit=True)
        assert late is ErrorCode.INVALID_TXN_STATE
        late = await epochs.end_as(producer_id, epoch, is_commit=False)
        assert late == (producer_id, epoch + 1)
        late = await epochs.end_as(producer_id, epoch, is_commit=False, version=4)
        assert late is ErrorCode.PRODUCER_FENCED
        assert await epochs.init_as(producer_id, epoch) == (producer_id, epoch + 1)
