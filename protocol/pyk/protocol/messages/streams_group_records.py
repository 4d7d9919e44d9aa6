"""Records of ``__consumer_offsets`` about streams groups (KIP-1071).

A record without value deletes what its key names.
"""

from __future__ import annotations

from pyk.protocol.schema import (
    Message,
    Struct,
    array,
    coordinator_key,
    coordinator_value,
    int8,
    int16,
    int32,
    int64,
    nested,
    string,
    struct,
    uint16,
)


@coordinator_key(17)
class StreamsGroupMetadataKey(Message):
    """Key of the epoch of a streams group."""

    group_id: str = string()


@struct
class LastAssignmentConfig(Struct):
    """A setting of the group that its assignment depends on."""

    key: str = string()
    value: str = string()


@coordinator_value(17, versions="0", flexible="0+")
class StreamsGroupMetadataValue(Message):
    """The group has come to this epoch: members, topology, topics or settings have changed."""

    epoch: int = int32()
    metadata_hash: int = int64()
    """Of all topics with partitions and racks (KIP-1101); another hash asks for a new epoch."""
    validated_topology_epoch: int = int32(tag=0, default=-1)
    """Of the last topology whose topics were found to be as it needs them; -1 none."""
    last_assignment_configs: list[LastAssignmentConfig] | None = array(
        LastAssignmentConfig, nullable="0+", tag=1
    )
    """As of this epoch, to notice changes; empty if the writer did not say."""
    stored_description_topology_epoch: int = int32(tag=2, default=-1)
    """Of the topology description that is stored (KIP-1331); -1 none."""
    failed_description_topology_epoch: int = int32(tag=3, default=-1)
    """Of the one that could not be stored and is not asked for again; -1 none."""


@coordinator_key(23)
class StreamsGroupTopologyKey(Message):
    """Key of the topology of a streams group."""

    group_id: str = string()


@struct
class TopicConfig(Struct):
    """A setting of a topic."""

    key: str = string()
    value: str = string()


@struct
class TopicInfo(Struct):
    """A topic that the application needs and the coordinator creates."""

    name: str = string()
    partitions: int = int32()
    """0 where the partitions follow from other topics, as for every changelog."""
    replication_factor: int = int16()
    """0 for the default of the cluster."""
    topic_configs: list[TopicConfig] = array(TopicConfig)


@struct
class CopartitionGroup(Struct):
    """Topics that must have equally many partitions, by position in the subtopology's lists."""

    source_topics: list[int] = array(int16)
    source_topic_regex: list[int] = array(int16)
    repartition_source_topics: list[int] = array(int16)


@struct
class Subtopology(Struct):
    """A part of the topology that runs by itself, in one task for each partition of its sources."""

    subtopology_id: str = string()
    source_topics: list[str] = array(string)
    """Topics of others that it reads."""
    source_topic_regex: list[str] = array(string)
    """Patterns of topics of others that it reads."""
    state_changelog_topics: list[TopicInfo] = array(TopicInfo)
    """Topics in which its stores are kept."""
    repartition_sink_topics: list[str] = array(string)
    """Topics that it writes for other subtopologies."""
    repartition_source_topics: list[TopicInfo] = array(TopicInfo)
    """Topics that other subtopologies write for it."""
    copartition_groups: list[CopartitionGroup] = array(CopartitionGroup)


@coordinator_value(23, versions="0", flexible="0+")
class StreamsGroupTopologyValue(Message):
    """The topics and stores of the application, as its members have said when they joined."""

    epoch: int = int32()
    """Raised by the application when its topology changes."""
    subtopologies: list[Subtopology] = array(Subtopology)


@coordinator_key(19)
class StreamsGroupMemberMetadataKey(Message):
    """Key of the description that a member gave of itself."""

    group_id: str = string()
    member_id: str = string()


@struct
class Endpoint(Struct):
    """The address at which other instances of the application can query the stores of this one."""

    host: str = string()
    port: int = uint16()


@struct
class KeyValue(Struct):
    """A tag of a client."""

    key: str = string()
    value: str = string()


@coordinator_value(19, versions="0", flexible="0+")
class StreamsGroupMemberMetadataValue(Message):
    """A member of the group, as its heartbeats have described it."""

    instance_id: str | None = string(nullable="0+")
    rack_id: str | None = string(nullable="0+")
    client_id: str = string()
    client_host: str = string()
    rebalance_timeout_ms: int = int32(default=-1)
    topology_epoch: int = int32()
    """Of the topology it runs, which may be older than the group's."""
    process_id: str = string()
    """The same for all members in one process."""
    user_endpoint: Endpoint | None = nested(Endpoint, nullable="0+", default=None)
    client_tags: list[KeyValue] = array(KeyValue)


@coordinator_key(20)
class StreamsGroupTargetAssignmentMetadataKey(Message):
    """Key of the epoch of a group's target assignment."""

    group_id: str = string()


@coordinator_value(20, versions="0", flexible="0+")
class StreamsGroupTargetAssignmentMetadataValue(Message):
    """The target assignment of all members is complete for this group epoch."""

    assignment_epoch: int = int32()
    assignment_timestamp: int = int64(tag=0, ignorable=True)
    """When it was made; 0 if the writer did not say."""


@coordinator_key(21)
class StreamsGroupTargetAssignmentMemberKey(Message):
    """Key of the target assignment of one member."""

    group_id: str = string()
    member_id: str = string()


@struct
class TaskIds(Struct):
    """Tasks of one subtopology in a target assignment, named by their partitions."""

    subtopology_id: str = string()
    partitions: list[int] = array(int32)


@coordinator_value(21, versions="0", flexible="0+")
class StreamsGroupTargetAssignmentMemberValue(Message):
    """The tasks a member will have when all members have reconciled."""

    active_tasks: list[TaskIds] = array(TaskIds)
    standby_tasks: list[TaskIds] = array(TaskIds)
    warmup_tasks: list[TaskIds] = array(TaskIds)


@coordinator_key(22)
class StreamsGroupCurrentMemberAssignmentKey(Message):
    """Key of what a member has now."""

    group_id: str = string()
    member_id: str = string()


@struct
class CurrentTaskIds(Struct):
    """Tasks of one subtopology that a member has, named by their partitions."""

    subtopology_id: str = string()
    partitions: list[int] = array(int32)
    assignment_epochs: list[int] | None = array(int32, nullable="0+", tag=0)
    """The member epoch at which it got each task, which commits are checked against; empty if
    the writer did not say, and for all but active tasks."""


@coordinator_value(22, versions="0", flexible="0+")
class StreamsGroupCurrentMemberAssignmentValue(Message):
    """The progress of a member towards its target assignment."""

    member_epoch: int = int32()
    previous_member_epoch: int = int32()
    """Still accepted from a member that did not get the answer with the new one."""
    state: int = int8()
    """0 stable, 1 has tasks to give up, 2 waits for others to give up tasks."""
    active_tasks: list[CurrentTaskIds] = array(CurrentTaskIds)
    standby_tasks: list[CurrentTaskIds] = array(CurrentTaskIds)
    warmup_tasks: list[CurrentTaskIds] = array(CurrentTaskIds)
    active_tasks_pending_revocation: list[CurrentTaskIds] = array(CurrentTaskIds)
    """Those it must give up before it gets a new epoch; the same for the other tasks."""
    standby_tasks_pending_revocation: list[CurrentTaskIds] = array(CurrentTaskIds)
    warmup_tasks_pending_revocation: list[CurrentTaskIds] = array(CurrentTaskIds)
