"""The consumer group protocol: what ConsumerGroupHeartbeat and deadlines do to a group.

A heartbeat lets a member join, takes it a step further (:mod:`.progress`), or lets it leave.
Members that miss a deadline (:mod:`.deadlines`) are removed. When the last one with the consumer
protocol goes, those that are left may become a classic group (KIP-848).
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
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from pyk.reference_broker.coordinator.decision import NOTHING, Decision
from pyk.reference_broker.coordinator.group.consumer_groups import ConsumerGroups
from pyk.reference_broker.coordinator.group.downgrade import Downgrade
from pyk.reference_broker.coordinator.group.groups import Group
from pyk.reference_broker.coordinator.group.membership import GroupMembership
from pyk.reference_broker.coordinator.shard_timers import ShardTimers
from pyk.reference_broker.errors import ApiError
from pyk.runtime import slotted
from pyk.runtime.timers import Moment

from .classic_metadata import without_epochs
from .classic_requests import ClassicRequests
from .consumer_group import ConsumerGroup
from .deadlines import Deadlines
from .draft import Draft
from .heartbeat import Heartbeat
from .heartbeat_checks import check_epoch, check_not_fenced, check_request
from .joining import check_room, joining_member, known_member
from .member import JOINING, LEAVING_STATIC, ConsumerMember
from .progress import Progress
from .records import current_record
from .target_assignment import remove_members

log = logging.getLogger(__name__)

Answer = tuple[ConsumerGroupHeartbeatResponse, Decision]


class ConsumerMembership:
    """The members of the consumer groups of one shard."""

    def __init__(
        self,
        groups: dict[str, Group],
        consumer_groups: ConsumerGroups,
        classic: GroupMembership,
        timers: ShardTimers,
        new_uuid: Callable[[], UUID],
    ) -> None:
        self._groups = consumer_groups
        self._topics = consumer_groups.topics
        self._new_uuid = new_uuid
        self._progress = Progress(consumer_groups)
        self._deadlines = Deadlines(timers, consumer_groups.config_of, self._expire)
        self._downgrade = Downgrade(groups, consumer_groups, classic, self._deadlines)
        self.classic_requests = ClassicRequests(
            consumer_groups, self._progress, self._deadlines, self._downgrade, new_uuid
        )

    # -- ConsumerGroupHeartbeat ------------------------------------------------------------------

    def heartbeat(self, beat: Heartbeat) -> Answer:
        """Return the response to a member and the decision about it; raise :class:`ApiError`."""
        request = beat.request
        config = self._groups.config_of(request.group_id)
        check_request(request, beat.version, config.assignors)
        if request.member_epoch < JOINING:
            return self._leave(beat)
        if request.member_epoch > JOINING:
            draft = Draft(self._groups.joined(request.group_id))
            before = known_member(draft.group, request.member_id, request.instance_id)
            check_epoch(before, request.member_epoch, beat.owned)
            return self._progress_by(draft, before, beat)
        draft = self._groups.draft_for_joining(request.group_id)
        check_room(draft.group, request.member_id, config.max_size)
        upgraded = list(draft.group.members.values()) if draft.decision.records else []
        before = joining_member(
            draft, request.member_id or str(self._new_uuid()), request.instance_id, is_classic=False
        )
        for member in upgraded:
            self._deadlines.expect(request.group_id, member, beat.moment)
        return self._progress_by(draft, before, beat)

    def _progress_by(self, draft: Draft, before: ConsumerMember, beat: Heartbeat) -> Answer:
        group_id = draft.group.group_id
        after = self._progress.advance(draft, before, beat)
        self._deadlines.expect_heartbeat(group_id, after, beat.moment)
        if before.is_classic or _standing(after) != _standing(before):
            self._deadlines.expect_revocation(group_id, after, beat.moment)
        response = ConsumerGroupHeartbeatResponse(
            member_id=after.member_id,
            member_epoch=after.epoch,
            heartbeat_interval_ms=self._groups.config_of(group_id).heartbeat_interval_ms,
        )
        assigned = without_epochs(after.assigned)
        if beat.is_full or assigned != without_epochs(before.assigned):
            response.assignment = AssignmentToTell(
                topic_partitions=[
                    TopicPartitions(topic_id=topic_id, partitions=sorted(partitions))
                    for topic_id, partitions in sorted(assigned.items())
                ]
            )
        return response, draft.decision

    # -- leaving ---------------------------------------------------------------------------------

    def _leave(self, beat: Heartbeat) -> Answer:
        request = beat.request
        draft = Draft(self._groups.existing(request.group_id))
        member = known_member(draft.group, request.member_id, request.instance_id)
        response = ConsumerGroupHeartbeatResponse(
            member_id=request.member_id, member_epoch=request.member_epoch
        )
        if request.instance_id is None or request.member_epoch != LEAVING_STATIC:
            return response, self._remove(draft.group, [member], beat.moment)
        # It keeps its partitions until its session ends: it will be back, and may then commit
        # whatever epoch it has by that time.
        left = slotted.evolve(
            member,
            epoch=LEAVING_STATIC,
            revoking={},
            assigned={
                topic_id: dict.fromkeys(epochs, 0) for topic_id, epochs in member.assigned.items()
            },
        )
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
        return results, self._remove(group, list(leaving.values()), moment)

    def _remove(
        self, group: ConsumerGroup, members: list[ConsumerMember], moment: Moment
    ) -> Decision:
        draft, group_id = Draft(group), group.group_id
        leaving = [member.member_id for member in members]
        log.info("Members %s leave group %r", ", ".join(leaving), group_id)
        if self._downgrade.is_due(group, leaving):
            reason = "its last members with the consumer protocol have left"
            return self._downgrade.begin(
                group, draft, leaving=leaving, rebalance_because=reason, moment=moment
            )
        for member_id in leaving:
            self._deadlines.forget(group_id, member_id)
        remove_members(draft, members, self._topics)

        def when_written(error: ErrorCode) -> None:
            if error:  # they are still there, and their time begins again
                for member in members:
                    self._deadlines.expect(group_id, member, moment)

        return slotted.evolve(draft.decision, when_written=when_written)

    # -- deadlines -------------------------------------------------------------------------------

    def loaded(self, moment: Moment) -> None:
        """Begin the sessions of all members that were read from the log."""
        for group in self._groups:
            for member in group.members.values():
                self._deadlines.expect(group.group_id, member, moment)

    def _expire(
        self, group_id: str, member_id: str, reason: str, epoch: int | None, moment: Moment
    ) -> Decision:
        try:
            group = self._groups.existing(group_id)
            member = group.member(member_id)
        except ApiError:
            return NOTHING  # it was replaced, or the group is of another type by now
        if epoch not in (None, member.epoch):
            return NOTHING
        log.info("Member %r of group %r is removed: %s", member_id, group_id, reason)
        return self._remove(group, [member], moment)


def _standing(member: ConsumerMember) -> tuple[object, ...]:
    return member.epoch, member.state, member.assigned, member.revoking


def _leaver(group: ConsumerGroup, member_id: str, instance_id: str | None) -> ConsumerMember:
    if instance_id is None:
        return group.member(member_id)
    member = group.static_member(instance_id)
    if member_id:  # an administrator has none (KIP-345)
        check_not_fenced(member, member_id)
    return member
