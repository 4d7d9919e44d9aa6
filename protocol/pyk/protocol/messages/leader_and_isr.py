"""LeaderAndIsr: replicas that a broker is to lead or to follow, in ZooKeeper mode."""

from __future__ import annotations

from uuid import UUID

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
    request,
    response,
    string,
    struct,
    uuid,
)


@struct
class LeaderAndIsrPartitionState(Struct):
    """A partition of which the broker holds a replica."""

    topic_name: str = string(versions="0-1", ignorable=True)
    partition_index: int = int32()
    controller_epoch: int = int32()
    """Of the controller that chose the leader."""
    leader: int = int32()
    """-1: none; -2: the partition is being deleted."""
    leader_epoch: int = int32()
    isr: list[int] = array(int32)
    partition_epoch: int = int32()
    """Grows with every change of leader or in-sync replicas: the version of the partition's node in
    ZooKeeper."""
    replicas: list[int] = array(int32)
    adding_replicas: list[int] = array(int32, versions="3+", ignorable=True)
    removing_replicas: list[int] = array(int32, versions="3+", ignorable=True)
    is_new: bool = boolean(versions="1+", ignorable=True)
    """The broker is to make the replica. Otherwise it has it already, or the directory has failed
    in which it lies."""
    leader_recovery_state: int = int8(versions="6+")
    """1 after an unclean election, until the leader has recovered (KIP-704)."""


@struct
class LeaderAndIsrTopicState(Struct):
    """Partitions of one topic."""

    topic_name: str = string()
    topic_id: UUID = uuid(versions="5+", ignorable=True)
    partition_states: list[LeaderAndIsrPartitionState] = array(LeaderAndIsrPartitionState)


@struct
class LeaderAndIsrLiveLeader(Struct):
    """The address of a broker that leads one of the partitions."""

    broker_id: int = int32()
    host_name: str = string()
    port: int = int32()


@request(ApiKey.LEADER_AND_ISR, versions="0-7", flexible="4+")
class LeaderAndIsrRequest(Message):
    """Tell a broker which replicas it holds and who leads them.

    Sent by the controller when a broker starts and when leaders or replicas change. Brokers on
    KRaft take this from the metadata log; 4.0 removed the request.
    """

    controller_id: int = int32()
    is_k_raft_controller: bool = boolean(versions="7+")
    """The sender is a KRaft controller that migrates the cluster from ZooKeeper (KIP-866)."""
    controller_epoch: int = int32()
    broker_epoch: int = int64(versions="2+", default=-1, ignorable=True)
    """Registration of the broker that is meant; it refuses what was meant for an earlier one
    (KIP-380)."""
    type: int = int8(versions="5+")
    """0 not told, 1 only what changed, 2 all replicas that the broker should have."""
    ungrouped_partition_states: list[LeaderAndIsrPartitionState] = array(
        LeaderAndIsrPartitionState, versions="0-1"
    )
    topic_states: list[LeaderAndIsrTopicState] = array(LeaderAndIsrTopicState, versions="2+")
    live_leaders: list[LeaderAndIsrLiveLeader] = array(LeaderAndIsrLiveLeader)


@struct
class LeaderAndIsrPartitionError(Struct):
    """Whether the broker took over one partition."""

    topic_name: str = string(versions="0-4", ignorable=True)
    partition_index: int = int32()
    error_code: int = int16()


@struct
class LeaderAndIsrTopicError(Struct):
    """Whether the broker took over partitions of one topic."""

    topic_id: UUID = uuid()
    partition_errors: list[LeaderAndIsrPartitionError] = array(LeaderAndIsrPartitionError)


@response(ApiKey.LEADER_AND_ISR, versions="0-7", flexible="4+")
class LeaderAndIsrResponse(Message):
    """Say which partitions the broker took over."""

    error_code: int = int16()
    partition_errors: list[LeaderAndIsrPartitionError] = array(
        LeaderAndIsrPartitionError, versions="0-4"
    )
    topics: list[LeaderAndIsrTopicError] = array(LeaderAndIsrTopicError, versions="5+")
