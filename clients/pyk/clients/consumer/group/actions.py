"""What a member of a group wants done: requests to send, and what the application must hear."""

from __future__ import annotations

import attrs

from pyk.clients.topic_partition import TopicPartition
from pyk.protocol.messages.heartbeat import HeartbeatRequest
from pyk.protocol.messages.join_group import JoinGroupRequest
from pyk.protocol.messages.leave_group import LeaveGroupRequest
from pyk.protocol.messages.sync_group import SyncGroupRequest

Partitions = frozenset[TopicPartition]


@attrs.frozen
class Wait:
    """Nothing to do before ``until`` (monotonic seconds), or before something happens if None."""

    until: float | None


@attrs.frozen
class Join:
    """Send this; the answer may take as long as the slowest member."""

    request: JoinGroupRequest
    timeout_ms: int


@attrs.frozen
class Divide:
    """Learn how many partitions these topics have, then call ``divided``: this member leads."""

    topics: frozenset[str]
    uses_racks: bool
    """Whether a member has a rack, so that those of the replicas matter."""


@attrs.frozen
class Sync:
    """Send this; the answer may take as long as the leader."""

    request: SyncGroupRequest
    timeout_ms: int


@attrs.frozen
class Heartbeat:
    """Send this."""

    request: HeartbeatRequest
    timeout_ms: int


@attrs.frozen
class Leave:
    """Send this, and do not care for the answer."""

    request: LeaveGroupRequest


@attrs.frozen
class ForgetCoordinator:
    """Look for the coordinator again before the next request."""


@attrs.frozen(eq=False)
class Assign:
    """These partitions are new; ``owned`` are all. Compared by identity, like its siblings."""

    added: Partitions
    owned: Partitions


@attrs.frozen(eq=False)
class Revoke:
    """The application must stop with these; then call ``revoked``."""

    partitions: Partitions


@attrs.frozen(eq=False)
class Lose:
    """These may already belong to another member: nothing of them can be committed any more."""

    partitions: Partitions


Action = (
    Wait | Join | Divide | Sync | Heartbeat | Leave | ForgetCoordinator | Assign | Revoke | Lose
)
ApplicationEvent = Assign | Revoke | Lose
