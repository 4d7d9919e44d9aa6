"""The state of a log's idempotent producers: sequences, epochs, and the last few batches.

A producer numbers its records. A batch is appended only if it continues where the producer's last
one ended, so nothing is missing and nothing is there twice. A batch that is one of the last five is
a retry: it is answered with the offsets it got the first time.

1. An older epoch than the producer's last is fenced: a newer instance took over.
2. A newer epoch begins again at sequence 0.
3. The same epoch goes on at the next sequence; behind 2147483647 comes 0.
4. A producer the log does not know may begin anywhere: its records may be deleted or expired.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple, Protocol

from pyk.reference_broker.storage.errors import (
    InvalidProducerEpochError,
    OutOfOrderSequenceError,
)
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
    def last_offset_delta(self) -> int: ...


class BatchMetadata(NamedTuple):
    """What is remembered of an appended batch."""

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
    """What is remembered of one producer; ``batches`` are its last ones, oldest first."""

    producer_id: int
    epoch: int = NO_PRODUCER_EPOCH
    batches: list[BatchMetadata] = slotted.field(factory=list)
    last_timestamp: int = -1
    coordinator_epoch: int = -1
    current_txn_first_offset: int = NO_OFFSET

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
        last_sequence = _last_sequence(batch)
        for known in self.batches:
            if known.last_sequence == last_sequence and known.base_sequence == batch.base_sequence:
                return known
        return None

    def add(self, batch: ProducedBatch, last_offset: int, timestamp: int) -> None:
        """Remember a batch that was appended up to ``last_offset``."""
        if batch.producer_epoch != self.epoch:
            self.epoch = batch.producer_epoch
            self.batches.clear()
        elif len(self.batches) == BATCHES_TO_RETAIN:
            del self.batches[0]
        last_sequence, delta = _last_sequence(batch), batch.last_offset_delta
        self.batches.append(BatchMetadata(last_sequence, last_offset, delta, timestamp))
        self.last_timestamp = timestamp


class ProducerStates:
    """The producers of one log. ``map_end_offset`` is the offset up to which they are known."""

    def __init__(self, map_end_offset: int = 0) -> None:
        self.map_end_offset = map_end_offset
        self._producers: dict[int, ProducerEntry] = {}

    def __len__(self) -> int:
        return len(self._producers)

    def __iter__(self) -> Iterator[ProducerEntry]:
        return iter(self._producers.values())

    def get(self, producer_id: int) -> ProducerEntry | None:
        return self._producers.get(producer_id)

    def check(self, batch: ProducedBatch, partition: object) -> BatchMetadata | None:
        """Return the batch that ``batch`` repeats, None if it is to be appended.

        Raises ``OutOfOrderSequenceError`` or ``InvalidProducerEpochError``, naming ``partition``.
        """
        entry = self._producers.get(batch.producer_id)
        if entry is None:
            return None
        duplicate = entry.find_duplicate(batch)
        if duplicate is None:
            _check_epoch(entry, batch, partition)
            _check_sequence(entry, batch, partition)
        return duplicate

    def add(self, batch: ProducedBatch, last_offset: int, timestamp: int) -> None:
        """Remember a batch of a producer that was appended up to ``last_offset``.

        ``timestamp`` is its largest; the producer expires some time after it.
        """
        entry = self._producers.get(batch.producer_id)
        if entry is None:
            entry = self._producers[batch.producer_id] = ProducerEntry(batch.producer_id)
        entry.add(batch, last_offset, timestamp)

    def restore(self, entries: Iterable[ProducerEntry], map_end_offset: int) -> None:
        """Replace everything that is known."""
        self._producers = {entry.producer_id: entry for entry in entries}
        self.map_end_offset = map_end_offset

    def expire(self, now_ms: int, expiration_ms: int) -> int:
        """Forget producers that wrote nothing for that long (``producer.id.expiration.ms``).

        Returns how many are forgotten. A producer inside a transaction is kept.
        """
        expired = [
            producer_id
            for producer_id, entry in self._producers.items()
            if entry.current_txn_first_offset == NO_OFFSET
            and now_ms - entry.last_timestamp >= expiration_ms
        ]
        for producer_id in expired:
            del self._producers[producer_id]
        return len(expired)


def _last_sequence(batch: ProducedBatch) -> int:
    return (batch.base_sequence + batch.last_offset_delta) & MAX_SEQUENCE


def _check_epoch(entry: ProducerEntry, batch: ProducedBatch, partition: object) -> None:
    if batch.producer_epoch < entry.epoch:
        raise InvalidProducerEpochError(
            f"producer {batch.producer_id} writes to {partition} with epoch "
            f"{batch.producer_epoch}, but an instance with epoch {entry.epoch} has taken over"
        )


def _check_sequence(entry: ProducerEntry, batch: ProducedBatch, partition: object) -> None:
    first = batch.base_sequence
    if batch.producer_epoch != entry.epoch:
        is_next, expected = first == 0, 0
    else:
        expected = (entry.last_sequence + 1) & MAX_SEQUENCE
        is_next = first == expected
    if not is_next and entry.epoch != NO_PRODUCER_EPOCH:
        raise OutOfOrderSequenceError(
            f"producer {batch.producer_id} of epoch {batch.producer_epoch} writes to {partition} "
            f"from sequence {first}, expected was {expected}: a batch before it is missing"
        )
