"""The identity policy of a transactional producer (KIP-98, KIP-360, KIP-890). Pure.

Its epoch comes from the coordinator and is one for all partitions. A partition begins with it once
it is part of the transaction; a batch that fails makes the transaction one that must be aborted.
"""

from __future__ import annotations

from pyk.clients.errors import InconsistentTopicIdError
from pyk.clients.producer.batching.batch import ProducerBatch
from pyk.clients.producer.sending.outcome import BatchOutcome
from pyk.clients.producer.sending.partition_queue import PartitionQueue
from pyk.clients.producer.transactions.meanings import Meaning, TransactionRequest, meaning_of_error
from pyk.clients.producer.transactions.state import TransactionState


class TransactionalIdentity:
    """Writes under the identity of a :class:`TransactionState`, in its transactions only."""

    numbers_batches = True

    def __init__(self, state: TransactionState) -> None:
        self._state = state

    @property
    def transactional_id(self) -> str:
        return self._state.transactional_id

    def begin_order(self, queue: PartitionQueue) -> bool:
        """Let a partition begin in a transaction; False until it is part of that.

        In version 1 the sequence goes on from the transaction before, as the epoch does.
        """
        state, sequence = self._state, queue.sequence
        if not (state.is_sending and state.contents.admits(queue.topic_partition)):
            return False
        identity = state.identity
        assert identity is not None, "a transaction begins after the initialization"
        if (sequence.producer_id, sequence.epoch) != (identity.producer_id, identity.epoch):
            sequence.start(identity)
        return True

    def keeps_place(
        self, queue: PartitionQueue, batch: ProducerBatch, outcome: BatchOutcome
    ) -> bool:
        """Return whether a batch that was refused as out of order or fenced is sent again.

        Only after an older one that is not settled: that one is the reason, and comes first. No
        order can begin inside of a transaction.
        """
        return outcome is not BatchOutcome.FENCED and queue.unsettled[0] is not batch

    def topic_replaced(self, queue: PartitionQueue) -> None:
        """Make the transaction one that must be aborted: what it wrote before is gone."""
        if self._state.is_sending:
            error = InconsistentTopicIdError(
                "the topic was deleted and created again in the middle of the transaction",
                topic=queue.topic_partition.topic,
            )
            self._state.failed(error, Meaning.ABORT)

    def next_request(self) -> None:
        """Ask for nothing here: the driver of the transactions asks their coordinator."""

    def batch_failed(self, batch: ProducerBatch) -> None:
        """Make the transaction one that must be aborted."""
        error = batch.error
        assert error is not None, "a batch fails for a reason"
        meaning = meaning_of_error(TransactionRequest.PRODUCE, error)
        if meaning is Meaning.ABORT and error.fatal:
            # It would be, for a request to the coordinator; here the producer goes on.
            error.fatal, error.txn_requires_abort = False, True
        self._state.batch_failed(error, meaning, has_numbers=batch.data is not None)
