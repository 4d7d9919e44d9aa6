"""One member of a classic group."""

from __future__ import annotations

from collections.abc import Collection

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.join_group import JoinGroupResponse
from pyk.protocol.messages.sync_group import SyncGroupResponse
from pyk.reference_broker.deferred import Deferred
from pyk.runtime import slotted

Protocols = tuple[tuple[str, bytes], ...]
"""The names of the assignors (for consumers) a member can use, best first, each with the member's
metadata for it.
"""


def join_error(error: ErrorCode, member_id: str = "") -> JoinGroupResponse:
    """Return the response to a JoinGroup that is refused."""
    return JoinGroupResponse(member_id=member_id, protocol_name=None, error_code=error)


@slotted.define(kw_only=True, eq=False)
class Member:
    """A member, and the responses it waits for: at most one JoinGroup and one SyncGroup."""

    member_id: str
    group_instance_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    rebalance_timeout_ms: int
    session_timeout_ms: int
    protocol_type: str
    protocols: Protocols
    assignment: bytes = b""
    is_new: bool = False
    """It joins for the first time, so it does not know its id yet and cannot send heartbeats."""
    knows_assignment: bool = True
    """Whether it was told its assignment; until then it may read what it said that it has."""
    awaiting_join: Deferred[JoinGroupResponse] | None = None
    awaiting_sync: Deferred[SyncGroupResponse] | None = None

    @property
    def is_static(self) -> bool:
        return self.group_instance_id is not None

    @property
    def is_awaiting_join(self) -> bool:
        return self.awaiting_join is not None

    @property
    def protocol_names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.protocols)

    def metadata(self, protocol_name: str) -> bytes:
        """Return the member's metadata for a protocol it supports."""
        return dict(self.protocols)[protocol_name]

    def vote(self, candidates: Collection[str]) -> str:
        """Return the protocol that this member prefers among ``candidates``; it supports one."""
        return next(name for name in self.protocol_names if name in candidates)

    def satisfies_heartbeat(self) -> bool:
        """Return whether the member counts as alive without a heartbeat: it waits for a response.

        A new member may expire all the same: otherwise clients that retry after lost connections
        would leave members behind.
        """
        return not self.is_new and (
            self.awaiting_join is not None or self.awaiting_sync is not None
        )

    def complete_join(self, response: JoinGroupResponse) -> None:
        if self.awaiting_join is not None:
            deferred, self.awaiting_join = self.awaiting_join, None
            deferred.complete(response)

    def complete_sync(self, response: SyncGroupResponse) -> bool:
        """Answer the member's SyncGroup; return whether it was waiting for that."""
        if self.awaiting_sync is None:
            return False
        deferred, self.awaiting_sync = self.awaiting_sync, None
        deferred.complete(response)
        return True
