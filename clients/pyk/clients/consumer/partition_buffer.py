"""One assigned partition as the application reads it: its place, and what is fetched of it.

Three offsets matter:

* ``position``: the next record that the application gets.
* ``finished``: where another member would go on, because the application is done with all before.
  What it got last it is not done with: that is what at-least-once means.
* ``fetch_offset``: where the next fetch begins, -1 while only reading can tell.
"""

from __future__ import annotations

from collections import deque

from pyk.clients.topic_partition import TopicPartition
from pyk.protocol.records.cursor import FetchedRecords
from pyk.protocol.records.reader import RecordSpan

UNKNOWN = -1


class PartitionBuffer:
    """One assigned partition: its place, and what is fetched of it."""

    def __init__(self, topic_partition: TopicPartition) -> None:
        self.topic_partition = topic_partition
        self.position = UNKNOWN
        self.position_epoch = UNKNOWN
        self.finished = UNKNOWN
        self.finished_epoch = UNKNOWN
        self.fetch_offset = UNKNOWN
        self.version = 0
        self.is_paused = False
        self.is_held = False
        self.is_queued = False
        self.is_unreadable = False
        self.error: BaseException | None = None
        self.error_lasts = False
        self.buffered_bytes = 0
        self.fetches: deque[tuple[FetchedRecords, int]] = deque()
        self.is_opened = False
        self.unread: RecordSpan | None = None

    @property
    def has_room(self) -> bool:
        """Tell whether to fetch more: nothing waits behind the fetch that is being read."""
        return len(self.fetches) <= (1 if self.is_opened else 0)

    def clear(self) -> None:
        """Drop what is fetched, and void what the application is about to take."""
        self.version += 1
        self.fetch_offset = self.position
        self.fetches = deque()
        self.is_opened = False
        self.unread = None
        self.error = None
        self.is_unreadable = False
        self.buffered_bytes = 0

    def has_something(self) -> bool:
        """Tell whether the application may take a record, or an error, now."""
        if self.is_paused or self.is_held:
            return False
        return self.unread is not None or bool(self.fetches) or self.error is not None
