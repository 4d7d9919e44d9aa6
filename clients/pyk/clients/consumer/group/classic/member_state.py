"""The states of a member of a group, and the meaning of the coordinator's error codes. Pure."""

from __future__ import annotations

from enum import Enum

from pyk.clients.consumer.group.classic.requests import MemberOptions
from pyk.clients.errors import (
    InconsistentGroupProtocolError,
    KafkaError,
    UnknownMemberIdError,
    error_for,
)
from pyk.protocol.api_keys import ApiKey
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


def refusal(code: ErrorCode, request: str, options: MemberOptions) -> KafkaError:
    """Return the error of a request that the coordinator has refused.

    A member that has just joined and is unknown when it syncs was too slow: the coordinator removes
    who does not sync within the rebalance timeout, which is ``max_poll_interval_ms``.
    """
    if code is ErrorCode.UNKNOWN_MEMBER_ID and request == "sync":
        return UnknownMemberIdError(
            f"the coordinator of group {options.group_id!r} removed this member before its "
            f"SyncGroup came; max_poll_interval_ms={round(options.max_poll_interval * 1000)} is "
            "also the time that members have for it: raise it if it is short",
            group_id=options.group_id,
        )
    return error_for(code, group_id=options.group_id, api_key=ApiKey.JOIN_GROUP)
