"""Prepared transactions, recorded for ``pykcheck``: what is decided about them outlives processes.

A process prepares a transaction and stores what is to become of it. Then it completes it itself, or
another one does, or it dies, and its successor does.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, MutableMapping
from random import Random

import attrs

from pyk.clients import AsyncProducer, PreparedTransaction
from pyk.clients.errors import KafkaError, PreparedTransactionEndedError
from pykcheck import Recorder
from support.recorded_clients import recording
from support.recorded_transactions import (
    SECONDS_AFTER_ERROR,
    TransactionalProducer,
    append_one,
)


@attrs.frozen
class Decision:
    """What is to become of a prepared transaction, and whether others may see to it."""

    transaction: str
    prepared: PreparedTransaction
    commit: bool
    is_for_others: bool


class Decisions:
    """Decisions as texts that outlive processes, one for each transactional id at a time."""

    def __init__(self, texts: MutableMapping[str, str]) -> None:
        self._texts = texts

    def put(self, decision: Decision) -> None:
        """Store a decision."""
        fields = [
            decision.transaction,
            decision.prepared.to_json(),
            decision.commit,
            decision.is_for_others,
        ]
        self._texts[decision.prepared.transactional_id] = json.dumps(fields)

    def get(self, transactional_id: str) -> Decision | None:
        """Return the decision that is to be carried out, None if there is none."""
        text = self._texts.get(transactional_id)
        if text is None:
            return None
        transaction, prepared, commit, is_for_others = json.loads(text)
        return Decision(transaction, PreparedTransaction.from_json(prepared), commit, is_for_others)

    def for_others(self) -> list[Decision]:
        """Return those that anybody may carry out."""
        found = [self.get(name) for name in sorted(self._texts)]
        return [each for each in found if each is not None and each.is_for_others]

    def remove(self, decision: Decision) -> None:
        """Forget a decision, unless there is another one by now."""
        name = decision.prepared.transactional_id
        if self.get(name) == decision:
            self._texts.pop(name, None)


async def prepare_some(
    producer: TransactionalProducer, decisions: Decisions, random: Random, *, for_others: bool
) -> Decision | None:
    """Append in a transaction, prepare it, and store a decision; return None after an abort."""
    transaction = producer.next_transaction()
    if not await producer.begin(transaction):
        return None
    for number in range(random.randint(0, 3)):
        await append_one(producer, transaction, number, random)
    prepared = await producer.prepare(transaction)
    if prepared is None:
        return None
    decision = Decision(transaction, prepared, random.random() < 0.8, for_others)
    decisions.put(decision)
    return decision


async def carry_out(
    recorder: Recorder,
    process: str,
    producer: AsyncProducer[bytes, bytes],
    decisions: Decisions,
    decision: Decision,
) -> bool:
    """Complete a prepared transaction; return whether its outcome is known now."""
    kind = "commit" if decision.commit else "abort"
    try:
        with recording(recorder, process, kind, transaction=decision.transaction):
            await producer.complete_transaction(decision.prepared, commit=decision.commit)
    except PreparedTransactionEndedError:
        pass
    except KafkaError as error:
        if error.retriable:
            await asyncio.sleep(SECONDS_AFTER_ERROR)
            return False
        raise
    decisions.remove(decision)
    return True


async def prepare_until_over(
    recorder: Recorder,
    producer: TransactionalProducer,
    decisions: Decisions,
    random: Random,
    goes_on: Callable[[], bool],
    *,
    shares: bool = True,
) -> bool:
    """Prepare transactions, and complete them or wait until others have; return False to die.

    With ``shares``, others complete some of them. It ends also after a transaction that others were
    to complete: if the version of transactions is 1, only a new epoch keeps a late request of
    theirs out of the next transaction.
    """
    while goes_on() and not producer.is_over:
        for_others = shares and random.random() < 0.4
        decision = await prepare_some(producer, decisions, random, for_others=for_others)
        if decision is None:
            await asyncio.sleep(SECONDS_AFTER_ERROR)
            continue
        if random.random() < 0.1:
            return False
        if for_others:
            while decisions.get(decision.prepared.transactional_id) == decision:
                await asyncio.sleep(0.2)
            return True
        process = producer.process
        while not await carry_out(recorder, process, producer.producer, decisions, decision):
            pass
        await asyncio.sleep(random.uniform(0.0, 0.5))
    return True
