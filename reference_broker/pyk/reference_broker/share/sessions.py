"""Share sessions: the partitions that a member of a share group reads at this broker. Pure.

As with fetch sessions (KIP-227), a request names only what changes, and epochs count the requests.
But a share session has no id: its group and member are its name, and it is more than a shortcut.
When it ends, by its final epoch or with the connection that it began on, everything that the member
has acquired here is released.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple
from uuid import UUID

from pyk.protocol.errors import ErrorCode
from pyk.reference_broker.errors import ApiError
from pyk.runtime import slotted

INITIAL_EPOCH = 0
FINAL_EPOCH = -1
MAX_EPOCH = 2**31 - 1


class SessionName(NamedTuple):
    """The member whose session it is."""

    group_id: str
    member_id: str


class PartitionOfTopic(NamedTuple):
    """A partition as requests name it."""

    topic_id: UUID
    number: int


@slotted.define(eq=False)
class SharedPartition:
    """A partition of a session."""

    name: PartitionOfTopic
    topic: str | None = None
    """The name of the topic, once it is known."""
    must_be_told: bool = False
    """Whether the next response has it even if there is nothing new."""

    def has_news(self, *, has_records: bool, has_error: bool) -> bool:
        """Return whether a response must have the partition, and remember that it was told."""
        was_expected, self.must_be_told = self.must_be_told, has_error
        return has_records or has_error or was_expected


@slotted.define(eq=False)
class ShareSession:
    """The partitions of one member, in the order in which they are read."""

    name: SessionName
    connection_id: int | None
    partitions: dict[PartitionOfTopic, SharedPartition]
    epoch: int = 1
    """The epoch that the next request must have."""

    def advance(self, epoch: int) -> None:
        """Count a request; raise :class:`ApiError` if it is not the next one."""
        if epoch != self.epoch:
            raise ApiError(ErrorCode.INVALID_SHARE_SESSION_EPOCH)
        self.epoch = 1 if epoch == MAX_EPOCH else epoch + 1

    def move_to_end(self, name: PartitionOfTopic) -> None:
        """Read this partition last next time: it had its turn."""
        partition = self.partitions.pop(name, None)
        if partition is not None:
            self.partitions[name] = partition


@slotted.frozen
class ShareContext:
    """The partitions that one request reads, and how its response is made."""

    partitions: tuple[SharedPartition, ...] = ()
    session: ShareSession | None = None
    is_incremental: bool = False

    def in_order(self, epoch: int) -> tuple[SharedPartition, ...]:
        """Return the partitions, begun with another one by each request."""
        if not self.partitions:
            return ()
        first = epoch % len(self.partitions)
        return self.partitions[first:] + self.partitions[:first]

    def must_have(self, partition: SharedPartition, *, has_records: bool, has_error: bool) -> bool:
        """Return whether the response must have a partition that was read."""
        has_news = partition.has_news(has_records=has_records, has_error=has_error)
        if has_records and self.session is not None and self.is_incremental:
            self.session.move_to_end(partition.name)
        return has_news or not self.is_incremental


class ShareSessions:
    """All share sessions of a broker: at most ``limit``."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._sessions: dict[SessionName, ShareSession] = {}

    def __len__(self) -> int:
        return len(self._sessions)

    def begin(
        self,
        name: SessionName,
        epoch: int,
        *,
        named: Iterable[PartitionOfTopic],
        forgotten: Iterable[PartitionOfTopic],
        acknowledges: bool,
        connection_id: int | None = None,
    ) -> ShareContext:
        """Return what a ShareFetch reads; raise :class:`ApiError` if it is not in its session."""
        if epoch == FINAL_EPOCH:
            self._get(name)
            return ShareContext()
        if epoch == INITIAL_EPOCH:
            if acknowledges:
                raise ApiError(ErrorCode.INVALID_REQUEST)
            return self._open(name, named, connection_id)
        session = self._get(name)
        session.advance(epoch)
        for each in named:
            session.partitions.setdefault(each, SharedPartition(each, must_be_told=True))
        for each in forgotten:
            session.partitions.pop(each, None)
        return ShareContext(tuple(session.partitions.values()), session, is_incremental=True)

    def acknowledge(self, name: SessionName, epoch: int) -> None:
        """Count a ShareAcknowledge; raise :class:`ApiError` if it is not in its session."""
        if epoch == INITIAL_EPOCH:
            raise ApiError(ErrorCode.INVALID_SHARE_SESSION_EPOCH)
        session = self._get(name)
        if epoch != FINAL_EPOCH:
            session.advance(epoch)

    def close(self, name: SessionName) -> bool:
        """End a session; return False if there was none."""
        return self._sessions.pop(name, None) is not None

    def of_connection(self, connection_id: int) -> list[SessionName]:
        """Return the sessions that began on a connection."""
        return [
            name
            for name, session in self._sessions.items()
            if session.connection_id == connection_id
        ]

    def has_group(self, group_id: str) -> bool:
        """Return whether a member of the group has a session."""
        return any(name.group_id == group_id for name in self._sessions)

    def _get(self, name: SessionName) -> ShareSession:
        session = self._sessions.get(name)
        if session is None:
            raise ApiError(ErrorCode.SHARE_SESSION_NOT_FOUND)
        return session

    def _open(
        self, name: SessionName, named: Iterable[PartitionOfTopic], connection_id: int | None
    ) -> ShareContext:
        self._sessions.pop(name, None)
        if len(self._sessions) >= self._limit:
            raise ApiError(ErrorCode.SHARE_SESSION_LIMIT_REACHED)
        partitions = {each: SharedPartition(each) for each in named}
        session = ShareSession(name, connection_id, partitions)
        self._sessions[name] = session
        return ShareContext(tuple(partitions.values()), session)
