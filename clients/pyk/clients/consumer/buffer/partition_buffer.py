"""The buffer of one assigned partition, which event loop and application share.

Three offsets matter:

* ``position``: the next record that the application gets.
* ``finished``: where another member would go on, because the application is done with all before.
The records that it got last are not finished: that is what at-least-once means.
* ``fetch_offset``: where the next fetch begins, -1 while only reading can tell.

Either side changes a field only under the lock of the fetch buffer. What the application has taken
from here, the fetch that it reads and the span that it iterates, is its own: it reads them without
a lock, and records under the lock how far it came, if ``version`` is still the one that it began
with.
"""

from __future__ import annotations

from collections import deque

from pyk.clients.consumer.records.assignment import Assignment
from pyk.clients.topic_partition import TopicPartition
from pyk.protocol.records.cursor import FetchedRecords
from pyk.protocol.records.reader import RecordIterator, RecordSpan

UNKNOWN = -1
# How many fetches of a partition may wait for the application. With one, the next would leave only
# after the application has come for it, and until then records at the broker would have to wait.
MAX_FETCHES = 2


class OpenSpan:
    """The span that is being iterated. Only the application's side changes it.

    It stays valid as long as its partition names it as its ``open_span``.
    """

    def __init__(
        self, partition: PartitionBuffer | None, span: RecordSpan | None, iterator: RecordIterator
    ) -> None:
        self.partition = partition
        self.span = span
        self.whole = span
        """The fetched records that ``span`` is the beginning of."""
        self.iterator = iterator
        self.taken_before = 0
        """How many records iteration had given before it came here."""
        self.in_hand = UNKNOWN
        """The offset of the record that the application works on. The event loop reads it at any
        time: all before it is finished."""


class PartitionBuffer:
    """One assigned partition: its position, and what is fetched of it."""

    def __init__(self, topic_partition: TopicPartition, version: int) -> None:
        self.topic_partition = topic_partition
        self.assignment = Assignment(topic_partition)
        self.version = version
        """Unique among the versions of all partitions."""
        self.next_offset = UNKNOWN
        """The position, without the progress of an open span."""
        self.position_epoch = UNKNOWN
        self.begun = UNKNOWN
        """The position that was set last."""
        self.finished = UNKNOWN
        self.finished_epoch = UNKNOWN
        self.fetch_offset = UNKNOWN
        self.is_paused = False
        self.is_held = False
        self.is_queued = False
        self.is_unreadable = False
        self.error: BaseException | None = None
        self.error_lasts = False
        self.buffered_bytes = 0
        self.fetches: deque[tuple[FetchedRecords, int]] = deque()
        self.is_opened = False
        """Whether the application reads the first of the fetches."""
        self.unread: RecordSpan | None = None
        self.open_span: OpenSpan | None = None

    @property
    def position(self) -> int:
        """The offset of the next record that the application gets, -1 while unknown.

        It needs no lock: a concurrent move is seen either before or after.
        """
        span = self.open_span
        in_hand = span.in_hand if span is not None else UNKNOWN
        return in_hand + 1 if in_hand != UNKNOWN else self.next_offset

    @property
    def has_handed_out(self) -> bool:
        """Return whether the application got anything since the position was set."""
        return self.position != self.begun

    @property
    def has_room(self) -> bool:
        """Return whether to fetch more: at most one fetch is buffered."""
        return len(self.fetches) < MAX_FETCHES

    def clear(self, version: int) -> None:
        """Drop what is fetched, and invalidate what the application has taken and not handed
        out."""
        self.next_offset = self.position
        self.open_span = None
        self.version = version
        self.fetch_offset = self.next_offset
        self.fetches = deque()
        self.is_opened = False
        self.unread = None
        self.error = None
        self.is_unreadable = False
        self.buffered_bytes = 0

    def has_something(self) -> bool:
        """Return whether the application may take a record, or an error, now."""
        if self.is_paused or self.is_held:
            return False
        return self.unread is not None or bool(self.fetches) or self.error is not None

    def finish(self) -> None:
        """Count all that the application got as finished."""
        self.finished = self.next_offset
        self.finished_epoch = self.position_epoch

    def rewind(self) -> None:
        """Go back to the last finished record, and let the rest be fetched again."""
        self.next_offset = self.finished
        self.position_epoch = self.finished_epoch
        self.unread = None
        self.drop_fetches()

    def open_fetch(self) -> FetchedRecords | None:
        """Return the fetch that is read now, None if no fetch is buffered."""
        if not self.fetches:
            return None
        self.is_opened = True
        return self.fetches[0][0]

    def drop_fetch(self) -> None:
        """Drop the first fetch, which has been read."""
        _, size = self.fetches.popleft()
        self.buffered_bytes -= size
        self.is_opened = False

    @property
    def is_read(self) -> bool:
        """Return whether the application has taken all that was fetched."""
        return not self.fetches and self.unread is None and self.open_span is None

    def fetch_on_if_read(self) -> None:
        """Set the fetch offset from the position, once everything fetched is read."""
        if self.fetch_offset == UNKNOWN and self.is_read:
            self.fetch_offset = self.next_offset

    def drop_fetches(self) -> None:
        """Let everything from the position on be fetched again."""
        self.fetches = deque()
        self.buffered_bytes = 0
        self.is_opened = False
        self.fetch_offset = self.next_offset
