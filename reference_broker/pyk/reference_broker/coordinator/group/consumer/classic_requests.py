"""The classic protocol in a consumer group: what JoinGroup, SyncGroup and Heartbeat do to it.

While a group moves from one protocol to the other it has members of both. A classic member of a
consumer group has no leader above it: the coordinator assigns. Its generation is its member epoch.
A JoinGroup takes it a step towards its target, as a heartbeat does for the others, and SyncGroup
tells it the partitions. Heartbeats tell it when to join again.
"""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

from pyk.protocol.errors import ErrorCode, ProtocolError
from pyk.protocol.messages.consumer_protocol import ConsumerProtocolSubscription
from pyk.protocol.messages.heartbeat import HeartbeatRequest
from pyk.protocol.messages.join_group import JoinGroupResponse
from pyk.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from pyk.reference_broker.coordinator.decision import NOTHING, Decision
from pyk.reference_broker.coordinator.group.consumer_groups import ConsumerGroups
from pyk.reference_broker.coordinator.group.downgrade import Downgrade
from pyk.reference_broker.coordinator.group.membership import UNKNOWN_MEMBER_ID, Join
from pyk.reference_broker.coordinator.group.responses import DeferredSync, refuse_sync
from pyk.reference_broker.coordinator.group.subscription import CONSUMER_PROTOCOL_TYPE
from pyk.reference_broker.errors import ApiError
from pyk.runtime import slotted
from pyk.runtime.timers import Moment

from .assignment import Assignment
from .classic_metadata import (
    check_protocols,
    classic_metadata,
    has_only_classic,
    must_join_again,
    protocols_of,
    read_subscription,
    with_ids,
    without_epochs,
    write_assignment,
)
from .consumer_group import ConsumerGroup, ConsumerGroupState
from .deadlines import Deadlines
from .draft import Draft
from .joining import check_room, joining_member, known_member
from .member import ConsumerMember, MemberState
from .migration import MigrationPolicy
from .progress import Progress


@slotted.frozen(kw_only=True)
class ClassicReport:
    """What a JoinGroup says of its member."""

    join: Join
    subscription: ConsumerProtocolSubscription
    owned: Assignment

    @property
    def moment(self) -> Moment:
        return self.join.moment

    @property
    def may_see(self) -> None:
        return None  # a classic member resolves its pattern itself

    def describe(self, member: ConsumerMember) -> ConsumerMember:
        join, rack_id = self.join, self.subscription.rack_id
        return slotted.evolve(
            member,
            instance_id=join.request.group_instance_id or member.instance_id,
            rack_id=member.rack_id if rack_id is None else rack_id,
            client_id=join.client_id,
            client_host=join.client_host,
            topic_names=frozenset(self.subscription.topics),
            pattern="",
            rebalance_timeout_ms=join.rebalance_timeout_ms,
            classic_metadata=classic_metadata(join.request.session_timeout_ms, join.protocols),
        )


class ClassicRequests:
    """Requests of classic members of the consumer groups of one shard."""

    def __init__(
        self,
        groups: ConsumerGroups,
        progress: Progress,
        deadlines: Deadlines,
        downgrade: Downgrade,
        new_uuid: Callable[[], UUID],
    ) -> None:
        self._groups = groups
        self._topics = groups.topics
        self._progress = progress
        self._deadlines = deadlines
        self._downgrade = downgrade
        self._new_uuid = new_uuid

    # -- JoinGroup -------------------------------------------------------------------------------

    def join(self, group: ConsumerGroup, join: Join) -> Decision:
        """Let a classic member join or rejoin; it waits for nobody."""
        try:
            return self._join(group, join)
        except ApiError as error:
            return join.refuse(error.code, UNKNOWN_MEMBER_ID)

    def _join(self, group: ConsumerGroup, join: Join) -> Decision:
        request = join.request
        config = self._groups.config_of(group.group_id)
        if config.migration_policy is MigrationPolicy.DISABLED:
            raise ApiError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        is_new = request.member_id == UNKNOWN_MEMBER_ID
        member_id = str(self._new_uuid()) if is_new else request.member_id
        check_room(group, member_id, config.max_size)
        check_protocols(group, request.protocol_type, join.protocols)
        instance_id = request.group_instance_id
        if is_new and instance_id is None and join.requires_known_member_id:
            return join.refuse(ErrorCode.MEMBER_ID_REQUIRED, member_id)
        report = self._report(join)
        draft = Draft(group)
        if is_new or instance_id is None:
            before = joining_member(draft, member_id, instance_id, is_classic=True)
        else:
            before = known_member(group, member_id, instance_id)
        replaced = None if instance_id is None else group.static_members.get(instance_id)
        if replaced is not None and self._downgrade.is_due_for_replaced(group, replaced):
            return self._join_downgraded(group, draft, before, report)
        after = self._progress.advance(draft, before, report)
        return self._joined(draft.decision, after, report, in_consumer_group=group.group_id)

    def _report(self, join: Join) -> ClassicReport:
        try:
            subscription = read_subscription(join.protocols[0][1])
        except ProtocolError:
            raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR) from None  # as in Kafka
        owned = with_ids(subscription.owned_partitions, self._topics)
        return ClassicReport(join=join, subscription=subscription, owned=owned)

    def _join_downgraded(
        self, group: ConsumerGroup, draft: Draft, before: ConsumerMember, report: ClassicReport
    ) -> Decision:
        """Let a classic member take the place of the last one with the consumer protocol."""
        has_new_subscription = self._progress.describe(draft, before, report)
        after = draft.group.members[before.member_id]
        if draft.group.state is not ConsumerGroupState.ASSIGNING:
            after = self._progress.reconcile(
                draft, before.member_id, report.owned, has_new_subscription=has_new_subscription
            )
        # Kafka begins a rebalance only for a new subscription. Others that are not at their target
        # would stay there: in a stable generation heartbeats do not tell them.
        is_stable = draft.group.state is ConsumerGroupState.STABLE
        decision = self._downgrade.begin(
            group,
            draft,
            leaving=(),
            rebalance_because=None if is_stable else "members are not at their target",
            moment=report.moment,
        )
        return self._joined(decision, after, report, in_consumer_group=None)

    def _joined(
        self,
        decision: Decision,
        member: ConsumerMember,
        report: ClassicReport,
        *,
        in_consumer_group: str | None,
    ) -> Decision:
        join = report.join
        response = JoinGroupResponse(
            generation_id=member.epoch,
            protocol_type=CONSUMER_PROTOCOL_TYPE,
            protocol_name=join.protocols[0][0],
            member_id=member.member_id,
        )

        def when_written(error: ErrorCode) -> None:
            decision.when_written(error)
            if error:
                join.refuse(error, UNKNOWN_MEMBER_ID)
                return
            if in_consumer_group is not None:
                self._deadlines.joined(in_consumer_group, member, join.moment)
            join.deferred.complete(response)

        return slotted.evolve(decision, when_written=when_written)

    # -- SyncGroup -------------------------------------------------------------------------------

    def sync(
        self,
        group: ConsumerGroup,
        request: SyncGroupRequest,
        deferred: DeferredSync,
        moment: Moment,
    ) -> Decision:
        """Tell a classic member what it is assigned."""
        try:
            member = _classic_member(
                group, request.member_id, request.group_instance_id, request.generation_id
            )
            _check_protocol(member, request)
            if (
                group.assignment_epoch > member.epoch
                and member.state is not MemberState.UNREVOKED_PARTITIONS
            ):
                self._deadlines.expect_join(group.group_id, member, moment)
                raise ApiError(ErrorCode.REBALANCE_IN_PROGRESS)
            response = SyncGroupResponse(
                protocol_type=request.protocol_type,
                protocol_name=request.protocol_name,
                assignment=write_assignment(
                    without_epochs(member.assigned), self._topics, _protocols(member)[0][1]
                ),
            )
        except ApiError as error:
            return refuse_sync(deferred, error.code)

        def when_written(error: ErrorCode) -> None:
            if error:
                refuse_sync(deferred, error)
                return
            self._deadlines.synced(group.group_id, member, moment)
            deferred.complete(response)

        return Decision(when_written=when_written)

    # -- Heartbeat -------------------------------------------------------------------------------

    def heartbeat(
        self, group: ConsumerGroup, request: HeartbeatRequest, moment: Moment
    ) -> tuple[ErrorCode, Decision]:
        """Prolong the session of a classic member; tell it when it has to join again."""
        try:
            member = _classic_member(
                group, request.member_id, request.group_instance_id, request.generation_id
            )
        except ApiError as error:
            return error.code, NOTHING
        self._deadlines.expect_heartbeat(group.group_id, member, moment)
        draft = self._looked_after(group, moment)
        if not must_join_again(draft.group, member):
            return ErrorCode.NONE, draft.decision
        self._deadlines.expect_join(group.group_id, member, moment)
        return ErrorCode.REBALANCE_IN_PROGRESS, draft.decision

    def _looked_after(self, group: ConsumerGroup, moment: Moment) -> Draft:
        """Return the group with its target, which only classic members can keep up to date here.

        Where no member speaks the consumer protocol, Kafka makes no assignment before one joins:
        what a member that has left had would be read by nobody until then.
        """
        draft = Draft(group)
        if has_only_classic(group, without=()):
            self._progress.look_at_topics(draft, moment)
            self._progress.assign_if_due(draft, moment)
        return draft


def _classic_member(
    group: ConsumerGroup, member_id: str, instance_id: str | None, generation_id: int
) -> ConsumerMember:
    member = known_member(group, member_id, instance_id)
    if not member.is_classic:
        raise ApiError(ErrorCode.UNKNOWN_MEMBER_ID)
    if member.epoch != generation_id:
        raise ApiError(ErrorCode.ILLEGAL_GENERATION)
    return member


def _check_protocol(member: ConsumerMember, request: SyncGroupRequest) -> None:
    has_other_type = request.protocol_type not in (None, CONSUMER_PROTOCOL_TYPE)
    if has_other_type or request.protocol_name not in (None, _protocols(member)[0][0]):
        raise ApiError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)


def _protocols(member: ConsumerMember) -> tuple[tuple[str, bytes], ...]:
    assert member.classic_metadata is not None
    return protocols_of(member.classic_metadata)
