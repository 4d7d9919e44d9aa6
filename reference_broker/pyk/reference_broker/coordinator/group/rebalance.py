"""Rebalances and sessions: how a classic group gets from one generation to the next.

A rebalance has two phases. In the *join phase* members announce themselves; it ends when all have,
or after the longest rebalance timeout among them, without those who have not. In the *sync phase*
the leader sends the assignment, which every member fetches by SyncGroup. Members that do not within
the same time are removed, which begins the next rebalance.
"""

from __future__ import annotations

import logging

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.sync_group import SyncGroupResponse
from pyk.reference_broker.coordinator.decision import NOTHING, Decision
from pyk.reference_broker.coordinator.shard_timers import ShardTimers
from pyk.runtime import slotted
from pyk.runtime.timers import Moment

from .classic_group import ClassicGroup, GroupState
from .member import Member, join_error
from .records import group_record
from .responses import joined

log = logging.getLogger(__name__)


@slotted.frozen(kw_only=True)
class GroupConfig:
    """The broker configuration that groups obey; durations in milliseconds."""

    min_session_timeout_ms: int = 6_000
    max_session_timeout_ms: int = 1_800_000
    max_size: int = 2_147_483_647
    initial_rebalance_delay_ms: int = 3_000
    new_member_join_timeout_ms: int = 300_000


class Rebalancer:
    """Moves groups between generations, because of a member or of a deadline."""

    def __init__(self, config: GroupConfig, timers: ShardTimers) -> None:
        self._config = config
        self._timers = timers

    # -- the join phase --------------------------------------------------------------------------

    def rebalance_or_complete(self, group: ClassicGroup, reason: str, moment: Moment) -> Decision:
        if group.can_rebalance:
            return self.prepare_rebalance(group, reason, moment)
        return self.complete_join_if_all_joined(group, moment)

    def prepare_rebalance(self, group: ClassicGroup, reason: str, moment: Moment) -> Decision:
        if group.is_in(GroupState.COMPLETING_REBALANCE):
            self.refuse_assignment(group, ErrorCode.REBALANCE_IN_PROGRESS, moment)
        group.pending_sync.clear()
        self._timers.cancel(_sync_key(group))
        is_initial = group.is_in(GroupState.EMPTY)
        group.move_to(GroupState.PREPARING_REBALANCE, moment.time_ms)
        log.info(
            "Rebalancing group %r, generation %d: %s", group.group_id, group.generation_id, reason
        )
        if is_initial:
            # More members are probably about to start: wait for them, and longer with each that
            # comes.
            delay_ms = self._config.initial_rebalance_delay_ms
            self._wait_for_more(
                group, delay_ms, max(group.rebalance_timeout_ms - delay_ms, 0), moment
            )
            return NOTHING
        if group.has_all_joined:
            return self._complete_join(group, moment)
        self._schedule_join_end(group, moment)
        return NOTHING

    def _wait_for_more(
        self, group: ClassicGroup, delay_ms: int, remaining_ms: int, moment: Moment
    ) -> None:
        def extend_or_complete(moment: Moment) -> Decision:
            if not group.has_new_member or remaining_ms == 0:
                return self._complete_join(group, moment)
            group.has_new_member = False
            next_delay_ms = min(self._config.initial_rebalance_delay_ms, remaining_ms)
            self._wait_for_more(group, next_delay_ms, max(remaining_ms - delay_ms, 0), moment)
            return NOTHING

        self._timers.schedule(_join_key(group), moment.after(delay_ms), extend_or_complete)

    def _schedule_join_end(self, group: ClassicGroup, moment: Moment) -> None:
        deadline = moment.after(group.rebalance_timeout_ms)
        self._timers.schedule(
            _join_key(group), deadline, lambda moment: self._complete_join(group, moment)
        )

    def complete_join_if_all_joined(self, group: ClassicGroup, moment: Moment) -> Decision:
        is_initial = group.previous_state is GroupState.EMPTY
        if group.is_in(GroupState.PREPARING_REBALANCE) and not is_initial and group.has_all_joined:
            return self._complete_join(group, moment)
        return NOTHING

    def _complete_join(self, group: ClassicGroup, moment: Moment) -> Decision:
        """End the join phase: remove members that did not rejoin, begin the next generation."""
        self._timers.cancel(_join_key(group))
        for member in group.not_yet_rejoined:
            if not member.is_static:  # a static member keeps its place until its session ends
                group.remove(member.member_id)
                self._timers.cancel(_heartbeat_key(group, member.member_id))
        if group.members and not group.elect_joined_leader():
            self._schedule_join_end(group, moment)  # only static members, none of which is back
            return NOTHING
        group.begin_next_generation(moment.time_ms)
        if group.is_in(GroupState.EMPTY):
            log.info(
                "Group %r with generation %d is now empty", group.group_id, group.generation_id
            )
            return Decision((group_record(group, {}),), replays=False)
        log.info(
            "Group %r has generation %d with %d members",
            group.group_id,
            group.generation_id,
            len(group.members),
        )
        for member in list(group.members.values()):
            self.expect_heartbeat(group, member.member_id, member.session_timeout_ms, moment)
            member.is_new = False
            member.knows_assignment = False
            group.pending_sync.add(member.member_id)
            member.complete_join(
                joined(group, member, tells_members=group.is_leader(member.member_id))
            )
        self._schedule_sync_end(group, moment)
        return NOTHING

    def _schedule_sync_end(self, group: ClassicGroup, moment: Moment) -> None:
        generation_id = group.generation_id

        def expire(moment: Moment) -> Decision:
            is_current = group.generation_id == generation_id and group.is_in(
                GroupState.COMPLETING_REBALANCE, GroupState.STABLE
            )
            if not is_current or not group.pending_sync:
                return NOTHING
            missing = sorted(group.pending_sync)
            for member_id in missing:
                group.remove(member_id)
                self._timers.cancel(_heartbeat_key(group, member_id))
            return self.prepare_rebalance(group, f"no SyncGroup from {', '.join(missing)}", moment)

        self._timers.schedule(_sync_key(group), moment.after(group.rebalance_timeout_ms), expire)

    # -- sessions --------------------------------------------------------------------------------

    def expect_heartbeats(self, group: ClassicGroup, moment: Moment) -> Decision:
        """Begin the sessions of a group that was loaded from the log."""
        for member in group.members.values():
            self.expect_heartbeat(group, member.member_id, member.session_timeout_ms, moment)
        if len(group.members) > self._config.max_size:
            return self.prepare_rebalance(
                group, f"over the maximum of {self._config.max_size}", moment
            )
        return NOTHING

    def sync_arrived(self, group: ClassicGroup, member: Member) -> None:
        """Note that a member has sent SyncGroup in this generation."""
        group.pending_sync.discard(member.member_id)
        if not group.pending_sync:
            self._timers.cancel(_sync_key(group))

    def refuse_assignment(self, group: ClassicGroup, error: ErrorCode, moment: Moment) -> None:
        """Answer all members that wait for the assignment with an error."""
        for member in list(group.members.values()):
            member.assignment = b""
            self.complete_sync(group, member, SyncGroupResponse(error_code=error), moment)

    def complete_sync(
        self, group: ClassicGroup, member: Member, response: SyncGroupResponse, moment: Moment
    ) -> None:
        """Answer a member's SyncGroup if it waits; from then on it must send heartbeats again."""
        if member.complete_sync(response):
            member.knows_assignment = not response.error_code
            self.expect_heartbeat(group, member.member_id, member.session_timeout_ms, moment)

    def forget_session(self, group: ClassicGroup, member_id: str) -> None:
        """Expect no more heartbeats of a member id."""
        self._timers.cancel(_heartbeat_key(group, member_id))

    def expect_heartbeat(
        self, group: ClassicGroup, member_id: str, timeout_ms: int, moment: Moment
    ) -> None:
        self._timers.schedule(
            _heartbeat_key(group, member_id),
            moment.after(timeout_ms),
            lambda moment: self._expire_session(group, member_id, moment),
        )

    def _expire_session(self, group: ClassicGroup, member_id: str, moment: Moment) -> Decision:
        if member_id in group.pending_join:
            group.remove(member_id)
            return self._complete_join_of_the_rest(group, moment)
        member = group.members.get(member_id)
        if member is None or member.satisfies_heartbeat():
            return NOTHING
        log.info(
            "Member %r of group %r has failed: no heartbeat in time", member_id, group.group_id
        )
        self.remove(group, member)
        return self.after_removal(group, f"session of {member_id} expired", moment)

    def remove(self, group: ClassicGroup, member: Member) -> None:
        self._timers.cancel(_heartbeat_key(group, member.member_id))
        # A new member may still wait for its first JoinGroup: this error makes it try again if it
        # is alive.
        member.complete_join(join_error(ErrorCode.UNKNOWN_MEMBER_ID))
        member.complete_sync(SyncGroupResponse(error_code=ErrorCode.UNKNOWN_MEMBER_ID))
        group.remove(member.member_id)

    def after_removal(self, group: ClassicGroup, reason: str, moment: Moment) -> Decision:
        if group.is_in(GroupState.STABLE, GroupState.COMPLETING_REBALANCE):
            return self.prepare_rebalance(group, reason, moment)
        return self._complete_join_of_the_rest(group, moment)

    def _complete_join_of_the_rest(self, group: ClassicGroup, moment: Moment) -> Decision:
        if group.is_in(GroupState.PREPARING_REBALANCE) and group.has_all_joined:
            return self._complete_join(group, moment)
        return NOTHING

    def forget(self, group: ClassicGroup) -> None:
        """Cancel all that is scheduled for a group that is gone."""
        for member_id in [*group.members, *sorted(group.pending_join)]:
            self._timers.cancel(_heartbeat_key(group, member_id))
        self._timers.cancel(_join_key(group))
        self._timers.cancel(_sync_key(group))


def _heartbeat_key(group: ClassicGroup, member_id: str) -> tuple[str, ...]:
    return ("heartbeat", group.group_id, member_id)


def _join_key(group: ClassicGroup) -> tuple[str, ...]:
    return ("join", group.group_id)


def _sync_key(group: ClassicGroup) -> tuple[str, ...]:
    return ("sync", group.group_id)
