"""The classic group protocol: what JoinGroup, SyncGroup, Heartbeat and LeaveGroup do to a group.

Each operation takes the moment it happens at and returns a :class:`Decision`. JoinGroup and
SyncGroup mostly have to wait for other members: their responses are kept with the member and
completed when the phase ends (:mod:`.rebalance`).
"""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.join_group import JoinGroupRequest
from pyk.protocol.messages.sync_group import SyncGroupRequest
from pyk.reference_broker.coordinator.decision import NOTHING, Decision
from pyk.reference_broker.coordinator.shard_timers import ShardTimers
from pyk.reference_broker.errors import ApiError
from pyk.runtime import slotted
from pyk.runtime.timers import Moment

from .classic_group import ClassicGroup, GroupState
from .group_checks import supports
from .groups import Group, classic_group, is_unused, tombstones_of
from .member import Member, Protocols, join_error
from .protocol_vote import select_protocol
from .rebalance import GroupConfig, Rebalancer
from .records import empty_group_record, group_record
from .responses import (
    DeferredJoin,
    DeferredSync,
    joined,
    refuse_join,
    refuse_sync,
    synced,
)

UNKNOWN_MEMBER_ID = ""


@slotted.frozen(kw_only=True)
class Join:
    """One JoinGroup, who sent it, and when."""

    request: JoinGroupRequest
    deferred: DeferredJoin
    moment: Moment
    client_id: str
    client_host: str
    requires_known_member_id: bool
    """From version 4 on a new dynamic member is told an id to come back with (KIP-394)."""
    can_skip_assignment: bool
    """From version 9 on a leader can be told the members without having to assign (KIP-814)."""

    @property
    def protocols(self) -> Protocols:
        return tuple(
            (protocol.name, bytes(protocol.metadata)) for protocol in self.request.protocols
        )

    @property
    def rebalance_timeout_ms(self) -> int:
        """Version 0 has none: the session timeout stands for it."""
        timeout_ms = self.request.rebalance_timeout_ms
        return self.request.session_timeout_ms if timeout_ms < 0 else timeout_ms

    def refuse(self, error: ErrorCode, member_id: str | None = None) -> Decision:
        return refuse_join(
            self.deferred, self.request.member_id if member_id is None else member_id, error
        )


class GroupMembership:
    """The members of the classic groups of one shard."""

    def __init__(
        self,
        groups: dict[str, Group],
        config: GroupConfig,
        timers: ShardTimers,
        new_uuid: Callable[[], UUID],
    ) -> None:
        self._groups = groups
        self._config = config
        self._new_uuid = new_uuid
        self._rebalancer = Rebalancer(config, timers)

    @property
    def max_size(self) -> int:
        """How many members a classic group may have."""
        return self._config.max_size

    def may_have_session(self, timeout_ms: int) -> bool:
        """Return whether a member may ask for this session timeout."""
        config = self._config
        return config.min_session_timeout_ms <= timeout_ms <= config.max_session_timeout_ms

    # -- JoinGroup -------------------------------------------------------------------------------

    def join(self, join: Join) -> Decision:
        """Let a member join or rejoin; the response comes now, or when the join phase ends."""
        request = join.request
        if not self.may_have_session(request.session_timeout_ms):
            return join.refuse(ErrorCode.INVALID_SESSION_TIMEOUT)
        found = self._groups.get(request.group_id)
        if isinstance(found, ClassicGroup):
            return self._join_group(found, join)
        if found is not None and not is_unused(found):
            return join.refuse(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        if request.member_id != UNKNOWN_MEMBER_ID:
            return join.refuse(ErrorCode.UNKNOWN_MEMBER_ID)
        group = ClassicGroup(group_id=request.group_id, state_since_ms=join.moment.time_ms)
        self._groups[request.group_id] = group
        decision = self._join_group(group, join)
        records = decision.records or (empty_group_record(group),)
        if found is not None:
            # A consumer group that everybody has left becomes a classic one.
            records = (*tombstones_of(found), *records)
        return slotted.evolve(decision, records=records, replays=False)

    def _join_group(self, group: ClassicGroup, join: Join) -> Decision:
        request, member_id = join.request, join.request.member_id
        if not self._has_room(group, member_id):
            group.remove(member_id)
            return join.refuse(ErrorCode.GROUP_MAX_SIZE_REACHED, UNKNOWN_MEMBER_ID)
        if not supports(group, request.protocol_type, join.protocols):
            return join.refuse(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        if member_id == UNKNOWN_MEMBER_ID:
            return self._join_new(group, join)
        return self._join_known(group, member_id, join)

    def _join_known(self, group: ClassicGroup, member_id: str, join: Join) -> Decision:
        request = join.request
        if member_id in group.pending_join and request.group_instance_id is None:
            return self._add_member(group, member_id, join)
        try:
            member = group.check_member(member_id, request.group_instance_id)
        except ApiError as error:
            return join.refuse(error.code)
        return self._rejoin(group, member, join)

    def _has_room(self, group: ClassicGroup, member_id: str) -> bool:
        member = group.members.get(member_id)
        if group.is_in(GroupState.PREPARING_REBALANCE):
            # Those that wait count, not the members: after the maximum was lowered the last to
            # rejoin are turned away.
            is_waiting = member is not None and member.is_awaiting_join
            return is_waiting or group.awaiting_join_count < self._config.max_size
        return member is not None or len(group.members) < self._config.max_size

    def _join_new(self, group: ClassicGroup, join: Join) -> Decision:
        instance_id = join.request.group_instance_id
        member_id = f"{instance_id or join.client_id}-{self._new_uuid()}"
        if instance_id is not None and instance_id in group.static_members:
            return self._replace_static_member(group, instance_id, member_id, join)
        if instance_id is None and join.requires_known_member_id:
            group.pending_join.add(member_id)
            self._rebalancer.expect_heartbeat(
                group, member_id, join.request.session_timeout_ms, join.moment
            )
            return join.refuse(ErrorCode.MEMBER_ID_REQUIRED, member_id)
        return self._add_member(group, member_id, join)

    def _add_member(self, group: ClassicGroup, member_id: str, join: Join) -> Decision:
        member = Member(
            member_id=member_id,
            group_instance_id=join.request.group_instance_id,
            client_id=join.client_id,
            client_host=join.client_host,
            rebalance_timeout_ms=join.rebalance_timeout_ms,
            session_timeout_ms=join.request.session_timeout_ms,
            protocol_type=join.request.protocol_type,
            protocols=join.protocols,
            is_new=True,
            awaiting_join=join.deferred,
        )
        if group.is_in(GroupState.PREPARING_REBALANCE) and group.previous_state is GroupState.EMPTY:
            group.has_new_member = True
        group.add(member)
        # It does not know its id yet, so it cannot send heartbeats, and a lost connection goes
        # unnoticed while the request waits. Bounded, so that clients which retry do not leave
        # members behind for ever.
        self._rebalancer.expect_heartbeat(
            group, member_id, self._config.new_member_join_timeout_ms, join.moment
        )
        return self._rebalancer.rebalance_or_complete(
            group, f"adding new member {member_id}", join.moment
        )

    def _rejoin(self, group: ClassicGroup, member: Member, join: Join) -> Decision:
        is_unchanged = member.protocols == join.protocols
        is_leader = group.is_leader(member.member_id)
        # 1. Waiting for the assignment: it probably lost our response, so it gets that again.
        # 2. Stable: a follower with nothing new may sync at once, while the leader rejoins to have
        # a rebalance.
        # 3. Everything else takes part in a rebalance.
        if group.is_in(GroupState.COMPLETING_REBALANCE) and is_unchanged:
            join.deferred.complete(joined(group, member, tells_members=is_leader))
            return NOTHING
        if group.is_in(GroupState.STABLE) and is_unchanged and not is_leader:
            join.deferred.complete(joined(group, member, tells_members=False))
            return NOTHING
        _update(member, join)
        return self._rebalancer.rebalance_or_complete(
            group, f"member {member.member_id} rejoins", join.moment
        )

    def _replace_static_member(
        self, group: ClassicGroup, instance_id: str, new_member_id: str, join: Join
    ) -> Decision:
        leader_before = group.leader_id
        self._rebalancer.forget_session(group, group.static_members[instance_id])
        member = group.replace_static_member(instance_id, new_member_id)
        _update(member, join)
        self._rebalancer.expect_heartbeat(
            group, new_member_id, member.session_timeout_ms, join.moment
        )
        if group.is_in(GroupState.COMPLETING_REBALANCE):
            # The leader may have assigned to the old id already, so the new one would get
            # nothing.
            reason = f"static member {new_member_id} replaces its old id"
            return self._rebalancer.prepare_rebalance(group, reason, join.moment)
        if not group.is_in(GroupState.STABLE):
            return self._rebalancer.complete_join_if_all_joined(group, join.moment)
        if select_protocol(group.members.values()) != group.protocol_name:
            reason = f"static member {new_member_id} changes the protocol"
            return self._rebalancer.prepare_rebalance(group, reason, join.moment)
        return _keep_generation(group, member, join, leader_before)

    # -- SyncGroup -------------------------------------------------------------------------------

    def sync(self, request: SyncGroupRequest, deferred: DeferredSync, moment: Moment) -> Decision:
        """Give a member its assignment; ``deferred`` is completed once the leader has sent that."""
        group = classic_group(self._groups, request.group_id)
        if group is None:
            return refuse_sync(deferred, ErrorCode.UNKNOWN_MEMBER_ID)
        try:
            member = _check_sync(group, request)
        except ApiError as error:
            return refuse_sync(deferred, error.code)
        if group.is_in(GroupState.PREPARING_REBALANCE):
            return refuse_sync(deferred, ErrorCode.REBALANCE_IN_PROGRESS)
        self._rebalancer.sync_arrived(group, member)
        if group.is_in(GroupState.STABLE):
            member.knows_assignment = True
            deferred.complete(synced(group, member))
            return NOTHING
        if member.awaiting_sync is not None:  # asked again on another connection
            refuse_sync(member.awaiting_sync, ErrorCode.REBALANCE_IN_PROGRESS)
        member.awaiting_sync = deferred
        if not group.is_leader(member.member_id):
            return NOTHING
        return self._store_assignment(group, request, moment)

    def _store_assignment(
        self, group: ClassicGroup, request: SyncGroupRequest, moment: Moment
    ) -> Decision:
        given = {each.member_id: bytes(each.assignment) for each in request.assignments}
        assignment = {member_id: given.get(member_id, b"") for member_id in group.members}
        generation_id = group.generation_id

        def when_written(error: ErrorCode) -> None:
            # While the record was on its way another member may have joined.
            if (
                not group.is_in(GroupState.COMPLETING_REBALANCE)
                or group.generation_id != generation_id
            ):
                return
            if error:
                self._rebalancer.refuse_assignment(group, error, moment)
                reason = f"{error.name} when storing the assignment"
                self._rebalancer.prepare_rebalance(group, reason, moment)
                return
            group.assign(assignment, moment.time_ms)
            for member in list(group.members.values()):
                self._rebalancer.complete_sync(group, member, synced(group, member), moment)

        return Decision((group_record(group, assignment),), when_written, replays=False)

    # -- Heartbeat -------------------------------------------------------------------------------

    def heartbeat(
        self,
        group_id: str,
        member_id: str,
        group_instance_id: str | None,
        generation_id: int,
        moment: Moment,
    ) -> ErrorCode:
        """Prolong a member's session; return the error it must act on: rejoin, or it was fenced."""
        group = classic_group(self._groups, group_id)
        if group is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        try:
            member = group.check_member(member_id, group_instance_id)
        except ApiError as error:
            return error.code
        if generation_id != group.generation_id:
            return ErrorCode.ILLEGAL_GENERATION
        self._rebalancer.expect_heartbeat(group, member_id, member.session_timeout_ms, moment)
        if group.is_in(GroupState.PREPARING_REBALANCE):
            return ErrorCode.REBALANCE_IN_PROGRESS
        return ErrorCode.NONE

    def keep_alive(self, group: ClassicGroup, member_id: str, moment: Moment) -> None:
        """Prolong the session of a member that shows itself alive by committing."""
        member = group.members.get(member_id)
        if member is not None:
            self._rebalancer.expect_heartbeat(group, member_id, member.session_timeout_ms, moment)

    # -- LeaveGroup ------------------------------------------------------------------------------

    def leave(
        self, group: ClassicGroup, leavers: list[tuple[str, str | None]], moment: Moment
    ) -> tuple[list[ErrorCode], Decision]:
        """Remove members, named by member id, instance id, or both; return the result of each."""
        results = [self._leave(group, *leaver) for leaver in leavers]
        left = [leaver for leaver, error in zip(leavers, results, strict=True) if not error]
        if not left:
            return results, NOTHING
        if group.is_in(GroupState.STABLE, GroupState.COMPLETING_REBALANCE):
            names = ", ".join(member_id or str(instance_id) for member_id, instance_id in left)
            return results, self._rebalancer.prepare_rebalance(group, f"{names} left", moment)
        return results, self._rebalancer.complete_join_if_all_joined(group, moment)

    def _leave(
        self, group: ClassicGroup, member_id: str, group_instance_id: str | None
    ) -> ErrorCode:
        if member_id in group.pending_join:
            group.remove(member_id)
            self._rebalancer.forget_session(group, member_id)
            return ErrorCode.NONE
        if member_id == UNKNOWN_MEMBER_ID and group_instance_id is not None:
            # An administrator removes a static member by its instance id alone (KIP-345).
            member_id = group.static_members.get(group_instance_id, UNKNOWN_MEMBER_ID)
        try:
            self._rebalancer.remove(group, group.check_member(member_id, group_instance_id))
        except ApiError as error:
            return error.code
        return ErrorCode.NONE

    # -- groups that come from the log, and go ---------------------------------------------------

    def group_loaded(self, group: ClassicGroup, moment: Moment) -> Decision:
        """Begin the sessions of a group that was read from the log."""
        if group.must_rebalance:
            group.must_rebalance = False
            return self.take_over(group, "it was a consumer group before", moment)
        return self._rebalancer.expect_heartbeats(group, moment)

    def unload(self) -> None:
        """Send all members elsewhere: this broker has stopped coordinating their groups."""
        for group in self._groups.values():
            if isinstance(group, ClassicGroup):
                group.refuse_waiting(ErrorCode.NOT_COORDINATOR)

    def take_over(
        self, group: ClassicGroup, rebalance_because: str | None, moment: Moment
    ) -> Decision:
        """Begin the sessions of a group that was a consumer group, and maybe a rebalance."""
        decision = self._rebalancer.expect_heartbeats(group, moment)
        if rebalance_because is None:
            return decision
        return self._rebalancer.prepare_rebalance(group, rebalance_because, moment)

    def group_deleted(self, group: ClassicGroup) -> None:
        """Cancel all that is scheduled for a group that is gone, and let those that wait rejoin."""
        self._rebalancer.forget(group)
        group.refuse_waiting(ErrorCode.REBALANCE_IN_PROGRESS)


def _update(member: Member, join: Join) -> None:
    member.protocols = join.protocols
    member.rebalance_timeout_ms = join.rebalance_timeout_ms
    member.session_timeout_ms = join.request.session_timeout_ms
    if member.awaiting_join is not None:  # asked again on another connection
        refuse_join(member.awaiting_join, member.member_id, ErrorCode.REBALANCE_IN_PROGRESS)
    member.awaiting_join = join.deferred


def _keep_generation(
    group: ClassicGroup, member: Member, join: Join, leader_before: str | None
) -> Decision:
    """Give a returning static member the generation it left: no rebalance (KIP-345)."""

    def when_written(error: ErrorCode) -> None:
        if error:
            member.complete_join(join_error(error))
            return
        is_leader = group.is_leader(member.member_id)
        if join.can_skip_assignment:
            response = joined(group, member, tells_members=is_leader)
            response.skip_assignment = is_leader
        else:
            response = joined(group, member, tells_members=False)
            response.leader = leader_before or ""  # its old id, so that it does not assign
        member.complete_join(response)

    record = group_record(
        group, {each.member_id: each.assignment for each in group.members.values()}
    )
    return Decision((record,), when_written, replays=False)


def _check_sync(group: ClassicGroup, request: SyncGroupRequest) -> Member:
    member = group.check_member(request.member_id, request.group_instance_id)
    if request.generation_id != group.generation_id:
        raise ApiError(ErrorCode.ILLEGAL_GENERATION)
    is_type_other = request.protocol_type not in (None, group.protocol_type)
    if is_type_other or request.protocol_name not in (None, group.protocol_name):
        raise ApiError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    return member
