"""Groups of Kafka Streams as the admin client describes them (KIP-1071). Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pyk.clients.admin.authorized_operations import authorized_operations
from pyk.clients.errors import KafkaError, error_for
from pyk.protocol.acls import AclOperation
from pyk.protocol.api_keys import ApiKey
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages import streams_group_describe as wire
from pyk.runtime import slotted


@slotted.frozen
class StreamsTopicInfo:
    """An internal topic of the application."""

    name: str
    partitions: int | None
    """None while the coordinator does not know it."""
    replication_factor: int | None
    """None for the default of the cluster."""
    configs: Mapping[str, str]


@slotted.frozen
class StreamsSubtopology:
    """A part of the topology that runs by itself, in one task for each partition of its sources."""

    subtopology_id: str
    source_topics: tuple[str, ...]
    repartition_sink_topics: tuple[str, ...]
    state_changelog_topics: Mapping[str, StreamsTopicInfo]
    repartition_source_topics: Mapping[str, StreamsTopicInfo]


@slotted.frozen
class StreamsAssignment:
    """Tasks of a member: the partitions of each subtopology, by its id."""

    active_tasks: Mapping[str, tuple[int, ...]]
    standby_tasks: Mapping[str, tuple[int, ...]]
    """Those whose stores the member keeps up to date, to take over at once."""
    warmup_tasks: Mapping[str, tuple[int, ...]]
    """Those whose stores the member restores, to become active there."""


@slotted.frozen
class StreamsTaskOffset:
    """The offset up to which the stores of a task have been restored, or could be."""

    subtopology_id: str
    partition: int
    offset: int


@slotted.frozen
class StreamsMemberDescription:
    """A member of a streams group and its tasks."""

    member_id: str
    member_epoch: int
    group_instance_id: str | None
    rack_id: str | None
    client_id: str
    host: str
    topology_epoch: int
    """Of the topology that it runs, which may be older than that of the group."""
    process_id: str
    user_endpoint: str | None
    """``host:port`` at which the stores of the member can be queried."""
    client_tags: Mapping[str, str]
    task_offsets: tuple[StreamsTaskOffset, ...]
    task_end_offsets: tuple[StreamsTaskOffset, ...]
    assignment: StreamsAssignment
    target_assignment: StreamsAssignment
    """The tasks it will have when all members have reconciled."""
    is_classic: bool


@slotted.frozen
class StreamsGroupDescription:
    """A group of Kafka Streams with its topology and members."""

    group_id: str
    state: str
    group_epoch: int
    target_assignment_epoch: int
    """The group epoch for which the assignment was made."""
    topology_epoch: int | None
    """None for a group that has no topology."""
    subtopologies: tuple[StreamsSubtopology, ...]
    coordinator_id: int
    members: tuple[StreamsMemberDescription, ...]
    authorized_operations: frozenset[AclOperation] | None = None
    """None if they were not asked for."""


def described_streams_groups(
    response: wire.StreamsGroupDescribeResponse, coordinator_id: int
) -> dict[str, StreamsGroupDescription | KafkaError]:
    """Return the description of each group, or its error."""
    return {
        group.group_id: (
            _described(group, coordinator_id)
            if group.error_code == ErrorCode.NONE
            else error_for(
                group.error_code,
                group.error_message,
                group_id=group.group_id,
                api_key=ApiKey.STREAMS_GROUP_DESCRIBE,
            )
        )
        for group in response.groups
    }


def _described(group: wire.DescribedGroup, coordinator_id: int) -> StreamsGroupDescription:
    topology = group.topology
    return StreamsGroupDescription(
        group_id=group.group_id,
        state=group.group_state,
        group_epoch=group.group_epoch,
        target_assignment_epoch=group.assignment_epoch,
        topology_epoch=None if topology is None else topology.epoch,
        subtopologies=tuple(map(_subtopology, (topology and topology.subtopologies) or ())),
        coordinator_id=coordinator_id,
        members=tuple(map(_member, group.members)),
        authorized_operations=authorized_operations(group.authorized_operations),
    )


def _subtopology(one: wire.Subtopology) -> StreamsSubtopology:
    return StreamsSubtopology(
        subtopology_id=one.subtopology_id,
        source_topics=tuple(one.source_topics),
        repartition_sink_topics=tuple(one.repartition_sink_topics),
        state_changelog_topics=_topics(one.state_changelog_topics),
        repartition_source_topics=_topics(one.repartition_source_topics),
    )


def _topics(topics: Iterable[wire.TopicInfo]) -> dict[str, StreamsTopicInfo]:
    return {
        one.name: StreamsTopicInfo(
            one.name,
            one.partitions or None,
            one.replication_factor or None,
            _pairs(one.topic_configs),
        )
        for one in topics
    }


def _member(member: wire.Member) -> StreamsMemberDescription:
    endpoint = member.user_endpoint
    return StreamsMemberDescription(
        member_id=member.member_id,
        member_epoch=member.member_epoch,
        group_instance_id=member.instance_id,
        rack_id=member.rack_id,
        client_id=member.client_id,
        host=member.client_host,
        topology_epoch=member.topology_epoch,
        process_id=member.process_id,
        user_endpoint=None if endpoint is None else f"{endpoint.host}:{endpoint.port}",
        client_tags=_pairs(member.client_tags),
        task_offsets=_offsets(member.task_offsets),
        task_end_offsets=_offsets(member.task_end_offsets),
        assignment=_assignment(member.assignment),
        target_assignment=_assignment(member.target_assignment),
        is_classic=member.is_classic,
    )


def _assignment(assignment: wire.Assignment) -> StreamsAssignment:
    return StreamsAssignment(
        _tasks(assignment.active_tasks),
        _tasks(assignment.standby_tasks),
        _tasks(assignment.warmup_tasks),
    )


def _tasks(tasks: Iterable[wire.TaskIds]) -> dict[str, tuple[int, ...]]:
    return {one.subtopology_id: tuple(one.partitions) for one in tasks}


def _offsets(offsets: Iterable[wire.TaskOffset]) -> tuple[StreamsTaskOffset, ...]:
    return tuple(
        StreamsTaskOffset(one.subtopology_id, one.partition, one.offset) for one in offsets
    )


def _pairs(pairs: Iterable[wire.KeyValue]) -> dict[str, str]:
    return {one.key: one.value for one in pairs}
