"""The state of a log's producers: sequences, epochs, the last few batches, open transactions.

A producer numbers its records. A batch is appended only if it continues where the producer's last
one ended, so nothing is missing and nothing is there twice. A batch that is one of the last five is
a retry: it is answered with the offsets it got the first time.

1. An older epoch than the producer's last is fenced: a newer instance took over.
2. A newer epoch begins again at sequence 0.
3. The same epoch goes on at the next sequence; after 2147483647 comes 0.
4. A producer the log does not know may begin anywhere: its records may be deleted or expired.

The first transactional batch of a producer opens a transaction in this log, and a marker of the
transaction coordinator ends it. Only one may be open at a time, and only transactional batches of
the producer are appended meanwhile. Coordinators append batches of producers without sequence
numbers, so only the epochs of those are checked.

5. A marker of an older producer epoch is refused, and so is one of an older coordinator.
6. With transaction version 2 the coordinator raises the epoch for each marker (KIP-890). A marker
   of the same epoch is refused while a transaction is open: it belongs to the one before. When none
   is open, it is a repetition and changes nothing (KAFKA-19999).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pyk.reference_broker.storage.errors import (
    InvalidProducerEpochError,
    InvalidTransactionStateError,
    OutOfOrderSequenceError,
    TransactionCoordinatorFencedError,
)
from pyk.reference_broker.storage.expected_transactions import ExpectedTransactions
from pyk.reference_broker.storage.producer_entry import (
    MAX_SEQUENCE,
    NO_OFFSET,
    NO_PRODUCER_EPOCH,
    BatchMetadata,
    ProducedBatch,
    ProducerEntry,
)
from pyk.reference_broker.storage.transaction_marker import TransactionMarker
from pyk.reference_broker.storage.unstable_transactions import (
    EndedTransaction,
    UnstableTransactions,
)


class ProducerStates:
    """The producers of one log. ``map_end_offset`` is the offset up to which they are known."""

    def __init__(self, map_end_offset: int = 0) -> None:
        self.map_end_offset = map_end_offset
        self.transactions = UnstableTransactions()
        self.expected = ExpectedTransactions()
        self._producers: dict[int, ProducerEntry] = {}

    def __len__(self) -> int:
        return len(self._producers)

    def __iter__(self) -> Iterator[ProducerEntry]:
        return iter(self._producers.values())

    def get(self, producer_id: int) -> ProducerEntry | None:
        return self._producers.get(producer_id)

    def check(
        self, batch: ProducedBatch, partition: object, *, has_sequence: bool = True
    ) -> BatchMetadata | None:
        """Return the batch that ``batch`` repeats, None if it is to be appended.

        Only the batches of clients have sequence numbers, and are repeated. Raises
        ``OutOfOrderSequenceError``, ``InvalidProducerEpochError`` or
        ``InvalidTransactionStateError``, naming ``partition``.
        """
        entry = self._producers.get(batch.producer_id)
        if entry is None:
            if self.expected.producers and has_sequence:
                self.expected.check(batch, partition, is_known=False)
            return None
        if has_sequence:
            duplicate = entry.find_duplicate(batch)
            if duplicate is not None:
                return duplicate
        _check_epoch(entry, batch, partition)
        if has_sequence:
            if self.expected.producers:
                self.expected.check(batch, partition, is_known=bool(entry.batches))
            _check_sequence(entry, batch, partition)
        if entry.current_txn_first_offset != NO_OFFSET and not batch.is_transactional:
            raise InvalidTransactionStateError(
                f"producer {batch.producer_id} writes to {partition} outside of its transaction, "
                f"which is open since offset {entry.current_txn_first_offset}"
            )
        return None

    def add(self, batch: ProducedBatch, last_offset: int, timestamp: int) -> None:
        """Remember a batch of a producer that was appended up to ``last_offset``.

        ``timestamp`` is its largest; the producer expires some time after it.
        """
        entry = self._producers.get(batch.producer_id)
        if entry is None:
            entry = self._producers[batch.producer_id] = ProducerEntry(batch.producer_id)
        entry.add(batch, last_offset, timestamp)
        if batch.is_transactional and entry.current_txn_first_offset == NO_OFFSET:
            entry.current_txn_first_offset = last_offset - batch.last_offset_delta
            self.transactions.begin(entry)
            self.expected.forget(batch.producer_id)

    def check_marker(
        self, marker: TransactionMarker, transaction_version: int, partition: object
    ) -> None:
        """Raise unless ``marker`` may be appended, naming ``partition``.

        Raises ``InvalidProducerEpochError`` or ``TransactionCoordinatorFencedError``.
        """
        entry = self._producers.get(marker.producer_id)
        if entry is None:
            return
        is_stale = marker.producer_epoch < entry.epoch
        if transaction_version >= 2 and marker.producer_epoch == entry.epoch:
            is_stale = entry.has_open_transaction
        if is_stale:
            raise InvalidProducerEpochError(
                f"a marker ends the transaction of producer {marker.producer_id} in {partition} "
                f"with epoch {marker.producer_epoch}, but the last epoch is {entry.epoch}"
            )
        if marker.coordinator_epoch < entry.coordinator_epoch:
            raise TransactionCoordinatorFencedError(
                f"a coordinator of epoch {marker.coordinator_epoch} ends the transaction of "
                f"producer {marker.producer_id} in {partition}, but one of epoch "
                f"{entry.coordinator_epoch} has taken over"
            )

    def end_transaction(
        self, marker: TransactionMarker, offset: int, timestamp: int
    ) -> EndedTransaction | None:
        """Remember a marker that was appended at ``offset``.

        Returns the transaction that it aborts, None if it commits or if none was open.
        """
        entry = self._producers.get(marker.producer_id)
        if entry is None:
            entry = self._producers[marker.producer_id] = ProducerEntry(marker.producer_id)
        entry.take_epoch(marker.producer_epoch)
        entry.coordinator_epoch = marker.coordinator_epoch
        entry.last_timestamp = timestamp
        self.expected.forget(marker.producer_id)
        if not entry.has_open_transaction:
            return None
        ended = self.transactions.end(entry, offset)
        entry.current_txn_first_offset = NO_OFFSET
        return None if marker.is_commit else ended

    def has_open_transaction(self, producer_id: int, producer_epoch: int) -> bool:
        """Return whether a producer has written in a transaction of this epoch that is open."""
        entry = self._producers.get(producer_id)
        return entry is not None and entry.has_open_transaction and entry.epoch == producer_epoch

    def restore(self, entries: Iterable[ProducerEntry], map_end_offset: int) -> None:
        """Replace everything that is known."""
        self._producers = {entry.producer_id: entry for entry in entries}
        self.map_end_offset = map_end_offset
        self.transactions = UnstableTransactions()
        for entry in sorted(self, key=lambda entry: entry.current_txn_first_offset):
            if entry.has_open_transaction:
                self.transactions.begin(entry)

    def expire(self, now_ms: int, expiration_ms: int) -> int:
        """Forget producers that wrote nothing for that long (``producer.id.expiration.ms``).

        Returns how many are forgotten. A producer inside a transaction is kept.
        """
        self.expected.expire(now_ms, expiration_ms)
        expired = [
            producer_id
            for producer_id, entry in self._producers.items()
            if not entry.has_open_transaction and now_ms - entry.last_timestamp >= expiration_ms
        ]
        for producer_id in expired:
            del self._producers[producer_id]
        return len(expired)


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
