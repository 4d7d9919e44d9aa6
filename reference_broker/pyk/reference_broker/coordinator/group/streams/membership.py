"""The streams group protocol: what StreamsGroupHeartbeat and deadlines do to a group (KIP-1071).

A heartbeat lets a member join, takes it a step further (:mod:`.progress`), or lets it leave. The
first member of an empty group waits for others (``streams.initial.rebalance.delay.ms``) before
tasks are assigned. Members without a heartbeat for the session timeout are removed, and those that
do not give up tasks within their rebalance timeout.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.streams_group_heartbeat import StreamsGroupHeartbeatResponse, TaskIds
from pyk.reference_broker.coordinator.decision import NOTHING, Decision
from pyk.reference_broker.coordinator.group.streams_groups import StreamsGroups
from pyk.reference_broker.coordinator.shard_timers import ShardTimers
from pyk.reference_broker.errors import ApiError
from pyk.runtime import slotted
from pyk.runtime.timers import Moment

from .configured_topology import InternalTopic
from .endpoints import endpoints_of
from .heartbeat import StreamsHeartbeat, check_epoch, check_request
from .member import JOINING, MemberState, StreamsMember
from .progress import Draft, Progress, Step
from .records import epoch_record, member_tombstones
from .statuses import shutdown_application
from .streams_group import StreamsGroup
from .tasks import TaskId, by_subtopology

log = logging.getLogger(__name__)


@slotted.frozen
class HeartbeatAnswer:
    """The response to a member, and the internal topics that are to be created for the group."""

    response: StreamsGroupHeartbeatResponse
    missing_topics: tuple[InternalTopic, ...] = ()


Answer = tuple[HeartbeatAnswer, Decision]


class StreamsMembership:
    """The members of the streams groups of one shard."""

    def __init__(self, groups: StreamsGroups, timers: ShardTimers) -> None:
        self._groups = groups
        self._topics = groups.topics
        self._timers = timers

    # -- StreamsGroupHeartbeat -------------------------------------------------------------------

    def heartbeat(self, beat: StreamsHeartbeat) -> Answer:
        """Return the answer to a member and the decision about it; raise :class:`ApiError`."""
        request = beat.request
        check_request(request)
        if request.member_epoch < JOINING:
            return self._leave(beat)
        if beat.is_joining:
            draft = self._groups.draft_for_joining(request.group_id)
            self._check_room(draft.group)
            before = draft.group.members.get(
                request.member_id, StreamsMember(member_id=request.member_id)
            )
        else:
            draft = Draft(self._groups.joined(request.group_id))
            before = draft.group.member(request.member_id)
        check_epoch(before, request.member_epoch, beat.owned)
        return self._progress(draft, before, beat)

    def _check_room(self, group: StreamsGroup) -> None:
        max_size = self._groups.config_of(group.group_id).max_size
        if len(group.members) >= max_size:  # members that join again are counted twice, as in Kafka
            raise ApiError(
                ErrorCode.GROUP_MAX_SIZE_REACHED,
                f"The streams group has reached its maximum capacity of {max_size} members.",
            )

    def _progress(self, draft: Draft, before: StreamsMember, beat: StreamsHeartbeat) -> Answer:
        known, group_id = draft.group, draft.group.group_id
        config = self._groups.config_of(group_id)
        delay_key = _delay_key(group_id)
        delay_ms = config.initial_rebalance_delay_ms
        begins_delay = known.is_empty and delay_ms > 0 and not self._timers.has(delay_key)
        step = Progress(self._topics, config).advance(
            known,
            draft,
            before,
            beat,
            awaits_others=begins_delay or self._timers.has(delay_key),
        )
        if begins_delay:
            self._timers.schedule(
                delay_key,
                beat.moment.after(delay_ms),
                lambda moment: self._assign_delayed(group_id, moment),
            )
        self._expect(group_id, before, step.member, beat.moment)
        if beat.request.shutdown_application and known.shutdown_requester is None:
            known.shutdown_requester = before.member_id
        response = self._response(known, before, step, beat)
        response.heartbeat_interval_ms = config.heartbeat_interval_ms
        return HeartbeatAnswer(response, step.topology.missing), draft.decision

    def _response(
        self, known: StreamsGroup, before: StreamsMember, step: Step, beat: StreamsHeartbeat
    ) -> StreamsGroupHeartbeatResponse:
        after, topology = step.member, step.topology
        response = StreamsGroupHeartbeatResponse(
            member_id=after.member_id, member_epoch=after.epoch, status=step.statuses
        )
        if beat.is_joining or after.assigned != before.assigned:
            response.active_tasks = _listed(after.assigned.active)
            response.standby_tasks = _listed(after.assigned.standby)
            response.warmup_tasks = _listed(after.assigned.warmup)
            if after.user_endpoint is not None:
                known.endpoint_epoch += 1
        if known.endpoint_epoch != beat.request.endpoint_information_epoch:
            members = {**known.members, after.member_id: after}
            response.partitions_by_user_endpoint = endpoints_of(
                members.values(), topology, self._topics.count_of
            )
        if known.group_id in self._groups:
            response.endpoint_information_epoch = known.endpoint_epoch
        if topology.problem is not None:
            step.statuses.append(topology.problem)
        if known.shutdown_requester is not None:
            step.statuses.append(shutdown_application(known.shutdown_requester))
        return response

    # -- the first assignment of an empty group --------------------------------------------------

    def _assign_delayed(self, group_id: str, moment: Moment) -> Decision:
        """Assign what the members that have come by now want."""
        try:
            group = self._groups.existing(group_id)
        except ApiError:
            return NOTHING
        topology = group.configured
        if group.is_empty or topology is None or group.epoch <= group.assignment_epoch:
            return NOTHING  # the next heartbeat goes on
        progress = Progress(self._topics, self._groups.config_of(group_id))
        if not progress.is_assignment_due(group, moment):
            return NOTHING
        draft = Draft(group)
        progress.assign(draft, topology, moment)
        return draft.decision

    def group_deleted(self, group_id: str) -> None:
        """Wait no longer for the members of a group."""
        self._timers.cancel(_delay_key(group_id))

    # -- leaving ---------------------------------------------------------------------------------

    def _leave(self, beat: StreamsHeartbeat) -> Answer:
        request = beat.request
        group = self._groups.existing(request.group_id)
        if request.shutdown_application and group.shutdown_requester is None:
            group.shutdown_requester = request.member_id
        member = group.member(request.member_id)
        response = StreamsGroupHeartbeatResponse(
            member_id=request.member_id, member_epoch=request.member_epoch, status=[]
        )
        return HeartbeatAnswer(response), self._remove(group, member, beat.moment)

    def _remove(self, group: StreamsGroup, member: StreamsMember, moment: Moment) -> Decision:
        group_id, member_id = group.group_id, member.member_id
        log.info("Member %r leaves streams group %r", member_id, group_id)
        for key in (_session_key(group_id, member_id), _rebalance_key(group_id, member_id)):
            self._timers.cancel(key)
        draft = Draft(group)
        draft.add(
            *member_tombstones(group_id, member_id),
            epoch_record(
                group_id,
                group.epoch + 1,
                group.metadata_hash,
                group.validated_topology_epoch,
                group.assignment_configs,
            ),
        )

        def when_written(error: ErrorCode) -> None:
            if error:  # it is still there, and its time begins again
                self._expect_heartbeat(group_id, member_id, moment)
                self._expect_revocation(group_id, member, moment)

        return slotted.evolve(draft.decision, when_written=when_written)

    # -- deadlines -------------------------------------------------------------------------------

    def loaded(self, moment: Moment) -> None:
        """Begin the sessions of all members that were read from the log."""
        for group in self._groups:
            for member in group.members.values():
                self._expect_heartbeat(group.group_id, member.member_id, moment)
                self._expect_revocation(group.group_id, member, moment)

    def _expect(
        self, group_id: str, before: StreamsMember, after: StreamsMember, moment: Moment
    ) -> None:
        self._expect_heartbeat(group_id, after.member_id, moment)
        if _standing(after) != _standing(before):
            self._expect_revocation(group_id, after, moment)

    def _expect_heartbeat(self, group_id: str, member_id: str, moment: Moment) -> None:
        deadline = moment.after(self._groups.config_of(group_id).session_timeout_ms)
        self._timers.schedule(
            _session_key(group_id, member_id),
            deadline,
            lambda moment: self._expire(group_id, member_id, "its session has ended", None, moment),
        )

    def _expect_revocation(self, group_id: str, member: StreamsMember, moment: Moment) -> None:
        key = _rebalance_key(group_id, member.member_id)
        if member.state is not MemberState.UNREVOKED_TASKS:
            self._timers.cancel(key)
            return
        member_id, epoch = member.member_id, member.epoch
        reason = "it has not given up its tasks in time"
        self._timers.schedule(
            key,
            moment.after(member.rebalance_timeout_ms),
            lambda moment: self._expire(group_id, member_id, reason, epoch, moment),
        )

    def _expire(
        self, group_id: str, member_id: str, reason: str, epoch: int | None, moment: Moment
    ) -> Decision:
        try:
            group = self._groups.existing(group_id)
            member = group.member(member_id)
        except ApiError:
            return NOTHING
        if epoch not in (None, member.epoch):
            return NOTHING
        log.info("Member %r of streams group %r is removed: %s", member_id, group_id, reason)
        return self._remove(group, member, moment)


def _standing(member: StreamsMember) -> tuple[object, ...]:
    return (
        member.epoch,
        member.previous_epoch,
        member.state,
        member.assigned,
        member.revoking,
    )


def _listed(tasks: Iterable[TaskId]) -> list[TaskIds]:
    return [
        TaskIds(subtopology_id=subtopology_id, partitions=partitions)
        for subtopology_id, partitions in by_subtopology(tasks)
    ]


def _session_key(group_id: str, member_id: str) -> tuple[str, ...]:
    return ("streams session", group_id, member_id)


def _rebalance_key(group_id: str, member_id: str) -> tuple[str, ...]:
    return ("streams rebalance", group_id, member_id)


def _delay_key(group_id: str) -> tuple[str, ...]:
    return ("streams initial rebalance", group_id)
