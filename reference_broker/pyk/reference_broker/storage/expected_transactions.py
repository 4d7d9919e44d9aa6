"""Transactions that producers are about to open in a log, while their coordinator is asked. Pure.

A producer sends several batches before the first one is in the log, and the coordinator is asked
for each of them (KIP-890). It may not answer for the first and answer for the second. If that one
were appended, the log would believe that the producer begins there: the first could never be
appended again, or its records would come after later ones. So the log remembers the lowest sequence
number of those that it has seen, until a batch of the transaction is in the log.
"""

from __future__ import annotations

from pyk.reference_broker.storage.errors import OutOfOrderSequenceError
from pyk.reference_broker.storage.producer_entry import ProducedBatch
from pyk.runtime import slotted


@slotted.define
class ExpectedTransaction:
    """The transaction that a producer is about to open."""

    producer_epoch: int
    lowest_sequence: int
    begins_at_zero: bool
    """Whether the epoch is new with each transaction (version 2), so that sequences begin again."""
    time_ms: int


class ExpectedTransactions:
    """The transactions that are about to be opened, by producer."""

    def __init__(self) -> None:
        self.producers: dict[int, ExpectedTransaction] = {}

    def expect(
        self,
        producer_id: int,
        producer_epoch: int,
        sequence: int,
        *,
        begins_at_zero: bool,
        now_ms: int,
    ) -> ExpectedTransaction:
        """Note a batch that waits for the answer of the coordinator.

        Returns the transaction, which stays the same object until it is open or a marker ends it.
        """
        known = self.producers.get(producer_id)
        if known is None or producer_epoch > known.producer_epoch:
            known = ExpectedTransaction(producer_epoch, sequence, begins_at_zero, now_ms)
            self.producers[producer_id] = known
        elif producer_epoch == known.producer_epoch:
            known.lowest_sequence = min(known.lowest_sequence, sequence)
        return known

    def check(self, batch: ProducedBatch, partition: object, *, is_known: bool) -> None:
        """Raise ``OutOfOrderSequenceError`` if a batch before this one is missing.

        ``is_known`` tells whether the log knows batches of the producer.
        """
        expected = self.producers.get(batch.producer_id)
        if expected is None:
            return
        lowest = expected.lowest_sequence
        if expected.begins_at_zero and not is_known:
            lowest = 0
        if batch.base_sequence > lowest:
            raise OutOfOrderSequenceError(
                f"producer {batch.producer_id} of epoch {batch.producer_epoch} opens a transaction "
                f"in {partition} at sequence {batch.base_sequence}, expected was {lowest}: a batch "
                "before it is missing"
            )

    def forget(self, producer_id: int) -> None:
        """Forget a producer: its transaction is open now, or has ended."""
        self.producers.pop(producer_id, None)

    def expire(self, now_ms: int, expiration_ms: int) -> None:
        """Forget the transactions that were not opened for that long."""
        for producer_id, expected in list(self.producers.items()):
            if now_ms - expected.time_ms >= expiration_ms:
                del self.producers[producer_id]
