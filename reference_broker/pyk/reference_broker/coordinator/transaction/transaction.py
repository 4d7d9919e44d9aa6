"""A transactional id with its producer and its transaction: a value, and the moves that change it.

Each move returns the next value; a record of the log holds one. Epochs belong to the coordinator:

* InitProducerId raises the epoch, which fences every earlier producer of the id.
* With transactions of version 2 each end raises it too (KIP-890). The markers carry the raised
  epoch, so a late batch of the transaction that has ended is refused by its epoch.
* The last epoch is never given to a producer, so that there is always one to fence it with. A
  producer that reaches the one before gets a new id, at epoch 0. So does one that was fenced by the
  last epoch and may go on.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pyk.protocol.topics import TopicPartition
from pyk.runtime import slotted

from .states import TransactionState, check_move

NO_PRODUCER_ID = -1
NO_EPOCH = -1
LAST_EPOCH = 32767
NO_TIMEOUT_MS = 2**31 - 1
"""The timeout of a producer whose transactions an outside coordinator decides on (KIP-939)."""
FIRST_VERSION_WITH_EPOCH_BUMP = 2
"""The first ``transaction.version`` in which each transaction has an epoch of its own."""


@slotted.frozen(kw_only=True)
class Transaction:
    """A transactional id, as a record of ``__transaction_state`` has it."""

    transactional_id: str
    producer_id: int
    previous_producer_id: int = NO_PRODUCER_ID
    """The id before the last move: by it a repeated EndTxn is known after a change of ids."""
    next_producer_id: int = NO_PRODUCER_ID
    """The id that replaces this one when the transaction is complete: its epochs are used up, or
    another producer has kept the transaction (KIP-939)."""
    next_producer_epoch: int = NO_EPOCH
    """Goes with ``next_producer_id``."""
    producer_epoch: int
    last_producer_epoch: int = NO_EPOCH
    """The epoch before the last bump, by which a repeated request is known. As in Kafka it is not
    in the log: after a failover such a request is one of a fenced producer."""
    timeout_ms: int
    state: TransactionState = TransactionState.EMPTY
    partitions: frozenset[TopicPartition] = frozenset()
    started_ms: int = -1
    updated_ms: int
    client_version: int = 0
    """The ``transaction.version`` of the producer, as far as its requests show it: 0 or 2."""

    @property
    def identity(self) -> tuple[int, int]:
        """The producer id and epoch of the latest producer.

        Those of the records are older while a producer keeps the transaction of another one, and
        while its markers are written.
        """
        if self.next_producer_id == NO_PRODUCER_ID:
            return self.producer_id, self.producer_epoch
        # Apache Kafka 4.3 writes no epoch: there the next id is always a new one.
        return self.next_producer_id, max(self.next_producer_epoch, 0)

    @property
    def is_kept(self) -> bool:
        """Whether a producer has kept the open transaction of another one, to end it (KIP-939)."""
        is_ongoing = self.state is TransactionState.ONGOING
        return is_ongoing and self.next_producer_id != NO_PRODUCER_ID

    @property
    def is_epoch_exhausted(self) -> bool:
        """Whether the epoch cannot be raised for a producer any more."""
        return is_epoch_exhausted(self.identity[1])

    @property
    def has_timeout(self) -> bool:
        """Whether the transaction is aborted when it takes too long."""
        return self.timeout_ms != NO_TIMEOUT_MS

    def is_overdue(self, time_ms: int) -> bool:
        """Return whether the transaction is open for longer than its timeout."""
        is_open = self.state is TransactionState.ONGOING and self.has_timeout
        return is_open and self.started_ms + self.timeout_ms < time_ms

    # -- moves -----------------------------------------------------------------------------------

    def initialized(
        self,
        producer_id: int,
        producer_epoch: int,
        *,
        last_producer_epoch: int,
        timeout_ms: int,
        time_ms: int,
    ) -> Transaction:
        """Return the id for a producer that begins, without a transaction."""
        return self._moved(
            TransactionState.EMPTY,
            time_ms,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            last_producer_epoch=last_producer_epoch,
            timeout_ms=timeout_ms,
            partitions=frozenset(),
            started_ms=-1,
        )

    def with_partitions(
        self, partitions: Iterable[TopicPartition], client_version: int, time_ms: int
    ) -> Transaction:
        """Return the transaction with more partitions; the first ones begin it."""
        return self._moved(
            TransactionState.ONGOING,
            time_ms,
            partitions=self.partitions.union(partitions),
            started_ms=time_ms if self.state.is_idle else self.started_ms,
            client_version=client_version,
        )

    def kept(self, next_id: int, next_epoch: int, *, timeout_ms: int, time_ms: int) -> Transaction:
        """Return the open transaction for a producer that is going to end it, and nothing else."""
        return self._moved(
            TransactionState.ONGOING,
            time_ms,
            next_producer_id=next_id,
            next_producer_epoch=next_epoch,
            timeout_ms=timeout_ms,
        )

    def prepared(
        self,
        *,
        commit: bool,
        client_version: int,
        time_ms: int,
        next_producer_id: int = NO_PRODUCER_ID,
    ) -> Transaction:
        """Return the transaction with its outcome decided.

        ``next_producer_id`` is needed with version 2 where the epochs are used up.
        """
        changes: dict[str, Any] = {}
        if client_version >= FIRST_VERSION_WITH_EPOCH_BUMP:
            changes = self._with_raised_epochs()
            changes["last_producer_epoch"] = min(self.identity[1], LAST_EPOCH - 1)
            if next_producer_id != NO_PRODUCER_ID:
                changes |= {"next_producer_id": next_producer_id, "next_producer_epoch": 0}
        if self.state.is_idle:
            changes["started_ms"] = time_ms  # unknown: no partition has begun it
        return self._moved(
            TransactionState.PREPARE_COMMIT if commit else TransactionState.PREPARE_ABORT,
            time_ms,
            client_version=client_version,
            **changes,
        )

    def fenced(self, server_version: int, time_ms: int) -> Transaction:
        """Return the open transaction aborted, in a higher epoch than its producer has.

        With version 2 that is an end like any other: the producer, too, may go on from there. With
        version 1 ends raise no epoch, so one is taken that no producer gets.
        """
        if server_version >= FIRST_VERSION_WITH_EPOCH_BUMP and self.producer_epoch < LAST_EPOCH:
            return self.prepared(commit=False, client_version=server_version, time_ms=time_ms)
        in_new_epoch = slotted.evolve(
            self, last_producer_epoch=NO_EPOCH, **self._with_raised_epochs()
        )
        return in_new_epoch.prepared(commit=False, client_version=0, time_ms=time_ms)

    def completed(self, time_ms: int) -> Transaction:
        """Return the transaction after all markers were written."""
        is_commit = self.state is TransactionState.PREPARE_COMMIT
        producer_id, producer_epoch = self.identity
        return self._moved(
            TransactionState.COMPLETE_COMMIT if is_commit else TransactionState.COMPLETE_ABORT,
            time_ms,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            next_producer_id=NO_PRODUCER_ID,
            next_producer_epoch=NO_EPOCH,
            partitions=frozenset(),
        )

    def _with_raised_epochs(self) -> dict[str, Any]:
        raised = {"producer_epoch": min(self.producer_epoch + 1, LAST_EPOCH)}
        if self.is_kept:
            raised["next_producer_epoch"] = min(self.next_producer_epoch + 1, LAST_EPOCH)
        return raised

    def _moved(self, state: TransactionState, time_ms: int, **changes: Any) -> Transaction:
        check_move(self.transactional_id, self.state, state)
        return slotted.evolve(
            self,
            state=state,
            previous_producer_id=self.producer_id,
            updated_ms=time_ms,
            **changes,
        )


def is_epoch_exhausted(epoch: int) -> bool:
    """Return whether the only epoch after this one is the last, which no producer gets."""
    return epoch >= LAST_EPOCH - 1
