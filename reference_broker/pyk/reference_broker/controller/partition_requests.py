"""ElectLeaders and the reassignments of partitions, as a cluster of one node answers them. Pure.

Every partition has one replica, which leads it: no election is needed, and none can move. While
the log directory of a replica is offline, its partition has no leader, and none can be elected.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)
from pyk.protocol.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)
from pyk.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsResponse,
)
from pyk.reference_broker.errors import ApiError

from .image import NO_LEADER, MetadataImage, PartitionImage

PREFERRED, UNCLEAN = 0, 1


def elect_leaders(image: MetadataImage, request: ElectLeadersRequest) -> ElectLeadersResponse:
    """Return which of the partitions that are asked about have the leader they should have.

    Of all partitions only those are listed that an election was needed for.
    """
    if request.election_type not in (PREFERRED, UNCLEAN):
        return _refused(request, f"Unknown election type {request.election_type}")
    if request.topic_partitions is None:
        return ElectLeadersResponse(
            replica_election_results=[
                ReplicaElectionResult(
                    topic=topic.name,
                    partition_result=[
                        result
                        for number in topic.partitions
                        if (result := _election(image, topic.name, number, request)).error_code
                        != ErrorCode.ELECTION_NOT_NEEDED
                    ],
                )
                for topic in image.topics.values()
            ]
        )
    return ElectLeadersResponse(
        replica_election_results=[
            ReplicaElectionResult(
                topic=topic.topic,
                partition_result=[
                    _election(image, topic.topic, number, request) for number in topic.partitions
                ],
            )
            for topic in request.topic_partitions
        ]
    )


def _refused(request: ElectLeadersRequest, message: str) -> ElectLeadersResponse:
    code = ErrorCode.INVALID_REQUEST
    return ElectLeadersResponse(
        error_code=code,
        replica_election_results=[
            ReplicaElectionResult(
                topic=topic.topic,
                partition_result=[
                    PartitionResult(partition_id=number, error_code=code, error_message=message)
                    for number in topic.partitions
                ],
            )
            for topic in request.topic_partitions or ()
        ],
    )


def _election(
    image: MetadataImage, name: str, number: int, request: ElectLeadersRequest
) -> PartitionResult:
    topic = image.topics.get(name)
    code, message = ErrorCode.ELECTION_NOT_NEEDED, "Leader election not needed for topic partition."
    if topic is None:
        code, message = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"No such topic as {name}"
    elif number not in topic.partitions:
        code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        message = f"No such partition as {name}-{number}"
    elif not _has_wanted_leader(topic.partitions[number], request.election_type):
        code, message = _NOT_AVAILABLE[request.election_type]
    return PartitionResult(partition_id=number, error_code=code, error_message=message)


def _has_wanted_leader(partition: PartitionImage, election_type: int) -> bool:
    if election_type == PREFERRED:
        return partition.leader == partition.replicas[0]
    return partition.leader != NO_LEADER


_NOT_AVAILABLE = {
    PREFERRED: (
        ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE,
        "The preferred leader was not available.",
    ),
    UNCLEAN: (
        ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE,
        "Eligible topic partition leaders are not available.",
    ),
}


def alter_partition_reassignments(
    image: MetadataImage, request: AlterPartitionReassignmentsRequest
) -> AlterPartitionReassignmentsResponse:
    """Return which partitions may have the replicas asked for: those that they have."""
    return AlterPartitionReassignmentsResponse(
        allow_replication_factor_change=request.allow_replication_factor_change,
        error_message=None,
        responses=[
            ReassignableTopicResponse(
                name=topic.name,
                partitions=[_reassignment(image, topic.name, each) for each in topic.partitions],
            )
            for topic in request.topics
        ],
    )


def _reassignment(
    image: MetadataImage, name: str, partition: ReassignablePartition
) -> ReassignablePartitionResponse:
    number = partition.partition_index
    result = ReassignablePartitionResponse(partition_index=number, error_message=None)
    try:
        topic = image.topics.get(name)
        unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if topic is None:
            raise ApiError(unknown, f"Unable to find a topic named {name}.")
        if number not in topic.partitions:
            raise ApiError(unknown, f"Unable to find partition {name}:{number}.")
        if partition.replicas is None:
            raise ApiError(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS)
        _check_replicas(image, partition.replicas)
    except ApiError as error:
        result.error_code, result.error_message = error.code, error.message
    return result


def _check_replicas(image: MetadataImage, replicas: Sequence[int]) -> None:
    invalid, subject = ErrorCode.INVALID_REPLICA_ASSIGNMENT, "The manual partition assignment"
    if not replicas:
        raise ApiError(invalid, f"{subject} includes an empty replica list.")
    previous: int | None = None
    for replica in sorted(replicas):
        if replica not in image.brokers:
            raise ApiError(
                invalid, f"{subject} includes broker {replica}, but no such broker is registered."
            )
        if replica == previous:
            raise ApiError(invalid, f"{subject} includes the broker {replica} more than once.")
        previous = replica


def list_partition_reassignments() -> ListPartitionReassignmentsResponse:
    """Return that no partition is moving."""
    return ListPartitionReassignmentsResponse(error_message=None)
