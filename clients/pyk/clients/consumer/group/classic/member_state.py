"""Where a member of a group stands, and what the codes of its coordinator mean for it. Pure."""

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
REBALANCING = JOINING | {MemberState.REVOKING}
OUTSIDE = frozenset({MemberState.UNSUBSCRIBED, MemberState.AWAY, MemberState.FAILED})


def inconsistent_protocol_error(reason: str) -> InconsistentGroupProtocolError:
    """Return the error of a member that shares no assignor with its group."""
    return InconsistentGroupProtocolError(
        f"{reason}: every member of a group needs one partition_assignment_strategy in common"
    )
