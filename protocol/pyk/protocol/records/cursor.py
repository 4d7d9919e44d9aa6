"""Walk the records of one partition in a fetch response, from the requested offset on.

Records that the application must not see are left out here: those below the offset, control
batches, and with ``read_committed`` those of aborted transactions. The offset moves past all of it,
so that a log of nothing but markers or compacted gaps is passed and not fetched for ever.

An aborted transaction begins at the ``first_offset`` that the response lists and ends at its
abort marker; between the two every transactional batch of its producer id is aborted. Nothing is
assumed about the order of that list, and a marker without a transaction is ignored.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable

from pyk.protocol.records.batch import RecordBatch, is_legacy, parse_batch
from pyk.protocol.records.compression import DEFAULT_MAX_DECOMPRESSED_BYTES
from pyk.protocol.records.errors import UnsupportedMagicError
from pyk.protocol.records.reader import RecordSpan
from pyk.protocol.records.record import RecordOrigin

_ABORT_MARKER = 0
_KNOWN_CONTROL_TYPES = range(7)


class FetchedRecords:
    """The records of one partition in one fetch response, handed out in spans.

    ``data`` is what the response holds and is kept as long as a span of it lives.
    ``aborted_transactions`` are its ``(producer_id, first_offset)`` pairs, or None to read
    uncommitted. The records lead back to ``owner``. One thread at a time.
    """

    __slots__ = (
        "_aborted_producer_ids",
        "_aborted_transactions",
        "_data",
        "_max_decompressed_bytes",
        "_position",
        "_reads_committed",
        "_size",
        "_unread",
        "next_offset",
        "owner",
        "partition",
        "topic",
        "unknown_control_batches",
    )

    def __init__(
        self,
        topic: str,
        partition: int,
        data: bytes | bytearray | memoryview,
        fetch_offset: int,
        *,
        aborted_transactions: Iterable[tuple[int, int]] | None = None,
        max_decompressed_bytes: int = DEFAULT_MAX_DECOMPRESSED_BYTES,
    ) -> None:
        self.topic = topic
        self.partition = partition
        self.next_offset = fetch_offset
        self.owner: object = None
        self.unknown_control_batches = 0
        self._data = _flat(data)
        self._position = 0
        self._size = len(self._data)
        self._unread: RecordSpan | None = None
        self._max_decompressed_bytes = max_decompressed_bytes
        self._reads_committed = aborted_transactions is not None
        self._aborted_producer_ids: set[int] = set()
        self._aborted_transactions = [
            (first, producer) for producer, first in aborted_transactions or ()
        ]
        if self._aborted_transactions:
            heapq.heapify(self._aborted_transactions)

    def is_at_end(self) -> bool:
        """Return whether all was handed out: :meth:`next_span` would return None."""
        return self._unread is None and self._position == self._size

    def next_span(self, max_records: int) -> RecordSpan | None:
        """Return at most ``max_records`` (at least 1) of the records that follow, None after the
        last.

        ``next_offset`` is then the offset after them. Raises a ``RecordBatchError`` when the
        next batch cannot be read, again at every call: the position stays before that batch.
        """
        if max_records < 1:
            raise ValueError(f"max_records={max_records}: a span has at least one record")
        while self._unread is None:
            try:
                batch = parse_batch(self._data, self._position, self._max_decompressed_bytes)
            except UnsupportedMagicError:
                # Checked only now, so that batches of today do not pay for the old formats.
                if not is_legacy(self._data, self._position):
                    raise
                if not self._read_legacy():
                    return None
                continue
            if batch is None:
                return None
            self._unread = self._read(batch)
            self._position += batch.size_in_bytes
        span = self._unread
        if span.count > max_records:
            span, self._unread = span.split(max_records)
        else:
            self._unread = None
        self.next_offset = span.next_offset
        return span

    def _read(self, batch: RecordBatch) -> RecordSpan | None:
        """Return what the application may see of ``batch``; move past it if that is nothing."""
        batch.check()
        last_offset = batch.base_offset + batch.last_offset_delta
        if self._is_visible(batch) and last_offset >= self.next_offset:
            origin = RecordOrigin(
                self.topic,
                self.partition,
                batch.partition_leader_epoch,
                batch.timestamp_type,
                self.owner,
            )
            span = batch.open().span(origin, self.next_offset)
            if span.count:
                return span
        self.next_offset = max(self.next_offset, last_offset + 1)
        return None

    def _read_legacy(self) -> bool:
        """Read a batch of magic 0 or 1, which has no part in transactions; False for a partial."""
        from pyk.protocol.records.legacy import parse_legacy_batch

        batch = parse_legacy_batch(self._data, self._position, self._max_decompressed_bytes)
        if batch is None:
            return False
        batch.check()
        if batch.last_offset >= self.next_offset:
            origin = RecordOrigin(self.topic, self.partition, -1, batch.timestamp_type, self.owner)
            span = batch.open().span(origin, self.next_offset)
            self._unread = span if span.count else None
        if self._unread is None:
            self.next_offset = max(self.next_offset, batch.next_offset)
        self._position += batch.size_in_bytes
        return True

    def _is_visible(self, batch: RecordBatch) -> bool:
        if batch.is_control:
            self._end_transaction(batch)
            return False
        if not (self._reads_committed and batch.is_transactional):
            return True
        self._begin_aborted_transactions(batch.last_offset)
        return batch.producer_id not in self._aborted_producer_ids

    def _begin_aborted_transactions(self, last_offset: int) -> None:
        while self._aborted_transactions and self._aborted_transactions[0][0] <= last_offset:
            self._aborted_producer_ids.add(heapq.heappop(self._aborted_transactions)[1])

    def _end_transaction(self, batch: RecordBatch) -> None:
        control_type = control_type_of(batch)
        if control_type not in _KNOWN_CONTROL_TYPES:
            self.unknown_control_batches += 1
        if control_type == _ABORT_MARKER and self._reads_committed:
            self._begin_aborted_transactions(batch.last_offset)
            self._aborted_producer_ids.discard(batch.producer_id)


def _flat(data: bytes | bytearray | memoryview) -> memoryview:
    """Return a view of single bytes; what a response holds is one already."""
    if isinstance(data, memoryview) and data.nbytes == len(data) and data.c_contiguous:
        return data
    return memoryview(data).cast("B")


def control_type_of(batch: RecordBatch) -> int | None:
    """Return a control batch's type (0 abort, 1 commit, 2 to 6 of KRaft), None if it has none."""
    record = next(iter(batch), None)
    if record is None or record.key is None or len(record.key) < 4:
        return None
    return int.from_bytes(record.key[2:4], "big", signed=True)
