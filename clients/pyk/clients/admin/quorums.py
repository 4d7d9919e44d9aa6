"""The quorum of the metadata log, and elections of leaders. Pure."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from uuid import UUID

from pyk.clients.admin.replica_places import by_topic
from pyk.clients.errors import ElectionNotNeededError, KafkaError, error_for
from pyk.clients.topic_partition import TopicPartition
from pyk.protocol.errors import ErrorCode
from pyk.protocol.fields import ZERO_UUID
from pyk.protocol.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    ReplicaState,
    RequestPartitionData,
    RequestTopicData,
)
from pyk.protocol.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    TopicPartitions,
)
from pyk.runtime import slotted

METADATA_TOPIC = "__cluster_metadata"


class ElectionType(enum.IntEnum):
    """How a leader is chosen."""

    PREFERRED = 0
    """The first of the replicas."""
    UNCLEAN = 1
    """Any replica that is left, if none is in sync; records may be lost."""


@slotted.frozen
class QuorumReplica:
    """A node that holds the metadata log."""

    replica_id: int
    log_end_offset: int
    last_fetch_timestamp: int | None
    """In ms since 1970; None if the leader does not know."""
    last_caught_up_timestamp: int | None
    directory_id: UUID | None = None
    """Which of its disks a voter votes with; known since Kafka 3.9 (KIP-853)."""


@slotted.frozen
class QuorumInfo:
    """The quorum of the metadata log (KIP-595)."""

    leader_id: int
    leader_epoch: int
    high_watermark: int
    voters: tuple[QuorumReplica, ...]
    observers: tuple[QuorumReplica, ...]
    endpoints: dict[int, tuple[str, ...]]
    """Where controllers listen, as ``LISTENER://HOST:PORT``, by their id; known since Kafka 3.9."""


def quorum_request() -> DescribeQuorumRequest:
    partition = RequestPartitionData(partition_index=0)
    topic = RequestTopicData(topic_name=METADATA_TOPIC, partitions=[partition])
    return DescribeQuorumRequest(topics=[topic])


def described_quorum(response: DescribeQuorumResponse) -> QuorumInfo:
    """Return the quorum; raise the error of the response or of its partition."""
    if response.error_code != ErrorCode.NONE:
        raise error_for(response.error_code, response.error_message, api_key=response.api_key)
    ((partition,),) = (topic.partitions for topic in response.topics)
    if partition.error_code != ErrorCode.NONE:
        raise error_for(partition.error_code, partition.error_message, api_key=response.api_key)
    return QuorumInfo(
        leader_id=partition.leader_id,
        leader_epoch=partition.leader_epoch,
        high_watermark=partition.high_watermark,
        voters=tuple(map(_replica, partition.current_voters)),
        observers=tuple(map(_replica, partition.observers)),
        endpoints={
            node.node_id: tuple(f"{one.name}://{one.host}:{one.port}" for one in node.listeners)
            for node in response.nodes
        },
    )


def _replica(state: ReplicaState) -> QuorumReplica:
    fetched, caught_up = (
        None if timestamp < 0 else timestamp
        for timestamp in (state.last_fetch_timestamp, state.last_caught_up_timestamp)
    )
    directory_id = state.replica_directory_id
    return QuorumReplica(
        replica_id=state.replica_id,
        log_end_offset=state.log_end_offset,
        last_fetch_timestamp=fetched,
        last_caught_up_timestamp=caught_up,
        directory_id=None if directory_id == ZERO_UUID else directory_id,
    )


def election_request(
    election_type: ElectionType, partitions: Iterable[TopicPartition] | None, timeout_ms: int
) -> ElectLeadersRequest:
    topics = None
    if partitions is not None:
        topics = [
            TopicPartitions(topic=topic, partitions=numbers)
            for topic, numbers in by_topic(partitions).items()
        ]
    return ElectLeadersRequest(
        election_type=election_type, topic_partitions=topics, timeout_ms=timeout_ms
    )


def elected(response: ElectLeadersResponse) -> dict[TopicPartition, bool | KafkaError]:
    """Return for each partition whether it has a new leader, or why it could not have one."""
    found: dict[TopicPartition, bool | KafkaError] = {}
    for topic in response.replica_election_results:
        for one in topic.partition_result:
            place = TopicPartition(topic.topic, one.partition_id)
            if one.error_code == ErrorCode.NONE:
                found[place] = True
                continue
            error = error_for(
                one.error_code,
                one.error_message,
                topic=topic.topic,
                partition=one.partition_id,
                api_key=response.api_key,
            )
            found[place] = False if isinstance(error, ElectionNotNeededError) else error
    if response.error_code != ErrorCode.NONE and not found:
        raise error_for(response.error_code, api_key=response.api_key)
    return found
