"""One heartbeat of a member of a streams group: what it says, and whether it may. Pure.

The checks have Kafka's order and messages.
"""

from __future__ import annotations

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.streams_group_heartbeat import StreamsGroupHeartbeatRequest
from pyk.reference_broker.errors import ApiError
from pyk.runtime import slotted
from pyk.runtime.timers import Moment

from .member import JOINING, LEAVING_STATIC, StreamsMember
from .tasks import Tasks, task_ids
from .topology import check_topology


@slotted.frozen(kw_only=True)
class StreamsHeartbeat:
    """One StreamsGroupHeartbeat, who sent it, and when."""

    request: StreamsGroupHeartbeatRequest
    client_id: str
    client_host: str
    moment: Moment

    @property
    def is_joining(self) -> bool:
        return self.request.member_epoch == JOINING

    @property
    def owned(self) -> Tasks | None:
        """The tasks that the member has, None if it does not say so."""
        request = self.request
        active, standby, warmup = request.active_tasks, request.standby_tasks, request.warmup_tasks
        if active is None or standby is None or warmup is None:
            return None
        return Tasks(active=task_ids(active), standby=task_ids(standby), warmup=task_ids(warmup))

    def describe(self, member: StreamsMember) -> StreamsMember:
        """Return a member with what the heartbeat says of it."""
        request = self.request
        endpoint, tags = request.user_endpoint, request.client_tags
        timeout_ms = request.rebalance_timeout_ms
        return slotted.evolve(
            member,
            rack_id=member.rack_id if request.rack_id is None else request.rack_id,
            client_id=self.client_id,
            client_host=self.client_host,
            rebalance_timeout_ms=member.rebalance_timeout_ms if timeout_ms == -1 else timeout_ms,
            topology_epoch=member.topology_epoch
            if request.topology is None
            else request.topology.epoch,
            process_id=member.process_id if request.process_id is None else request.process_id,
            user_endpoint=member.user_endpoint
            if endpoint is None
            else (endpoint.host, endpoint.port),
            client_tags=member.client_tags
            if tags is None
            else {each.key: each.value for each in tags},
        )


def check_request(request: StreamsGroupHeartbeatRequest) -> None:
    """Raise unless the request makes sense by itself, and asks for nothing Kafka 4.3 has not."""
    _check_supported(request)
    for value, name in (
        (request.member_id, "MemberId"),
        (request.group_id, "GroupId"),
        (request.instance_id, "InstanceId"),
        (request.rack_id, "RackId"),
    ):
        if value is not None and not value.strip():
            raise _invalid(f"{name} can't be empty.")
    if request.member_epoch == JOINING:
        _check_join(request)
    elif request.member_epoch == LEAVING_STATIC:
        raise _invalid("InstanceId can't be null.")  # and there are no static members yet
    elif request.member_epoch < LEAVING_STATIC:
        raise _invalid(
            f"MemberEpoch is {request.member_epoch}, but must be greater than or equal to -2."
        )
    given = [
        tasks is not None
        for tasks in (request.active_tasks, request.standby_tasks, request.warmup_tasks)
    ]
    if any(given) and not all(given):
        raise _invalid("If one task-type is non-null, all must be non-null.")
    if request.member_epoch != JOINING and request.topology is not None:
        raise _invalid("Topology can only be provided when (re-)joining.")


def _check_supported(request: StreamsGroupHeartbeatRequest) -> None:
    if request.instance_id is not None:
        raise _invalid("Static membership is not yet supported.")
    if request.task_offsets is not None:
        raise _invalid("TaskOffsets are not supported yet.")
    if request.task_end_offsets is not None:
        raise _invalid("TaskEndOffsets are not supported yet.")
    if request.warmup_tasks:
        raise _invalid("WarmupTasks are not supported yet.")
    if request.topology is not None and any(
        each.source_topic_regex for each in request.topology.subtopologies
    ):
        raise _invalid("Regular expressions for source topics are not supported yet.")


def _check_join(request: StreamsGroupHeartbeatRequest) -> None:
    if request.rebalance_timeout_ms == -1:
        raise _invalid("RebalanceTimeoutMs must be provided in first request.")
    for tasks, name in (
        (request.active_tasks, "ActiveTasks"),
        (request.standby_tasks, "StandbyTasks"),
        (request.warmup_tasks, "WarmupTasks"),
    ):
        if tasks is None or tasks:
            raise _invalid(f"{name} must be empty when (re-)joining.")
    if request.topology is None:
        raise _invalid("Topology must be non-null when (re-)joining.")
    check_topology(request.topology)


def check_epoch(member: StreamsMember, epoch: int, owned: Tasks | None) -> None:
    """Raise unless a heartbeat has the epoch of the member.

    The one before is taken from a member that has nothing which it should not have: it probably did
    not get the last answer.
    """
    if epoch in (JOINING, member.epoch):
        return
    is_former = epoch == member.previous_epoch and epoch < member.epoch
    if is_former and owned is not None and owned.is_part_of(member.assigned):
        return
    relation = "greater" if epoch > member.epoch else "smaller"
    raise ApiError(
        ErrorCode.FENCED_MEMBER_EPOCH,
        f"The streams group member has a {relation} member epoch ({epoch}) than the one known by "
        f"the group coordinator ({member.epoch}). The member must abandon all its partitions and "
        "rejoin.",
    )


def _invalid(message: str) -> ApiError:
    return ApiError(ErrorCode.INVALID_REQUEST, message)
