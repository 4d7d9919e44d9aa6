"""The states of a member of a group, and the meaning of the coordinator's error codes. Pure."""

from __future__ import annotations

from enum import Enum

from pyk.clients.errors import InconsistentGroupProtocolError
from pyk.protocol.errors import ErrorCode

COORDINATOR_MOVED = frozenset({ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR})
NOT_A_MEMBER = frozenset({ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION})
TRY_AGAIN = COORDINATOR_MOVED | {
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.REBALANCE_IN_PROGRESS,
    ErrorCode.REQUEST_TIMED_OUT,
}


class MemberState(Enum):
    """The state of the member; the diagram in :mod:`.membership` shows the moves."""

    UNSUBSCRIBED = "unsubscribed"
    JOINING = "joining"
    DIVIDING = "dividing"
    SYNCING = "syncing"
    STABLE = "stable"
    REVOKING = "revoking"
    AWAY = "away"
    FAILED = "failed"


# The states in which the coordinator expects heartbeats: not while a JoinGroup or SyncGroup waits
# there.
BEATING = frozenset({MemberState.DIVIDING, MemberState.STABLE, MemberState.REVOKING})
JOINING = frozenset({MemberState.JOINING, MemberState.DIVIDING, MemberState.SYNCING})
REBALANCING = JOINING | {MemberState.REVOKING}
OUTSIDE = frozenset({MemberState.UNSUBSCRIBED, MemberState.AWAY, MemberState.FAILED})


def inconsistent_protocol_error(reason: str) -> InconsistentGroupProtocolError:
    """Return the error of a member that shares no assignor with its group."""
    return InconsistentGroupProtocolError(
        f"{reason}: all members of a group must have a partition_assignment_strategy in common"
    )
