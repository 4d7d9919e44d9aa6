"""The state of one producer of a log. Pure."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from pyk.runtime import slotted

BATCHES_TO_RETAIN = 5
NO_PRODUCER_EPOCH = -1
NO_SEQUENCE = -1
NO_OFFSET = -1
MAX_SEQUENCE = (1 << 31) - 1


class ProducedBatch(Protocol):
    """The fields of a batch that count here; both batches to append and stored ones have them."""

    @property
    def producer_id(self) -> int: ...
    @property
    def producer_epoch(self) -> int: ...
    @property
    def base_sequence(self) -> int: ...
    @property
    def last_sequence(self) -> int: ...
    @property
    def last_offset_delta(self) -> int: ...
    @property
    def is_transactional(self) -> bool: ...


class BatchMetadata(NamedTuple):
    """The sequence numbers and offsets of an appended batch."""

    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp: int

    @property
    def base_sequence(self) -> int:
        return (self.last_sequence - self.offset_delta) & MAX_SEQUENCE

    @property
    def base_offset(self) -> int:
        return self.last_offset - self.offset_delta


@slotted.define
class ProducerEntry:
    """The state of one producer; ``batches`` are its last ones, oldest first."""

    producer_id: int
    epoch: int = NO_PRODUCER_EPOCH
    batches: list[BatchMetadata] = slotted.field(factory=list)
    last_timestamp: int = -1
    coordinator_epoch: int = -1
    """The epoch of the transaction coordinator that has sent the last marker."""
    current_txn_first_offset: int = NO_OFFSET

    @property
    def has_open_transaction(self) -> bool:
        return self.current_txn_first_offset != NO_OFFSET

    @property
    def last_sequence(self) -> int:
        return self.batches[-1].last_sequence if self.batches else NO_SEQUENCE

    @property
    def last_offset(self) -> int:
        return self.batches[-1].last_offset if self.batches else NO_OFFSET

    def find_duplicate(self, batch: ProducedBatch) -> BatchMetadata | None:
        """Return the remembered batch that ``batch`` repeats."""
        if batch.producer_epoch != self.epoch:
            return None
        last_sequence = batch.last_sequence
        for known in self.batches:
            if known.last_sequence == last_sequence and known.base_sequence == batch.base_sequence:
                return known
        return None

    def add(self, batch: ProducedBatch, last_offset: int, timestamp: int) -> None:
        """Remember a batch that was appended up to ``last_offset``."""
        if batch.producer_epoch != self.epoch:
            self.take_epoch(batch.producer_epoch)
        elif len(self.batches) == BATCHES_TO_RETAIN:
            del self.batches[0]
        self.batches.append(
            BatchMetadata(batch.last_sequence, last_offset, batch.last_offset_delta, timestamp)
        )
        self.last_timestamp = timestamp

    def take_epoch(self, epoch: int) -> None:
        """Begin again at sequence 0, unless this is the epoch already."""
        if epoch != self.epoch:
            self.epoch = epoch
            self.batches.clear()
