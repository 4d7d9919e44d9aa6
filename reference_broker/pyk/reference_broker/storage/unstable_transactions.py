"""The transactions of a log that hold back its last stable offset. Pure.

A transaction is *unstable* from its first batch on until the high watermark has passed its marker:
before that the marker may be lost, and with it the outcome. Readers of committed records read up to
the first offset of the oldest one.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from pyk.reference_broker.storage.producer_entry import NO_OFFSET, ProducerEntry


class EndedTransaction(NamedTuple):
    """A transaction that a marker ended."""

    producer_id: int
    first_offset: int
    last_offset: int
    """The offset of the marker."""
    last_stable_offset: int
    """The first offset of the oldest open transaction; the one after the marker without any."""


class UnstableTransactions:
    """The open transactions of a log, and those that have ended above the high watermark."""

    def __init__(self) -> None:
        self.open: dict[int, ProducerEntry] = {}  # in the order of their first offsets
        self.ended: deque[EndedTransaction] = deque()  # in the order of their markers

    def begin(self, entry: ProducerEntry) -> None:
        """Note that a producer opens a transaction, at the end of the log."""
        self.open[entry.producer_id] = entry

    def end(self, entry: ProducerEntry, marker_offset: int) -> EndedTransaction:
        """Note that a marker ends the open transaction of a producer."""
        del self.open[entry.producer_id]
        stable = next(iter(self.open.values())).current_txn_first_offset if self.open else None
        ended = EndedTransaction(
            entry.producer_id,
            entry.current_txn_first_offset,
            marker_offset,
            marker_offset + 1 if stable is None else stable,
        )
        self.ended.append(ended)
        return ended

    def first_offset(self, high_watermark: int) -> int:
        """Return the first offset of all unstable transactions, -1 without any.

        Transactions whose markers are below the high watermark are forgotten.
        """
        while self.ended and self.ended[0].last_offset < high_watermark:
            self.ended.popleft()
        first_offsets = [ended.first_offset for ended in self.ended]
        if self.open:
            first_offsets.append(next(iter(self.open.values())).current_txn_first_offset)
        return min(first_offsets, default=NO_OFFSET)
