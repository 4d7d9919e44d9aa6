"""StopReplica: replicas that a broker is to give up, in ZooKeeper mode."""

from __future__ import annotations

from pyk.protocol.schema import (
    ApiKey,
    Message,
    Struct,
    array,
    boolean,
    int16,
    int32,
    int64,
    request,
    response,
    string,
    struct,
)


@struct
class StopReplicaPartitionV0(Struct):
    """A replica to stop, as version 0 names it."""

    topic_name: str = string()
    partition_index: int = int32()


@struct
class StopReplicaTopicV1(Struct):
    """Replicas of one topic to stop, as versions 1 and 2 name them."""

    name: str = string()
    partition_indexes: list[int] = array(int32)


@struct
class StopReplicaPartitionState(Struct):
    """A replica to stop."""

    partition_index: int = int32()
    leader_epoch: int = int32(default=-1)
    """An older one than the broker's is refused, except -1 (not known) and -2 (the topic is being
    deleted)."""
    delete_partition: bool = boolean()
    """Delete its data, too."""


@struct
class StopReplicaTopicState(Struct):
    """Replicas of one topic to stop."""

    topic_name: str = string()
    partition_states: list[StopReplicaPartitionState] = array(StopReplicaPartitionState)


@request(ApiKey.STOP_REPLICA, versions="0-4", flexible="2+")
class StopReplicaRequest(Message):
    """Tell a broker to stop replicas, as it goes offline, a partition moves or a topic is deleted.

    Sent by the controller. Brokers on KRaft take this from the metadata log; 4.0 removed the
    request.
    """

    controller_id: int = int32()
    is_k_raft_controller: bool = boolean(versions="4+")
    """The sender is a KRaft controller that migrates the cluster from ZooKeeper (KIP-866)."""
    controller_epoch: int = int32()
    broker_epoch: int = int64(versions="1+", default=-1, ignorable=True)
    """Registration of the broker that is meant; it refuses what was meant for an earlier one
    (KIP-380)."""
    delete_partitions: bool = boolean(versions="0-2")
    """Delete the data of all of them, too."""
    ungrouped_partitions: list[StopReplicaPartitionV0] = array(StopReplicaPartitionV0, versions="0")
    topics: list[StopReplicaTopicV1] = array(StopReplicaTopicV1, versions="1-2")
    topic_states: list[StopReplicaTopicState] = array(StopReplicaTopicState, versions="3+")


@struct
class StopReplicaPartitionError(Struct):
    """Whether one replica was stopped."""

    topic_name: str = string()
    partition_index: int = int32()
    error_code: int = int16()


@response(ApiKey.STOP_REPLICA, versions="0-4", flexible="2+")
class StopReplicaResponse(Message):
    """Say which replicas were stopped."""

    error_code: int = int16()
    partition_errors: list[StopReplicaPartitionError] = array(StopReplicaPartitionError)
