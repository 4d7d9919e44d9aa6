"""The records of a shard's log that count: compaction, done while the log is read. Pure.

The last value of a key counts. Records of a transaction count from its marker on, and then by their
own offset: a value that was written later, outside of the transaction, stays. A tombstone also
takes what transactions have pending for its key. What is left pending at the end of the log stays
pending. Records without a key all count; they are not gathered here.
"""

from __future__ import annotations

from collections.abc import Iterator
from operator import itemgetter

from .shard_log import NO_PRODUCER_ID, LogEntry, LoggedMarker

LatestRecord = tuple[int, int, bytes, bytes]
"""Where it was in the log, the producer id if it is pending (otherwise -1), key and value."""

_Values = dict[bytes, tuple[int, bytes | None]]


class LatestRecords:
    """Takes the entries of a log in their order; yields what counts of them."""

    def __init__(self) -> None:
        self._count = 0
        self._latest: _Values = {}
        self._pending: dict[int, _Values] = {}

    def add(self, entry: LogEntry) -> None:
        """Take the next entry of the log."""
        if isinstance(entry, LoggedMarker):
            self._end_transaction(entry)
            return
        values = self._latest
        if entry.producer_id != NO_PRODUCER_ID:
            values = self._pending.setdefault(entry.producer_id, {})
        count = self._count
        for key, value in entry.records:
            count += 1
            if key is None:
                continue
            if value is None:
                self._delete(key, count)
            else:
                values[key] = count, value
        self._count = count

    def _delete(self, key: bytes, position: int) -> None:
        self._latest[key] = position, None
        for values in self._pending.values():
            values.pop(key, None)

    def _end_transaction(self, marker: LoggedMarker) -> None:
        ended = self._pending.pop(marker.producer_id, {})
        if not marker.is_commit:
            return
        for key, value in ended.items():
            later = self._latest.get(key)
            if later is None or later[0] < value[0]:
                self._latest[key] = value

    def __iter__(self) -> Iterator[LatestRecord]:
        """Yield the records that count, in the order of the log."""
        found: list[LatestRecord] = []
        for producer_id, values in ((NO_PRODUCER_ID, self._latest), *self._pending.items()):
            found += (
                (position, producer_id, key, value)
                for key, (position, value) in values.items()
                if value is not None
            )
        found.sort(key=itemgetter(0))
        return iter(found)
