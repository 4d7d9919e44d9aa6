"""Streams groups as StreamsGroupDescribe shows them. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from pyk.protocol.messages import streams_group_records as log_records
from pyk.protocol.messages.streams_group_describe import (
    Assignment,
    DescribedGroup,
    Endpoint,
    KeyValue,
    Member,
    Subtopology,
    TaskIds,
    TopicInfo,
    Topology,
)

from .configured_topology import ConfiguredSubtopology, ConfiguredTopology, InternalTopic
from .member import StreamsMember
from .streams_group import StreamsGroup
from .tasks import TaskId, Tasks, by_subtopology
from .topology import Topology as KnownTopology


def describe_streams_group(group: StreamsGroup) -> DescribedGroup:
    """Return a group with its members.

    Its internal topics have their partitions once the topology fits the topics of the cluster.
    """
    configured = group.configured
    if configured is not None and configured.is_ready:
        topology: Topology | None = _configured(configured)
    else:
        topology = None if group.topology is None else _topology(group.topology)
    return DescribedGroup(
        group_id=group.group_id,
        group_state=group.state.value,
        group_epoch=group.epoch,
        assignment_epoch=group.assignment_epoch,
        topology=topology,
        members=[
            _described(member, group.targets.get(member.member_id, Tasks()))
            for member in group.members.values()
        ],
    )


# -- topologies ----------------------------------------------------------------------------------


def _configured(topology: ConfiguredTopology) -> Topology:
    return Topology(
        epoch=topology.epoch,
        subtopologies=[
            _configured_subtopology(subtopology_id, each)
            for subtopology_id, each in (topology.subtopologies or {}).items()
        ],
    )


def _configured_subtopology(subtopology_id: str, one: ConfiguredSubtopology) -> Subtopology:
    return Subtopology(
        subtopology_id=subtopology_id,
        source_topics=list(one.source_topics),
        repartition_sink_topics=list(one.repartition_sink_topics),
        repartition_source_topics=list(map(_internal_topic, one.repartition_source_topics)),
        state_changelog_topics=list(map(_internal_topic, one.state_changelog_topics)),
    )


def _internal_topic(one: InternalTopic) -> TopicInfo:
    return TopicInfo(
        name=one.name,
        partitions=one.partitions,
        replication_factor=one.replication_factor,
        topic_configs=[KeyValue(key=key, value=value) for key, value in one.configs],
    )


def _topology(topology: KnownTopology) -> Topology:
    return Topology(
        epoch=topology.epoch,
        subtopologies=[
            Subtopology(
                subtopology_id=subtopology_id,
                source_topics=sorted(each.source_topics),
                repartition_sink_topics=sorted(each.repartition_sink_topics),
                repartition_source_topics=_topics(each.repartition_source_topics),
                state_changelog_topics=_topics(each.state_changelog_topics),
            )
            for subtopology_id, each in sorted(topology.subtopologies.items())
        ],
    )


def _topics(topics: Iterable[log_records.TopicInfo]) -> list[TopicInfo]:
    return [
        TopicInfo(
            name=each.name,
            partitions=each.partitions,
            replication_factor=each.replication_factor,
            topic_configs=[
                KeyValue(key=config.key, value=config.value) for config in each.topic_configs
            ],
        )
        for each in sorted(topics, key=lambda topic: topic.name)
    ]


# -- members -------------------------------------------------------------------------------------


def _described(member: StreamsMember, target: Tasks) -> Member:
    endpoint, assigned = member.user_endpoint, member.assigned
    return Member(
        member_id=member.member_id,
        member_epoch=member.epoch,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        topology_epoch=member.topology_epoch,
        process_id=member.process_id,
        user_endpoint=None if endpoint is None else Endpoint(host=endpoint[0], port=endpoint[1]),
        client_tags=[KeyValue(key=key, value=value) for key, value in member.client_tags.items()],
        assignment=Assignment(
            active_tasks=_listed(assigned.active),
            standby_tasks=_listed(assigned.standby),
            warmup_tasks=_listed(assigned.warmup),
        ),
        target_assignment=Assignment(
            active_tasks=_listed(target.active),
            standby_tasks=_listed(target.standby),
            warmup_tasks=_listed(target.warmup),
        ),
    )


def _listed(tasks: Iterable[TaskId]) -> list[TaskIds]:
    return [
        TaskIds(subtopology_id=subtopology_id, partitions=partitions)
        for subtopology_id, partitions in by_subtopology(tasks)
    ]
