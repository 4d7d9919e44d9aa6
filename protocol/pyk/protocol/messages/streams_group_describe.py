"""StreamsGroupDescribe: state, topology and members of streams groups (KIP-1071)."""

from __future__ import annotations

from pyk.protocol.schema import (
    ApiKey,
    Message,
    Struct,
    array,
    boolean,
    int8,
    int16,
    int32,
    int64,
    nested,
    request,
    response,
    string,
    struct,
    uint16,
)


@request(ApiKey.STREAMS_GROUP_DESCRIBE, versions="0-1", flexible="0+")
class StreamsGroupDescribeRequest(Message):
    """Ask the coordinator of these groups for their state and members, as an admin client does."""

    group_ids: list[str] = array(string)
    include_authorized_operations: bool = boolean()
    include_topology_description: bool = boolean(versions="1+")
    """Also ask for what the broker's plugin has stored (KIP-1331)."""


@struct
class KeyValue(Struct):
    """A setting or a tag."""

    key: str = string()
    value: str = string()


@struct
class TopicInfo(Struct):
    """An internal topic of the application."""

    name: str = string()
    partitions: int = int32()
    """0 if not known yet."""
    replication_factor: int = int16()
    """0 for the default of the cluster."""
    topic_configs: list[KeyValue] = array(KeyValue)


@struct
class Subtopology(Struct):
    """A part of the topology that runs by itself, in one task for each partition of its sources."""

    subtopology_id: str = string()
    source_topics: list[str] = array(string)
    """Topics of others that it reads."""
    repartition_sink_topics: list[str] = array(string)
    """Topics that it writes for other subtopologies."""
    state_changelog_topics: list[TopicInfo] = array(TopicInfo)
    """Topics in which its stores are kept."""
    repartition_source_topics: list[TopicInfo] = array(TopicInfo)
    """Topics that other subtopologies write for it."""


@struct
class Topology(Struct):
    """The topics and stores of the application, as far as tasks follow from them."""

    epoch: int = int32()
    """Raised by the application when its topology changes."""
    subtopologies: list[Subtopology] | None = array(Subtopology, nullable="0+", default=None)
    """None while the coordinator has none that fits the topics."""


@struct
class Endpoint(Struct):
    """The address at which other instances of the application can query the stores of this one."""

    host: str = string()
    port: int = uint16()


@struct
class TaskOffset(Struct):
    """The offset up to which a store of a task has been restored, or could be."""

    subtopology_id: str = string()
    partition: int = int32()
    offset: int = int64()


@struct
class TaskIds(Struct):
    """Tasks of one subtopology, named by their partitions."""

    subtopology_id: str = string()
    partitions: list[int] = array(int32)


@struct
class Assignment(Struct):
    """Tasks of one member."""

    active_tasks: list[TaskIds] = array(TaskIds)
    standby_tasks: list[TaskIds] = array(TaskIds)
    """Those whose stores it keeps up to date, to take over at once."""
    warmup_tasks: list[TaskIds] = array(TaskIds)
    """Those whose stores it is restoring, to become active here."""


@struct
class Member(Struct):
    """A member with its tasks."""

    member_id: str = string()
    member_epoch: int = int32()
    """The assignment epoch that the member has reached."""
    instance_id: str | None = string(nullable="0+", default=None)
    """Set for a static member."""
    rack_id: str | None = string(nullable="0+", default=None)
    client_id: str = string()
    client_host: str = string()
    topology_epoch: int = int32()
    """Of the topology it runs, which may be older than the group's."""
    process_id: str = string()
    """The same for all members in one process."""
    user_endpoint: Endpoint | None = nested(Endpoint, nullable="0+", default=None)
    client_tags: list[KeyValue] = array(KeyValue)
    """Where the member is, as its configuration says."""
    task_offsets: list[TaskOffset] = array(TaskOffset)
    """How far its tasks have restored their changelogs."""
    task_end_offsets: list[TaskOffset] = array(TaskOffset)
    """The ends of these changelogs."""
    assignment: Assignment = nested(Assignment)
    """The tasks it has now."""
    target_assignment: Assignment = nested(Assignment)
    """What it will have when all members have reconciled."""
    is_classic: bool = boolean()
    """It still speaks the classic protocol."""


@struct
class TopologyDescriptionNode(Struct):
    """A source, processor or sink."""

    name: str = string()
    node_type: int = int8()
    """1 source, 2 processor, 3 sink."""
    source_topics: list[str] = array(string)
    """Of a source; empty if they are found at run time."""
    sink_topic: str | None = string(nullable="1+", default=None)
    """Of a sink; None if it is chosen for each record."""
    stores: list[str] = array(string)
    """Of a processor."""
    successors: list[str] = array(string)
    """Names of the nodes that get its output."""


@struct
class TopologyDescriptionSubtopology(Struct):
    """The nodes of one subtopology."""

    subtopology_id: str = string()
    nodes: list[TopologyDescriptionNode] = array(TopologyDescriptionNode)


@struct
class TopologyDescriptionGlobalStore(Struct):
    """A store that every instance fills with the whole of a topic."""

    source: TopologyDescriptionNode = nested(TopologyDescriptionNode)
    processor: TopologyDescriptionNode = nested(TopologyDescriptionNode)


@struct
class TopologyDescription(Struct):
    """The topology of the application, for people to look at."""

    subtopologies: list[TopologyDescriptionSubtopology] = array(TopologyDescriptionSubtopology)
    global_stores: list[TopologyDescriptionGlobalStore] = array(TopologyDescriptionGlobalStore)


@struct
class DescribedGroup(Struct):
    """A group with its members."""

    error_code: int = int16()
    error_message: str | None = string(nullable="0+", default=None)
    group_id: str = string()
    group_state: str = string()
    group_epoch: int = int32()
    """Grows whenever members, topology or topics change."""
    assignment_epoch: int = int32()
    """The group epoch for which the target assignment was made; behind while it is being
    computed."""
    topology: Topology | None = nested(Topology, nullable="0+", default=None)
    """None if there is an error."""
    members: list[Member] = array(Member)
    authorized_operations: int = int32(default=-2147483648)
    """A bit per ACL operation; the lowest int32 if not asked for."""
    topology_description: TopologyDescription | None = nested(
        TopologyDescription, versions="1+", nullable="1+", default=None
    )
    topology_description_status: int = int8(versions="1+")
    """0 not asked for, 1 not stored, 2 the plugin failed, 3 here it is."""
    assignor_name: str | None = string(versions="1+", nullable="1+", default=None, ignorable=True)


@response(ApiKey.STREAMS_GROUP_DESCRIBE, versions="0-1", flexible="0+")
class StreamsGroupDescribeResponse(Message):
    """Describe groups; a group of another kind has GROUP_ID_NOT_FOUND."""

    throttle_time_ms: int = int32()
    groups: list[DescribedGroup] = array(DescribedGroup)
