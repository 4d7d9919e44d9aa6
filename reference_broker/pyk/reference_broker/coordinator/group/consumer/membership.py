"""The consumer group protocol: what ConsumerGroupHeartbeat and deadlines do to a group.

A heartbeat goes through three steps, each of which may write records.

1. The member is added, or described anew. A new subscription begins a new epoch of the group, and
   so do topics that were created, deleted or have grown.
2. If the group is ahead of its target assignment, that is made for its epoch.
3. The member goes one step towards its target (:mod:`.reconciliation`).

Members without a heartbeat for the session timeout are removed, and those that do not give up their
partitions within their rebalance timeout.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from uuid import UUID

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.consumer_group_heartbeat import (
    Assignment as AssignmentToTell,
)
from pyk.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from pyk.reference_broker.coordinator.decision import NOTHING, Decision
from pyk.reference_broker.coordinator.group.consumer_groups import ConsumerGroups
from pyk.reference_broker.coordinator.shard_timers import ShardTimers
from pyk.reference_broker.errors import ApiError
from pyk.runtime import slotted
from pyk.runtime.timers import Moment

from .assignment import Assignment
from .consumer_group import ConsumerGroup
from .draft import Draft
from .heartbeat import Heartbeat
from .heartbeat_checks import check_epoch, check_not_fenced, check_released, check_request
from .member import JOINING, LEAVING_STATIC, ConsumerMember, MemberState
from .reconciliation import Reconciliation
from .records import current_record, member_record, member_tombstones, target_record
from .target_assignment import (
    PATTERN_REFRESH_MS,
    assign,
    begin_epoch,
    drop_pattern,
    remove_members,
    resolve_pattern,
    subscription_hash,
)

log = logging.getLogger(__name__)

Answer = tuple[ConsumerGroupHeartbeatResponse, Decision]


class ConsumerMembership:
    """The members of the consumer groups of one shard."""

    def __init__(
        self,
        groups: ConsumerGroups,
        timers: ShardTimers,
        new_uuid: Callable[[], UUID],
    ) -> None:
        self._groups = groups
        self._topics = groups.topics
        self._timers = timers
        self._new_uuid = new_uuid

    # -- ConsumerGroupHeartbeat ------------------------------------------------------------------

    def heartbeat(self, beat: Heartbeat) -> Answer:
        """Return the response to a member and the decision about it; raise :class:`ApiError`."""
        request = beat.request
        check_request(request, beat.version, self._groups.config_of(request.group_id).assignors)
        if request.member_epoch < JOINING:
            return self._leave(beat)
        if request.member_epoch == JOINING:
            draft = self._groups.draft_for_joining(request.group_id)
            self._check_room(draft.group, request.member_id)
            before = self._joining_member(draft, request.member_id or str(self._new_uuid()), beat)
        else:
            draft = Draft(self._groups.joined(request.group_id))
            before = _known_member(draft.group, request)
            check_epoch(before, request.member_epoch, beat.owned)
        return self._progress(draft, before, beat)

    def _check_room(self, group: ConsumerGroup, member_id: str) -> None:
        max_size = self._groups.config_of(group.group_id).max_size
        if len(group.members) >= max_size and member_id not in group.members:
            raise ApiError(
                ErrorCode.GROUP_MAX_SIZE_REACHED,
                f"The consumer group has reached its maximum capacity of {max_size} members.",
            )

    def _joining_member(self, draft: Draft, member_id: str, beat: Heartbeat) -> ConsumerMember:
        group, instance_id = draft.group, beat.request.instance_id
        known_id = member_id if instance_id is None else group.static_members.get(instance_id)
        known = None if known_id is None else group.members.get(known_id)
        if known is None:
            log.info("Member %r joins consumer group %r", member_id, group.group_id)
            return ConsumerMember(member_id=member_id)
        if instance_id is None:
            return known  # it did not get the answer, or was told to join again
        check_released(known, member_id)
        # A static member is back under a new id (KIP-345): it goes on where the old one left.
        member = slotted.evolve(known, member_id=member_id, epoch=JOINING, previous_epoch=JOINING)
        draft.add(
            *member_tombstones(group.group_id, known.member_id),
            member_record(group.group_id, member),
            target_record(group.group_id, member_id, group.targets.get(known.member_id, {})),
            current_record(group.group_id, member),
        )
        return member

    def _progress(self, draft: Draft, before: ConsumerMember, beat: Heartbeat) -> Answer:
        group_id, member_id = draft.group.group_id, before.member_id
        config = self._groups.config_of(group_id)
        has_new_subscription = self._describe(draft, before, beat)
        group = draft.group
        if group.epoch > group.assignment_epoch and (
            beat.moment.time_ms >= group.assigned_ms + config.assignment_interval_ms
        ):
            assign(draft, self._topics, config.assignors, beat.moment)
        after = self._reconcile(draft, member_id, beat, has_new_subscription=has_new_subscription)
        self._expect_heartbeat(group_id, member_id, beat.moment)
        response = ConsumerGroupHeartbeatResponse(
            member_id=member_id,
            member_epoch=after.epoch,
            heartbeat_interval_ms=config.heartbeat_interval_ms,
        )
        if beat.is_full or _partitions(after) != _partitions(before):
            response.assignment = AssignmentToTell(
                topic_partitions=[
                    TopicPartitions(topic_id=topic_id, partitions=sorted(partitions))
                    for topic_id, partitions in sorted(_partitions(after).items())
                ]
            )
        return response, draft.decision

    # -- 1. subscriptions and topics -------------------------------------------------------------

    def _describe(self, draft: Draft, before: ConsumerMember, beat: Heartbeat) -> bool:
        """Describe the member anew; return whether its subscription has changed."""
        after = beat.describe(before)
        known = draft.group
        if after != known.members.get(after.member_id):
            draft.add(member_record(known.group_id, after))
        has_changed = after.topic_names != before.topic_names
        if after.pattern != before.pattern:
            has_changed = True
            drop_pattern(draft, before.pattern)
            if after.pattern:
                resolve_pattern(draft, after.pattern, self._topics, beat.may_see, beat.moment)
        if has_changed or self._have_topics_changed(draft, known, beat):
            begin_epoch(draft, self._topics)
        return has_changed

    def _have_topics_changed(self, draft: Draft, known: ConsumerGroup, beat: Heartbeat) -> bool:
        """Return whether a new epoch is due because of topics, by name or by pattern."""
        if known.metadata_version == self._topics.version:
            return False
        patterns = sorted({each.pattern for each in known.members.values() if each.pattern})
        now_ms = beat.moment.time_ms
        is_due = now_ms >= known.patterns_resolved_ms + PATTERN_REFRESH_MS
        resolved: list[bool] = []
        if patterns and is_due:
            known.patterns_resolved_ms = now_ms
            resolved = [
                resolve_pattern(draft, pattern, self._topics, beat.may_see, beat.moment)
                for pattern in patterns
            ]
        if subscription_hash(draft.group, self._topics) != known.metadata_hash or any(resolved):
            return True
        if is_due or not patterns:
            known.metadata_version = self._topics.version
        return False

    # -- 3. the member ---------------------------------------------------------------------------

    def _reconcile(
        self, draft: Draft, member_id: str, beat: Heartbeat, *, has_new_subscription: bool
    ) -> ConsumerMember:
        group = draft.group
        before = group.members[member_id]
        after = Reconciliation(
            target_epoch=group.assignment_epoch,
            target=group.targets.get(member_id, {}),
            topic_ids=self._topics.ids(group.topic_names(before)),
            owned=beat.owned,
            is_free=lambda topic_id, partition: group.is_free(member_id, topic_id, partition),
            has_new_subscription=has_new_subscription,
        ).step(before)
        if after != before:
            draft.add(current_record(group.group_id, after))
            self._expect_revocation(group.group_id, after, beat.moment)
        return after

    # -- leaving ---------------------------------------------------------------------------------

    def _leave(self, beat: Heartbeat) -> Answer:
        request = beat.request
        draft = Draft(self._groups.existing(request.group_id))
        member = _known_member(draft.group, request)
        response = ConsumerGroupHeartbeatResponse(
            member_id=request.member_id, member_epoch=request.member_epoch
        )
        if request.instance_id is None or request.member_epoch != LEAVING_STATIC:
            return response, self._remove(draft, [member], beat.moment)
        # It keeps its partitions until its session ends: it will be back.
        left = slotted.evolve(member, epoch=LEAVING_STATIC, revoking={})
        draft.add(current_record(request.group_id, left))
        return response, draft.decision

    def leave_group(
        self, group: ConsumerGroup, leavers: list[tuple[str, str | None]], moment: Moment
    ) -> tuple[list[ErrorCode], Decision]:
        """Remove members as LeaveGroup asks for: by member id, instance id, or both."""
        results: list[ErrorCode] = []
        leaving: dict[str, ConsumerMember] = {}
        for member_id, instance_id in leavers:
            try:
                member = _leaver(group, member_id, instance_id)
            except ApiError as error:
                results.append(error.code)
            else:
                results.append(ErrorCode.NONE)
                leaving[member.member_id] = member
        if not leaving:
            return results, NOTHING
        return results, self._remove(Draft(group), list(leaving.values()), moment)

    def _remove(self, draft: Draft, members: list[ConsumerMember], moment: Moment) -> Decision:
        group_id = draft.group.group_id
        for member in members:
            log.info("Member %r leaves group %r", member.member_id, group_id)
            self._timers.cancel(_session_key(group_id, member.member_id))
            self._timers.cancel(_rebalance_key(group_id, member.member_id))
        remove_members(draft, members, self._topics)

        def when_written(error: ErrorCode) -> None:
            if error:  # they are still there, and their time begins again
                for member in members:
                    self._expect(group_id, member, moment)

        return slotted.evolve(draft.decision, when_written=when_written)

    # -- deadlines -------------------------------------------------------------------------------

    def loaded(self, moment: Moment) -> None:
        """Begin the sessions of all members that were read from the log."""
        for group in self._groups:
            for member in group.members.values():
                self._expect(group.group_id, member, moment)

    def _expect(self, group_id: str, member: ConsumerMember, moment: Moment) -> None:
        self._expect_heartbeat(group_id, member.member_id, moment)
        self._expect_revocation(group_id, member, moment)

    def _expect_heartbeat(self, group_id: str, member_id: str, moment: Moment) -> None:
        deadline = moment.after(self._groups.config_of(group_id).session_timeout_ms)
        self._timers.schedule(
            _session_key(group_id, member_id),
            deadline,
            lambda moment: self._expire(group_id, member_id, "its session has ended", moment),
        )

    def _expect_revocation(self, group_id: str, member: ConsumerMember, moment: Moment) -> None:
        key = _rebalance_key(group_id, member.member_id)
        if member.state is not MemberState.UNREVOKED_PARTITIONS:
            self._timers.cancel(key)
            return

        def expire(moment: Moment) -> Decision:
            reason = "it has not given up its partitions in time"
            return self._expire(group_id, member.member_id, reason, moment, epoch=member.epoch)

        self._timers.schedule(key, moment.after(member.rebalance_timeout_ms), expire)

    def _expire(
        self,
        group_id: str,
        member_id: str,
        reason: str,
        moment: Moment,
        *,
        epoch: int | None = None,
    ) -> Decision:
        try:
            draft = Draft(self._groups.existing(group_id))
            member = draft.group.member(member_id)
        except ApiError:
            return NOTHING  # it was replaced, or the group is of another type by now
        if epoch not in (None, member.epoch):
            return NOTHING
        log.info("Member %r of group %r is removed: %s", member_id, group_id, reason)
        return self._remove(draft, [member], moment)


def _known_member(group: ConsumerGroup, request: ConsumerGroupHeartbeatRequest) -> ConsumerMember:
    if request.instance_id is None:
        return group.member(request.member_id)
    member = group.static_member(request.instance_id)
    check_not_fenced(member, request.member_id)
    return member


def _leaver(group: ConsumerGroup, member_id: str, instance_id: str | None) -> ConsumerMember:
    if instance_id is None:
        return group.member(member_id)
    member = group.static_member(instance_id)
    if member_id:  # an administrator has none (KIP-345)
        check_not_fenced(member, member_id)
    return member


def _partitions(member: ConsumerMember) -> Assignment:
    return {topic_id: frozenset(epochs) for topic_id, epochs in member.assigned.items() if epochs}


def _session_key(group_id: str, member_id: str) -> tuple[str, ...]:
    return ("consumer session", group_id, member_id)


def _rebalance_key(group_id: str, member_id: str) -> tuple[str, ...]:
    return ("consumer rebalance", group_id, member_id)
