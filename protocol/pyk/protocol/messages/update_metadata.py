"""UpdateMetadata: what brokers in ZooKeeper mode are to answer Metadata requests with."""

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
class UpdateMetadataPartitionState(Struct):
    """The state of a partition."""

    topic_name: str = string(versions="0-4", ignorable=True)
    partition_index: int = int32()
    controller_epoch: int = int32()
    """Of the controller that chose the leader."""
    leader: int = int32()
    """-1: none; -2: the partition has been deleted."""
    leader_epoch: int = int32()
    isr: list[int] = array(int32)
    zk_version: int = int32()
    """Version of the partition's node in ZooKeeper."""
    replicas: list[int] = array(int32)
    offline_replicas: list[int] = array(int32, versions="4+", ignorable=True)


@struct
class UpdateMetadataTopicState(Struct):
    """Partitions of one topic."""

    topic_name: str = string()
    topic_id: UUID = uuid(versions="7+", ignorable=True)
    partition_states: list[UpdateMetadataPartitionState] = array(UpdateMetadataPartitionState)


@struct
class UpdateMetadataEndpoint(Struct):
    """A listener of a broker."""

    port: int = int32()
    host: str = string()
    listener: str = string(versions="3+", ignorable=True)
    security_protocol: int = int16()
    """0 PLAINTEXT, 1 SSL, 2 SASL_PLAINTEXT, 3 SASL_SSL."""


@struct
class UpdateMetadataBroker(Struct):
    """A broker that is alive."""

    id: int = int32()
    v0_host: str = string(versions="0", ignorable=True)
    """The only listener that version 0 can tell of."""
    v0_port: int = int32(versions="0", ignorable=True)
    endpoints: list[UpdateMetadataEndpoint] = array(
        UpdateMetadataEndpoint, versions="1+", ignorable=True
    )
    rack: str | None = string(versions="2+", nullable="0+", ignorable=True)


@request(ApiKey.UPDATE_METADATA, versions="0-8", flexible="6+")
class UpdateMetadataRequest(Message):
    """Tell a broker about partitions and live brokers of the whole cluster.

    Sent by the controller to all brokers at every change. Brokers on KRaft take this from the
    metadata log; 4.0 removed the request.
    """

    controller_id: int = int32()
    is_k_raft_controller: bool = boolean(versions="8+")
    """The sender is a KRaft controller that migrates the cluster from ZooKeeper (KIP-866)."""
    type: int = int8(versions="8+", tag=0)
    """0 not told, 1 only what changed, 2 everything: topics not named are gone."""
    controller_epoch: int = int32()
    broker_epoch: int = int64(versions="5+", default=-1, ignorable=True)
    """Registration of the broker that is meant; it refuses what was meant for an earlier one
    (KIP-380)."""
    ungrouped_partition_states: list[UpdateMetadataPartitionState] = array(
        UpdateMetadataPartitionState, versions="0-4"
    )
    topic_states: list[UpdateMetadataTopicState] = array(UpdateMetadataTopicState, versions="5+")
    live_brokers: list[UpdateMetadataBroker] = array(UpdateMetadataBroker)


@response(ApiKey.UPDATE_METADATA, versions="0-8", flexible="6+")
class UpdateMetadataResponse(Message):
    """Return whether the broker applied the update."""

    error_code: int = int16()
