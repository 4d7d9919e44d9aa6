"""StreamsGroupHeartbeat: run tasks of a streams application (KIP-1071)."""

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


@struct
class KeyValue(Struct):
    """A setting or a tag."""

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
    topic_configs: list[KeyValue] = array(KeyValue)


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


@struct
class Topology(Struct):
    """The topics and stores of the application, as far as tasks follow from them."""

    epoch: int = int32()
    """Raised by the application when its topology changes."""
    subtopologies: list[Subtopology] = array(Subtopology)


@struct
class TaskIds(Struct):
    """Tasks of one subtopology, named by their partitions."""

    subtopology_id: str = string()
    partitions: list[int] = array(int32)


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


@request(ApiKey.STREAMS_GROUP_HEARTBEAT, versions="0-1", flexible="0+")
class StreamsGroupHeartbeatRequest(Message):
    """Join a streams group, stay in it, or leave it.

    A member, which is a thread of the application, sends it to the group coordinator every
    ``heartbeat_interval_ms``, and at once when its tasks have changed. It says everything when it
    joins and after an error, later only what changed since the last heartbeat; the rest is None or
    -1.
    """

    group_id: str = string()
    member_id: str = string()
    """Chosen by the member, a uuid, and kept as long as it lives."""
    member_epoch: int = int32()
    """The last one the member was given; 0 joins, -1 leaves, -2 leaves as a static member that
    will be back."""
    endpoint_information_epoch: int = int32()
    """Of the ``partitions_by_user_endpoint`` that the member knows."""
    instance_id: str | None = string(nullable="0+", default=None)
    """Makes the member static (KIP-345): it may restart without a rebalance."""
    rack_id: str | None = string(nullable="0+", default=None)
    rebalance_timeout_ms: int = int32(default=-1)
    """How long the coordinator waits for the member to give up tasks."""
    topology: Topology | None = nested(Topology, nullable="0+", default=None)
    """Set only when the member joins."""
    active_tasks: list[TaskIds] | None = array(TaskIds, nullable="0+", default=None)
    """Those it runs now, which tells the coordinator what it has given up."""
    standby_tasks: list[TaskIds] | None = array(TaskIds, nullable="0+", default=None)
    """Those whose stores it keeps up to date, to take over at once."""
    warmup_tasks: list[TaskIds] | None = array(TaskIds, nullable="0+", default=None)
    """Those whose stores it is restoring, to become active here."""
    process_id: str | None = string(nullable="0+", default=None)
    """The same for all members in one process: a task's standby belongs in another."""
    user_endpoint: Endpoint | None = nested(Endpoint, nullable="0+", default=None)
    client_tags: list[KeyValue] | None = array(KeyValue, nullable="0+", default=None)
    """Where the member is, to spread standby tasks over zones, say."""
    task_offsets: list[TaskOffset] | None = array(TaskOffset, nullable="0+", default=None)
    """How far its tasks have restored their changelogs, every ``task_offset_interval_ms``."""
    task_end_offsets: list[TaskOffset] | None = array(TaskOffset, nullable="0+", default=None)
    """The ends of these changelogs."""
    shutdown_application: bool = boolean()
    """Ask all members of the group to shut down."""


@struct
class Status(Struct):
    """Something the application should know of its group."""

    status_code: int = int8()
    """0 the member's topology is an old one, 1 source topics are missing, 2 partition counts do
    not fit, 3 internal topics are missing, 4 a member asks all to shut down."""
    status_detail: str = string()


@struct
class TopicPartition(Struct):
    """Partitions of one topic."""

    topic: str = string()
    partitions: list[int] = array(int32)


@struct
class EndpointToPartitions(Struct):
    """The stores of an instance, by the partitions that they come from."""

    user_endpoint: Endpoint = nested(Endpoint)
    active_partitions: list[TopicPartition] = array(TopicPartition)
    standby_partitions: list[TopicPartition] = array(TopicPartition)


@response(ApiKey.STREAMS_GROUP_HEARTBEAT, versions="0-1", flexible="0+")
class StreamsGroupHeartbeatResponse(Message):
    """Tell a member its epoch, when to come back, and its tasks when they have changed."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+", default=None)
    member_id: str = string()
    member_epoch: int = int32()
    heartbeat_interval_ms: int = int32()
    acceptable_recovery_lag_legacy: int = int32(versions="0")
    """``acceptable_recovery_lag`` as version 0 has it."""
    task_offset_interval_ms: int = int32()
    """How often to report ``task_offsets``."""
    acceptable_recovery_lag: int = int64(versions="1+", default=-1, ignorable=True)
    """How many records of its changelogs a task may lack to become active; -1 unknown."""
    status: list[Status] | None = array(Status, nullable="0+")
    """None: unchanged."""
    active_tasks: list[TaskIds] | None = array(TaskIds, nullable="0+", default=None)
    """None: unchanged; the same for the other tasks."""
    standby_tasks: list[TaskIds] | None = array(TaskIds, nullable="0+", default=None)
    warmup_tasks: list[TaskIds] | None = array(TaskIds, nullable="0+", default=None)
    topology_description_required: bool = boolean(versions="1+")
    """Asks for a StreamsGroupTopologyDescriptionUpdate (KIP-1331)."""
    endpoint_information_epoch: int = int32()
    partitions_by_user_endpoint: list[EndpointToPartitions] | None = array(
        EndpointToPartitions, nullable="0+", default=None
    )
    """Where to ask for what; None: unchanged."""
