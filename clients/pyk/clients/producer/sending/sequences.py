"""Number the batches of a partition: producer id, epoch, sequence. Pure.

A broker remembers, for each producer and partition, the epoch and the sequence it expects next, and
its last five batches. So a batch that is sent twice is written once, and one that comes too early
is refused, as long as both come as the same bytes.

A higher epoch starts a new order: with it, a broker takes sequence 0 next and refuses what
still comes with the old one (KIP-360). A broker keeps all this per partition, so each partition
restarts for itself, and only once none of its own batches is in doubt.

A broker that does not know a producer accepts its first batch with *any* sequence. So the first
batch of an order goes alone: if it got lost and the second arrived, the first could not be written
before it any more.
"""

from __future__ import annotations

from pyk.clients.producer.batching.batch import ProducerBatch
from pyk.runtime import slotted

NO_PRODUCER_ID = -1
NO_SEQUENCE = -1
MAX_EPOCH = (1 << 15) - 1
SEQUENCES = 1 << 31  # after 2^31 - 1 comes 0


@slotted.frozen
class ProducerIdentity:
    """The producer id and epoch of an InitProducerId response."""

    producer_id: int
    epoch: int


class PartitionSequence:
    """The numbers that the next new batch of one partition gets.

    Before :meth:`start` batches have no numbers, and brokers accept them in any order.
    """

    __slots__ = ("epoch", "is_known", "needs_new_producer_id", "next_sequence", "producer_id")

    def __init__(self) -> None:
        self.is_known = True  # a batch of this order was written, or the order is not checked
        self.needs_new_producer_id = False
        self.producer_id = NO_PRODUCER_ID
        self.epoch = -1
        self.next_sequence = NO_SEQUENCE

    def is_numbered(self) -> bool:
        """Return whether batches have numbers, so that brokers keep them in order."""
        return self.producer_id != NO_PRODUCER_ID

    def start(self, identity: ProducerIdentity) -> None:
        """Begin with a producer id that the brokers of this partition do not know."""
        self.producer_id = identity.producer_id
        self.epoch = identity.epoch
        self.next_sequence = 0
        self.is_known = self.needs_new_producer_id = False

    def can_restart(self) -> bool:
        """Return whether the producer id has an epoch left; if not, a new id is needed."""
        return self.is_numbered() and self.epoch < MAX_EPOCH and not self.needs_new_producer_id

    def restart(self) -> None:
        """Begin a new epoch: the next batch is its first one."""
        self.epoch += 1
        self.next_sequence = 0
        self.is_known = False

    def stamp(self, batch: ProducerBatch) -> None:
        """Give ``batch`` the next numbers, sealing it if it is new."""
        if batch.data is None:
            batch.seal(self.producer_id, self.epoch, self.next_sequence)
        else:
            batch.restamp(self.producer_id, self.epoch, self.next_sequence)
        self.next_sequence = sequence_after(batch)

    def roll_back(self, batch: ProducerBatch) -> None:
        """Take back the numbers of the last batch that got some; it certainly was not written."""
        self.next_sequence = batch.base_sequence


def sequence_after(batch: ProducerBatch) -> int:
    """Return the sequence that follows the last record of ``batch``."""
    if batch.base_sequence == NO_SEQUENCE:
        return NO_SEQUENCE
    following = batch.base_sequence
    following += batch.count
    return following % SEQUENCES
