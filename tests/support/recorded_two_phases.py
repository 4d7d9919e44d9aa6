"""Two-phase commits (KIP-939), recorded for ``pykcheck``.

A *keeper* prepares transactions that no timeout ends, and stores what is to become of them. When it
dies, the next one with its transactional id keeps what it left open, and carries that out.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from random import Random

from pyk.clients.errors import KafkaError
from pykcheck import Recorder
from support.recorded_clients import recording
from support.recorded_decisions import Decisions, carry_out, prepare_until_over
from support.recorded_transactions import SECONDS_AFTER_ERROR, TransactionalProducer

NO_TIMEOUT = 1e9
"""Seconds that a transaction of a keeper may take."""


async def keep_until_over(
    recorder: Recorder,
    new_producer: Callable[[], TransactionalProducer],
    decisions: Decisions,
    random: Random,
    goes_on: Callable[[], bool],
    die: Callable[[TransactionalProducer], Awaitable[None]],
) -> None:
    """Be one keeper after the other, and leave nothing open at the end."""
    while True:
        producer = new_producer()
        if not await take_over(recorder, producer, decisions):
            await asyncio.sleep(SECONDS_AFTER_ERROR)
        elif not goes_on():
            await producer.close()
            return
        elif not await prepare_until_over(
            recorder, producer, decisions, random, goes_on, shares=False
        ):
            recorder.invoke(producer.process, "crash")
            await die(producer)
        await producer.close()


async def take_over(
    recorder: Recorder, producer: TransactionalProducer, decisions: Decisions
) -> bool:
    """End what the keeper before has left; return whether the producer may go on.

    1. Without a decision, an open transaction was not prepared: it is aborted.
    2. With one, the open transaction is the one that was decided on.
    3. With one and nothing open, the keeper before has carried it out, and did not forget it.
    """
    decision = decisions.get(producer.transactional_id)
    try:
        if decision is None:
            with producer.recording_init():
                kept = await producer.producer.init_transactions(keep_prepared_txn=True)
                if kept is not None:
                    await producer.producer.complete_transaction(kept, commit=False)
            return True
        kept = await producer.producer.init_transactions(keep_prepared_txn=True)
        if kept == decision.prepared:
            return await carry_out(
                recorder, producer.process, producer.producer, decisions, decision
            )
        kind = "commit" if decision.commit else "abort"
        with recording(recorder, producer.process, kind, transaction=decision.transaction):
            decisions.remove(decision)
        return kept is None
    except KafkaError:
        return False
