"""Where a member of a group stands, and what the codes of its coordinator mean for it. Pure."""

from __future__ import annotations

from enum import Enum

from pyk.protocol.errors import ErrorCode

COORDINATOR_MOVED = frozenset({ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR})
NOT_A_MEMBER = frozenset({ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION})
TRY_AGAIN = COORDINATOR_MOVED | {
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.REBALANCE_IN_PROGRESS,
    ErrorCode.REQUEST_TIMED_OUT,
}


class MemberState(Enum):
    """Where the member stands; the diagram above shows the moves."""

    UNSUBSCRIBED = "unsubscribed"
    JOINING = "joining"
    DIVIDING = "dividing"
    SYNCING = "syncing"
    STABLE = "stable"
    REVOKING = "revoking"
    AWAY = "away"
    FAILED = "failed"


# The coordinator expects heartbeats here. While a JoinGroup or SyncGroup waits there it does not.
BEATING = frozenset({MemberState.DIVIDING, MemberState.STABLE, MemberState.REVOKING})
JOINING = frozenset({MemberState.JOINING, MemberState.DIVIDING, MemberState.SYNCING})
OUTSIDE = frozenset({MemberState.UNSUBSCRIBED, MemberState.AWAY, MemberState.FAILED})
