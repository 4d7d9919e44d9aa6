"""The share group protocol: what ShareGroupHeartbeat and deadlines do to a group.

A heartbeat goes through these steps, each of which may write records.

1. The member is added, or its description changes. A new subscription begins a new epoch of the
   group, and so do topics that have changed, and partitions whose state was initialized since.
2. If the group is ahead of its target assignment, that is made for its epoch.
3. The member gets its target, without waiting for others.
4. The state of partitions that are new to the group is initialized at the share coordinators: an
   action, whose result is written down, too.

Members without a heartbeat for the session timeout are removed.
"""

from __future__ import annotations

import logging
from functools import partial

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.share_group_heartbeat import Assignment as AssignmentToTell
from pyk.protocol.messages.share_group_heartbeat import (
    ShareGroupHeartbeatResponse,
    TopicPartitions,
)
from pyk.reference_broker.coordinator.decision import NOTHING, Action, Decision
from pyk.reference_broker.coordinator.group.consumer.assignment import Assignment, Subscriber
from pyk.reference_broker.coordinator.group.group_draft import GroupDraft
from pyk.reference_broker.coordinator.group.share_groups import ShareGroups
from pyk.reference_broker.coordinator.shard_timers import ShardTimers
from pyk.reference_broker.errors import ApiError
from pyk.runtime import slotted
from pyk.runtime.timers import Moment

from .heartbeat import ShareHeartbeat, check_epoch, check_request
from .initialization import InitializedStates, is_assignment_due, lacking, request_for
from .member import JOINING, LEAVING, ShareMember
from .records import (
    current_record,
    epoch_record,
    member_record,
    member_tombstones,
    state_topics_record,
    target_epoch_record,
    target_record,
)
from .share_group import ShareGroup
from .simple_assignor import assign_simply

log = logging.getLogger(__name__)

Answer = tuple[ShareGroupHeartbeatResponse, Decision]
Draft = GroupDraft[ShareGroup]


class ShareMembership:
    """The members of the share groups of one shard."""

    def __init__(self, groups: ShareGroups, timers: ShardTimers) -> None:
        self._groups = groups
        self._topics = groups.topics
        self._timers = timers

    # -- ShareGroupHeartbeat ---------------------------------------------------------------------

    def heartbeat(self, beat: ShareHeartbeat) -> Answer:
        """Return the response to a member and the decision about it; raise :class:`ApiError`."""
        request = beat.request
        check_request(request)
        if request.member_epoch == LEAVING:
            return self._leave(beat)
        is_joining = request.member_epoch == JOINING
        group = self._groups.joined(request.group_id, may_be_new=is_joining)
        self._check_room(group, request.member_id)
        if is_joining and request.member_id not in group.members:
            log.info("Member %r joins share group %r", request.member_id, group.group_id)
            before = ShareMember(member_id=request.member_id)
        else:
            before = group.member(request.member_id)
            check_epoch(before, request.member_epoch)
        return self._progress(Draft(group), before, beat)

    def _check_room(self, group: ShareGroup, member_id: str) -> None:
        max_size = self._groups.config_of(group.group_id).max_size
        if len(group.members) >= max_size and member_id not in group.members:
            raise ApiError(
                ErrorCode.GROUP_MAX_SIZE_REACHED,
                f"The share group has reached its maximum capacity of {max_size} members.",
            )

    def _progress(self, draft: Draft, before: ShareMember, beat: ShareHeartbeat) -> Answer:
        group_id, member_id = draft.group.group_id, before.member_id
        config = self._groups.config_of(group_id)
        has_new_subscription = self._describe(draft, before, beat)
        group = draft.group
        if group.epoch > group.assignment_epoch and (
            beat.moment.time_ms >= group.assigned_ms + config.assignment_interval_ms
        ):
            self._assign(draft, beat.moment)
        after = self._reconcile(draft, member_id, has_new_subscription=has_new_subscription)
        self._expect_heartbeat(group_id, member_id, beat.moment)
        response = ShareGroupHeartbeatResponse(
            member_id=member_id,
            member_epoch=after.epoch,
            heartbeat_interval_ms=config.heartbeat_interval_ms,
        )
        if beat.is_full or after.assigned != before.assigned:
            response.assignment = AssignmentToTell(
                topic_partitions=[
                    TopicPartitions(topic_id=topic_id, partitions=sorted(partitions))
                    for topic_id, partitions in sorted(after.assigned.items())
                ]
            )
        return response, draft.decision_with(self._initialize(draft, beat.moment))

    # -- 1. subscriptions and topics -------------------------------------------------------------

    def _describe(self, draft: Draft, before: ShareMember, beat: ShareHeartbeat) -> bool:
        """Update the description of the member; return whether its subscription has changed."""
        after = beat.describe(before)
        known = draft.group
        is_due = is_assignment_due(known)
        if after != known.members.get(after.member_id):
            draft.add(member_record(known.group_id, after))
        has_changed = after.topic_names != before.topic_names
        if has_changed or is_due or self._have_topics_changed(draft, known):
            self._begin_epoch(draft)
        return has_changed

    def _have_topics_changed(self, draft: Draft, known: ShareGroup) -> bool:
        if known.metadata_version == self._topics.version:
            return False
        if self._topics.hash_of(draft.group.topic_names) != known.metadata_hash:
            return True
        known.metadata_version = self._topics.version
        return False

    def _begin_epoch(self, draft: Draft) -> None:
        group = draft.group
        metadata_hash = self._topics.hash_of(group.topic_names)
        draft.add(epoch_record(group.group_id, group.epoch + 1, metadata_hash))

    # -- 2. and 3. assignments -------------------------------------------------------------------

    def _assign(self, draft: Draft, moment: Moment) -> None:
        """Make the target assignment for the epoch of the group."""
        group = draft.group
        subscribers = {
            member_id: Subscriber(
                topics=self._topics.ids(member.topic_names),
                current=group.targets.get(member_id, {}),
            )
            for member_id, member in group.members.items()
        }
        for member_id, target in assign_simply(subscribers, group.topics.assignable).items():
            if group.targets.get(member_id) != target:
                draft.add(target_record(group.group_id, member_id, target))
        draft.add(target_epoch_record(group.group_id, group.epoch, moment.time_ms))

    def _reconcile(
        self, draft: Draft, member_id: str, *, has_new_subscription: bool
    ) -> ShareMember:
        group = draft.group
        before = group.members[member_id]
        if before.epoch == group.assignment_epoch and not has_new_subscription:
            return before
        after = slotted.evolve(
            before,
            epoch=group.assignment_epoch,
            previous_epoch=before.epoch,
            assigned=self._subscribed(group.targets.get(member_id, {}), before),
        )
        if after.epoch == before.epoch:
            after = slotted.evolve(after, previous_epoch=before.previous_epoch)
        if after != before:
            draft.add(current_record(group.group_id, after))
        return after

    def _subscribed(self, target: Assignment, member: ShareMember) -> Assignment:
        topic_ids = self._topics.ids(member.topic_names)
        return {topic_id: each for topic_id, each in target.items() if topic_id in topic_ids}

    # -- 4. states -------------------------------------------------------------------------------

    def _initialize(self, draft: Draft, moment: Moment) -> tuple[Action, ...]:
        group = draft.group
        group_id = group.group_id
        is_late = self._groups.is_initializing_late(group_id, moment)
        partitions = lacking(group, self._topics, is_late=is_late)
        if not partitions:
            return ()
        self._groups.begin_initializing(group_id, moment)
        draft.add(state_topics_record(group_id, group.topics.initialize(partitions)))
        return (Action(request_for(group, partitions), partial(self._initialized, group_id)),)

    def _initialized(self, group_id: str, found: InitializedStates, moment: Moment) -> Decision:
        return self._groups.initialized(group_id, found)

    # -- leaving ---------------------------------------------------------------------------------

    def _leave(self, beat: ShareHeartbeat) -> Answer:
        request = beat.request
        group = self._groups.existing(request.group_id)
        member = group.member(request.member_id)
        response = ShareGroupHeartbeatResponse(
            member_id=request.member_id, member_epoch=request.member_epoch
        )
        return response, self._remove(group, member, beat.moment)

    def _remove(self, group: ShareGroup, member: ShareMember, moment: Moment) -> Decision:
        group_id, member_id = group.group_id, member.member_id
        log.info("Member %r leaves share group %r", member_id, group_id)
        self._timers.cancel(_session_key(group_id, member_id))
        draft = Draft(group)
        draft.add(*member_tombstones(group_id, member_id))
        self._begin_epoch(draft)

        def when_written(error: ErrorCode) -> None:
            if error:  # it is still there, and its time begins again
                self._expect_heartbeat(group_id, member_id, moment)

        return slotted.evolve(draft.decision, when_written=when_written)

    # -- deadlines -------------------------------------------------------------------------------

    def loaded(self, moment: Moment) -> None:
        """Begin the sessions of all members that were read from the log."""
        for group in self._groups:
            for member_id in group.members:
                self._expect_heartbeat(group.group_id, member_id, moment)

    def _expect_heartbeat(self, group_id: str, member_id: str, moment: Moment) -> None:
        deadline = moment.after(self._groups.config_of(group_id).session_timeout_ms)
        self._timers.schedule(
            _session_key(group_id, member_id),
            deadline,
            lambda moment: self._expire(group_id, member_id, moment),
        )

    def _expire(self, group_id: str, member_id: str, moment: Moment) -> Decision:
        try:
            group = self._groups.existing(group_id)
            member = group.member(member_id)
        except ApiError:
            return NOTHING
        log.info("The session of member %r of share group %r has ended", member_id, group_id)
        return self._remove(group, member, moment)


def _session_key(group_id: str, member_id: str) -> tuple[str, ...]:
    return ("share session", group_id, member_id)
