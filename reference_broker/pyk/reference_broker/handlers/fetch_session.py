"""Incremental fetch sessions (KIP-227): the broker remembers which partitions a client fetches.

A client opens a session with a full fetch (epoch 0) and from then on names only what changed; the
response holds only partitions with news. Session ids are hard to guess, epochs count the requests,
and a client that has lost count is told so and starts again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING
from uuid import UUID

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.fetch import FetchPartition, FetchRequest, PartitionData
from pyk.reference_broker.errors import ApiError
from pyk.runtime import slotted

if TYPE_CHECKING:
    from pyk.reference_broker.partition import Partition

NO_SESSION = 0
INITIAL_EPOCH = 0
FINAL_EPOCH = -1
MAX_EPOCH = 2**31 - 1
EVICTION_SECONDS = 120.0
"""A session may be evicted if unused for this long, or this old and smaller than a new one."""

PartitionKey = tuple[str, UUID, int]
"""Topic name, topic id and partition number; of name and id the version knows only one."""


@slotted.define(eq=False)
class FetchedPartition:
    """A partition of a fetch, and what the client was last told about it."""

    topic: str
    topic_id: UUID
    asked: FetchPartition
    partition: Partition | None = None
    """The partition itself; looked up again once this broker does not lead it."""
    told_high_watermark: int = -1
    told_log_start_offset: int = -1

    @property
    def key(self) -> PartitionKey:
        return (self.topic, self.topic_id, self.asked.partition)

    def has_news(self, data: PartitionData) -> bool:
        """Return whether an incremental response must hold ``data``, and remember it as told."""
        has_news = (
            len(data.records) > 0
            or data.error_code != 0
            or data.high_watermark != self.told_high_watermark
            or data.log_start_offset != self.told_log_start_offset
            or data.diverging_epoch.epoch >= 0
        )
        # After an error the client gets the partition again as soon as that is over.
        is_error = data.error_code != 0
        self.told_high_watermark = -1 if is_error else data.high_watermark
        self.told_log_start_offset = data.log_start_offset
        return has_news


@slotted.define(eq=False)
class FetchSession:
    """The partitions one client fetches, in the order they are read."""

    session_id: int
    uses_topic_ids: bool
    created: float
    last_used: float
    partitions: dict[PartitionKey, FetchedPartition]
    epoch: int = 1
    """The epoch that the next request must have."""

    def update(self, request: FetchRequest) -> None:
        """Apply the changes of an incremental request."""
        for forgotten in request.forgotten_topics_data:
            for number in forgotten.partitions:
                self.partitions.pop((forgotten.topic, forgotten.topic_id, number), None)
        for fetched in partitions_of(request):
            known = self.partitions.get(fetched.key)
            if known is None:
                self.partitions[fetched.key] = fetched
            else:
                known.asked = fetched.asked

    def move_to_end(self, fetched: FetchedPartition) -> None:
        """Read this partition last next time: it had its turn, and the response has a limit."""
        self.partitions[fetched.key] = self.partitions.pop(fetched.key)


@slotted.frozen
class FetchContext:
    """The partitions that one fetch reads, and how its response is made."""

    partitions: tuple[FetchedPartition, ...]
    session: FetchSession | None = None
    is_incremental: bool = False

    @property
    def session_id(self) -> int:
        return NO_SESSION if self.session is None else self.session.session_id

    def select(
        self, read: Iterable[tuple[FetchedPartition, PartitionData]]
    ) -> list[tuple[FetchedPartition, PartitionData]]:
        """Return the partitions that belong in the response."""
        if self.session is None:
            return list(read)
        selected = []
        for fetched, data in read:
            if fetched.has_news(data) or not self.is_incremental:
                selected.append((fetched, data))
                if len(data.records) and fetched.key in self.session.partitions:
                    self.session.move_to_end(fetched)
        return selected


class FetchSessions:
    """All fetch sessions of a broker: at most ``slots``."""

    def __init__(self, slots: int, new_id: Callable[[], int]) -> None:
        self._slots = slots
        self._new_id = new_id
        self._sessions: dict[int, FetchSession] = {}

    def __len__(self) -> int:
        return len(self._sessions)

    def begin(self, request: FetchRequest, *, uses_topic_ids: bool, now: float) -> FetchContext:
        """Return what ``request`` reads; raise :class:`ApiError` if it is not in its session."""
        if request.session_epoch in (INITIAL_EPOCH, FINAL_EPOCH):
            return self._full(request, uses_topic_ids=uses_topic_ids, now=now)
        session = self._sessions.get(request.session_id)
        if session is None:
            raise ApiError(ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        if session.epoch != request.session_epoch:
            raise ApiError(ErrorCode.INVALID_FETCH_SESSION_EPOCH)
        if session.uses_topic_ids != uses_topic_ids:
            raise ApiError(ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR)
        session.update(request)
        session.last_used = now
        # Recently used ones come last, so that the first is the one to evict.
        self._sessions[session.session_id] = self._sessions.pop(session.session_id)
        session.epoch = 1 if session.epoch == MAX_EPOCH else session.epoch + 1
        if not session.partitions:
            del self._sessions[session.session_id]
            return FetchContext(())
        return FetchContext(tuple(session.partitions.values()), session, is_incremental=True)

    def throttled(self, what: FetchContext) -> int:
        """Return the session that an empty response to a throttled fetch has.

        As in Kafka, a session does not begin with it.
        """
        if what.is_incremental:
            return what.session_id
        self._sessions.pop(what.session_id, None)
        return NO_SESSION

    def _full(self, request: FetchRequest, *, uses_topic_ids: bool, now: float) -> FetchContext:
        self._sessions.pop(request.session_id, None)
        partitions = {fetched.key: fetched for fetched in partitions_of(request)}
        in_order = tuple(partitions.values())
        wants_session = request.session_epoch == INITIAL_EPOCH and bool(partitions)
        if not wants_session or not self._has_room(len(partitions), now):
            return FetchContext(in_order)
        session = FetchSession(self._unused_id(), uses_topic_ids, now, now, partitions)
        self._sessions[session.session_id] = session
        return FetchContext(in_order, session)

    def _has_room(self, size: int, now: float) -> bool:
        """Return whether a session of that size gets a slot, evicting another if need be."""
        if len(self._sessions) < self._slots:
            return True
        if not self._sessions:
            return False
        oldest = next(iter(self._sessions.values()))
        if now - oldest.last_used > EVICTION_SECONDS:
            del self._sessions[oldest.session_id]
            return True
        old = [s for s in self._sessions.values() if now - s.created > EVICTION_SECONDS]
        smallest = min(old, key=lambda session: len(session.partitions), default=None)
        if smallest is None or len(smallest.partitions) >= size:
            return False
        del self._sessions[smallest.session_id]
        return True

    def _unused_id(self) -> int:
        while True:
            session_id = self._new_id()
            if session_id != NO_SESSION and session_id not in self._sessions:
                return session_id


def partitions_of(request: FetchRequest) -> list[FetchedPartition]:
    """Return the partitions that a request names."""
    return [
        FetchedPartition(topic.topic, topic.topic_id, partition)
        for topic in request.topics
        for partition in topic.partitions
    ]
