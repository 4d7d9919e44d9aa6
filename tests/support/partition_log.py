"""What a partition leader does with batches, in a page: the judge of idempotent producers."""

from __future__ import annotations

from collections import deque
from typing import Any

import attrs

from pyk.protocol.errors import ErrorCode
from pyk.protocol.records import read_batches

REMEMBERED_BATCHES = 5
SEQUENCES = 1 << 31


@attrs.define
class ProducerEntry:
    """What the log remembers of one producer."""

    epoch: int
    next_sequence: int
    recent: deque[tuple[int, int, int]] = attrs.Factory(lambda: deque(maxlen=REMEMBERED_BATCHES))
    """(first sequence, records, base offset) of the last batches."""


@attrs.define
class PartitionLog:
    """Appends batches as Kafka does: each sequence once, in order, the newest epoch only."""

    values: list[bytes] = attrs.Factory(list)
    timestamps: list[int] = attrs.Factory(list)
    keys: list[bytes | None] = attrs.Factory(list)
    headers: list[Any] = attrs.Factory(list)
    batches: int = 0
    max_batch_bytes: int = 1 << 30
    producers: dict[int, ProducerEntry] = attrs.Factory(dict)
    forgets_loudly: bool = False
    """Refuse an unknown producer that does not begin at sequence 0, as Kafka did before 2.5."""
    knows_old_duplicates: bool = False
    """Answer DUPLICATE_SEQUENCE_NUMBER to batches that were written long ago, as Kafka did before
    1.1."""

    def append(self, data: bytes | bytearray | memoryview) -> tuple[ErrorCode, int]:
        """Return (NONE, base offset), or why the batch was not appended, and -1."""
        if len(memoryview(data)) > self.max_batch_bytes:
            return ErrorCode.MESSAGE_TOO_LARGE, -1
        (batch,) = read_batches(data)
        records = list(batch)
        if batch.producer_id >= 0:
            entry = self.producers.get(batch.producer_id)
            if entry is None and self.forgets_loudly and batch.base_sequence != 0:
                return ErrorCode.UNKNOWN_PRODUCER_ID, -1
            if entry is None:
                entry = ProducerEntry(batch.producer_epoch, batch.base_sequence)
                self.producers[batch.producer_id] = entry
            if batch.producer_epoch < entry.epoch:
                return ErrorCode.INVALID_PRODUCER_EPOCH, -1
            if batch.producer_epoch > entry.epoch:
                if batch.base_sequence != 0:
                    return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, -1
                entry = ProducerEntry(batch.producer_epoch, 0)
                self.producers[batch.producer_id] = entry
            for sequence, count, base_offset in entry.recent:
                if (sequence, count) == (batch.base_sequence, len(records)):
                    return ErrorCode.NONE, base_offset
            if self.knows_old_duplicates and batch.base_sequence < entry.next_sequence:
                return ErrorCode.DUPLICATE_SEQUENCE_NUMBER, -1
            if batch.base_sequence != entry.next_sequence:
                return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, -1
            entry.next_sequence = (batch.base_sequence + len(records)) % SEQUENCES
            entry.recent.append((batch.base_sequence, len(records), len(self.values)))
        base_offset = len(self.values)
        self.batches += 1
        self.values += [bytes(record.value or b"") for record in records]
        self.keys += [record.key for record in records]
        self.headers += [record.headers for record in records]
        self.timestamps += [record.timestamp for record in records]
        return ErrorCode.NONE, base_offset

    def restart(self) -> None:
        """Remember what Kafka's producer snapshots hold: the last batch of each producer only."""
        for entry in self.producers.values():
            while len(entry.recent) > 1:
                entry.recent.popleft()

    def forget_producers(self) -> None:
        """Lose the memory of every producer, as an expired one is lost."""
        self.producers.clear()
