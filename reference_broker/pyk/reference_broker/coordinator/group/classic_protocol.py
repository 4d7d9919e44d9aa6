"""JoinGroup, SyncGroup, Heartbeat and LeaveGroup, for the type of group that they meet."""

from __future__ import annotations

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.heartbeat import HeartbeatRequest
from pyk.protocol.messages.sync_group import SyncGroupRequest
from pyk.reference_broker.coordinator.decision import NOTHING, Decision
from pyk.runtime.timers import Moment

from .consumer.classic_requests import ClassicRequests
from .consumer.consumer_group import ConsumerGroup
from .consumer.membership import ConsumerMembership
from .groups import Groups
from .membership import GroupMembership, Join
from .responses import DeferredSync
from .share.share_group import ShareGroup
from .streams.streams_group import StreamsGroup


class ClassicProtocol:
    """Hands requests of classic members to their group: a classic one, or a consumer group."""

    def __init__(
        self,
        groups: Groups,
        classic: GroupMembership,
        consumer: ClassicRequests,
        consumer_members: ConsumerMembership,
    ) -> None:
        self._groups = groups
        self._classic = classic
        self._consumer = consumer
        self._consumer_members = consumer_members

    def join(self, join: Join) -> Decision:
        """Let a member join or rejoin; the response comes when it is assigned, or may assign."""
        request = join.request
        group = self._groups.get(request.group_id)
        if not isinstance(group, ConsumerGroup) or group.is_empty:
            return self._classic.join(join)
        if not self._classic.may_have_session(request.session_timeout_ms):
            return join.refuse(ErrorCode.INVALID_SESSION_TIMEOUT)
        return self._consumer.join(group, join)

    def sync(self, request: SyncGroupRequest, deferred: DeferredSync, moment: Moment) -> Decision:
        """Give a member its assignment."""
        group = self._groups.get(request.group_id)
        if isinstance(group, ConsumerGroup):
            return self._consumer.sync(group, request, deferred, moment)
        return self._classic.sync(request, deferred, moment)

    def heartbeat(self, request: HeartbeatRequest, moment: Moment) -> tuple[ErrorCode, Decision]:
        """Prolong a session; return the error that the member must act on."""
        group = self._groups.get(request.group_id)
        if isinstance(group, ConsumerGroup):
            return self._consumer.heartbeat(group, request, moment)
        code = self._classic.heartbeat(
            request.group_id,
            request.member_id,
            request.group_instance_id,
            request.generation_id,
            moment,
        )
        return code, NOTHING

    def leave(
        self, group_id: str, leavers: list[tuple[str, str | None]], moment: Moment
    ) -> tuple[list[ErrorCode], Decision]:
        """Let members (id, instance id) leave; return the result of each."""
        group = self._groups.get(group_id)
        if group is None or isinstance(group, ShareGroup | StreamsGroup):
            return [ErrorCode.UNKNOWN_MEMBER_ID] * len(leavers), NOTHING
        if isinstance(group, ConsumerGroup):
            return self._consumer_members.leave_group(group, leavers, moment)
        return self._classic.leave(group, leavers, moment)
