"""Prepared transactions, recorded for ``pykcheck``: what is decided about them outlives processes.

A process prepares a transaction and stores what is to become of it. Then it completes it itself, or
another one does, or it dies, and its successor does.
"""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import attrs

from pyk.clients import AsyncProducer, PreparedTransaction
from pyk.clients.errors import KafkaError, PreparedTransactionEndedError
from pykcheck import Recorder
from support.recorded_clients import recording
from support.recorded_transactions import TransactionalProducer, append_one


@attrs.frozen
class Decision:
    """What is to become of a prepared transaction, and whether others may see to it."""

    transaction: str
    prepared: PreparedTransaction
    commit: bool
    is_for_others: bool


class Decisions:
    """Decisions in files of a folder, one for each transactional id at a time."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(exist_ok=True)

    def put(self, decision: Decision) -> None:
        """Store a decision; it is there in whole or not at all."""
        fields = [
            decision.transaction,
            decision.prepared.to_json(),
            decision.commit,
            decision.is_for_others,
        ]
        file = self._file(decision.prepared.transactional_id)
        work = file.with_suffix(".new")
        work.write_text(json.dumps(fields))
        work.rename(file)

    def get(self, transactional_id: str) -> Decision | None:
        """Return the decision that is to be carried out, if there is one."""
        try:
            text = self._file(transactional_id).read_text()
        except FileNotFoundError:
            return None
        transaction, prepared, commit, is_for_others = json.loads(text)
        return Decision(transaction, PreparedTransaction.from_json(prepared), commit, is_for_others)

    def for_others(self) -> list[Decision]:
        """Return those that anybody may carry out."""
        found = [self.get(file.stem) for file in sorted(self._folder.glob("*.json"))]
        return [each for each in found if each is not None and each.is_for_others]

    def remove(self, decision: Decision) -> None:
        """Forget a decision, unless there is another one by now."""
        if self.get(decision.prepared.transactional_id) == decision:
            self._file(decision.prepared.transactional_id).unlink(missing_ok=True)

    def _file(self, transactional_id: str) -> Path:
        return self._folder / f"{transactional_id}.json"


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
            return False
        raise
    decisions.remove(decision)
    return True
