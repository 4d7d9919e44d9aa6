"""The records of ``__consumer_offsets`` about streams groups, in Kafka's own formats."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pyk.protocol.messages.streams_group_records import (
    CurrentTaskIds,
    Endpoint,
    KeyValue,
    LastAssignmentConfig,
    StreamsGroupCurrentMemberAssignmentKey,
    StreamsGroupCurrentMemberAssignmentValue,
    StreamsGroupMemberMetadataKey,
    StreamsGroupMemberMetadataValue,
    StreamsGroupMetadataKey,
    StreamsGroupMetadataValue,
    StreamsGroupTargetAssignmentMemberKey,
    StreamsGroupTargetAssignmentMemberValue,
    StreamsGroupTargetAssignmentMetadataKey,
    StreamsGroupTargetAssignmentMetadataValue,
    StreamsGroupTopologyKey,
    StreamsGroupTopologyValue,
)
from pyk.protocol.messages.streams_group_records import TaskIds as TargetTaskIds
from pyk.reference_broker.coordinator.records import CoordinatorRecord
from pyk.runtime import slotted

from .member import MemberState, StreamsMember
from .tasks import HeldTasks, TaskId, TaskIds, Tasks, by_subtopology, task_ids

Records = list[CoordinatorRecord]


# -- the group -----------------------------------------------------------------------------------


def epoch_record(
    group_id: str,
    epoch: int,
    metadata_hash: int,
    validated_topology_epoch: int,
    assignment_configs: Mapping[str, str],
) -> CoordinatorRecord:
    return CoordinatorRecord(
        StreamsGroupMetadataKey(group_id=group_id),
        StreamsGroupMetadataValue(
            epoch=epoch,
            metadata_hash=metadata_hash,
            validated_topology_epoch=validated_topology_epoch,
            last_assignment_configs=[
                LastAssignmentConfig(key=key, value=value)
                for key, value in sorted(assignment_configs.items())
            ],
        ),
    )


def topology_record(group_id: str, value: StreamsGroupTopologyValue) -> CoordinatorRecord:
    return CoordinatorRecord(StreamsGroupTopologyKey(group_id=group_id), value)


def target_epoch_record(group_id: str, epoch: int, time_ms: int) -> CoordinatorRecord:
    return CoordinatorRecord(
        StreamsGroupTargetAssignmentMetadataKey(group_id=group_id),
        StreamsGroupTargetAssignmentMetadataValue(
            assignment_epoch=epoch, assignment_timestamp=time_ms
        ),
    )


def streams_group_tombstones(group_id: str) -> Records:
    """Return the records that delete a group without members."""
    return [
        CoordinatorRecord(StreamsGroupTargetAssignmentMetadataKey(group_id=group_id)),
        CoordinatorRecord(StreamsGroupMetadataKey(group_id=group_id)),
        CoordinatorRecord(StreamsGroupTopologyKey(group_id=group_id)),
    ]


# -- its members ---------------------------------------------------------------------------------


def member_record(group_id: str, member: StreamsMember) -> CoordinatorRecord:
    endpoint = member.user_endpoint
    return CoordinatorRecord(
        StreamsGroupMemberMetadataKey(group_id=group_id, member_id=member.member_id),
        StreamsGroupMemberMetadataValue(
            instance_id=member.instance_id,
            rack_id=member.rack_id,
            client_id=member.client_id,
            client_host=member.client_host,
            rebalance_timeout_ms=member.rebalance_timeout_ms,
            topology_epoch=member.topology_epoch,
            process_id=member.process_id,
            user_endpoint=None
            if endpoint is None
            else Endpoint(host=endpoint[0], port=endpoint[1]),
            client_tags=[
                KeyValue(key=key, value=value) for key, value in sorted(member.client_tags.items())
            ],
        ),
    )


def target_record(group_id: str, member_id: str, target: Tasks) -> CoordinatorRecord:
    return CoordinatorRecord(
        StreamsGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id),
        StreamsGroupTargetAssignmentMemberValue(
            active_tasks=_target(target.active),
            standby_tasks=_target(target.standby),
            warmup_tasks=_target(target.warmup),
        ),
    )


def _target(tasks: TaskIds) -> list[TargetTaskIds]:
    return [
        TargetTaskIds(subtopology_id=subtopology_id, partitions=partitions)
        for subtopology_id, partitions in by_subtopology(tasks)
    ]


def current_record(group_id: str, member: StreamsMember) -> CoordinatorRecord:
    assigned, revoking = member.assigned, member.revoking
    return CoordinatorRecord(
        StreamsGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member.member_id),
        StreamsGroupCurrentMemberAssignmentValue(
            member_epoch=member.epoch,
            previous_member_epoch=member.previous_epoch,
            state=member.state,
            active_tasks=_with_epochs(assigned.active),
            standby_tasks=_current(assigned.standby),
            warmup_tasks=_current(assigned.warmup),
            active_tasks_pending_revocation=_with_epochs(revoking.active),
            standby_tasks_pending_revocation=_current(revoking.standby),
            warmup_tasks_pending_revocation=_current(revoking.warmup),
        ),
    )


def _current(tasks: TaskIds) -> list[CurrentTaskIds]:
    return [
        CurrentTaskIds(subtopology_id=subtopology_id, partitions=partitions)
        for subtopology_id, partitions in by_subtopology(tasks)
    ]


def _with_epochs(tasks: Mapping[TaskId, int]) -> list[CurrentTaskIds]:
    return [
        CurrentTaskIds(
            subtopology_id=subtopology_id,
            partitions=partitions,
            assignment_epochs=[tasks[TaskId(subtopology_id, number)] for number in partitions],
        )
        for subtopology_id, partitions in by_subtopology(tasks)
    ]


def member_tombstones(group_id: str, member_id: str) -> Records:
    """Return the records that remove a member, in the order that Kafka demands."""
    return [
        CoordinatorRecord(
            StreamsGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member_id)
        ),
        CoordinatorRecord(
            StreamsGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id)
        ),
        CoordinatorRecord(StreamsGroupMemberMetadataKey(group_id=group_id, member_id=member_id)),
    ]


# -- back from the log ---------------------------------------------------------------------------


def described_member(
    before: StreamsMember, value: StreamsGroupMemberMetadataValue
) -> StreamsMember:
    """Return a member with the description in a record."""
    endpoint = value.user_endpoint
    return slotted.evolve(
        before,
        instance_id=value.instance_id,
        rack_id=value.rack_id,
        client_id=value.client_id,
        client_host=value.client_host,
        rebalance_timeout_ms=value.rebalance_timeout_ms,
        topology_epoch=value.topology_epoch,
        process_id=value.process_id,
        user_endpoint=None if endpoint is None else (endpoint.host, endpoint.port),
        client_tags={each.key: each.value for each in value.client_tags},
    )


def reconciled_member(
    before: StreamsMember, value: StreamsGroupCurrentMemberAssignmentValue
) -> StreamsMember:
    """Return a member with the progress in a record."""
    return slotted.evolve(
        before,
        epoch=value.member_epoch,
        previous_epoch=value.previous_member_epoch,
        state=MemberState(value.state),
        assigned=HeldTasks(
            active=_epochs_of(value.active_tasks, value.member_epoch),
            standby=task_ids(value.standby_tasks),
            warmup=task_ids(value.warmup_tasks),
        ),
        revoking=HeldTasks(
            active=_epochs_of(value.active_tasks_pending_revocation, value.member_epoch),
            standby=task_ids(value.standby_tasks_pending_revocation),
            warmup=task_ids(value.warmup_tasks_pending_revocation),
        ),
    )


def _epochs_of(listed: Iterable[CurrentTaskIds], member_epoch: int) -> dict[TaskId, int]:
    """Return the epoch of each task; an older writer gave none, so that of the member counts."""
    found: dict[TaskId, int] = {}
    for each in listed:
        epochs = each.assignment_epochs or ()
        if len(epochs) != len(each.partitions):
            epochs = [member_epoch] * len(each.partitions)
        for partition, epoch in zip(each.partitions, epochs, strict=True):
            found[TaskId(each.subtopology_id, partition)] = epoch
    return found


def target_tasks(value: StreamsGroupTargetAssignmentMemberValue) -> Tasks:
    """Return the target in a record."""
    return Tasks(
        active=task_ids(value.active_tasks),
        standby=task_ids(value.standby_tasks),
        warmup=task_ids(value.warmup_tasks),
    )
