"""ElectLeaders: elect leaders now, by hand (KIP-460; preferred ones only in version 0, KIP-183)."""

from __future__ import annotations

from pyk.protocol.schema import (
    ApiKey,
    Message,
    Struct,
    array,
    int8,
    int16,
    int32,
    request,
    response,
    string,
    struct,
)


@struct
class TopicPartitions(Struct):
    """Partitions of one topic."""

    topic: str = string()
    partitions: list[int] = array(int32)


@request(ApiKey.ELECT_LEADERS, versions="0-2", flexible="2+")
class ElectLeadersRequest(Message):
    """Ask the controller to elect leaders, to balance the load or to revive dead partitions."""

    election_type: int = int8(versions="1+")
    """0 the preferred replica, 1 an unclean election: some replica that lives, though records may
    be lost."""
    topic_partitions: list[TopicPartitions] | None = array(TopicPartitions, nullable="0+")
    """None for all partitions."""
    timeout_ms: int = int32(default=60000)
    """How long to wait until the leaders are elected."""


@struct
class PartitionResult(Struct):
    """The outcome for one partition."""

    partition_id: int = int32()
    error_code: int = int16()
    """ELECTION_NOT_NEEDED if the leader is already the right one."""
    error_message: str | None = string(nullable="0+")


@struct
class ReplicaElectionResult(Struct):
    """The outcome for partitions of one topic."""

    topic: str = string()
    partition_result: list[PartitionResult] = array(PartitionResult)


@response(ApiKey.ELECT_LEADERS, versions="0-2", flexible="2+")
class ElectLeadersResponse(Message):
    """Say which partitions have a new leader."""

    throttle_time_ms: int = int32()
    error_code: int = int16(versions="1+")
    replica_election_results: list[ReplicaElectionResult] = array(ReplicaElectionResult)
