"""Requests of brokers about their log directories: what is in them, and which have failed. Pure.

The records are those of :mod:`.leader_changes` where a leader follows from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.assign_replicas_to_dirs import (
    AssignReplicasToDirsRequest,
    AssignReplicasToDirsResponse,
    ResponseDirectoryData,
    ResponsePartitionData,
    ResponseTopicData,
)
from pyk.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest, BrokerHeartbeatResponse
from pyk.protocol.messages.metadata_records import (
    BrokerRegistrationChangeRecord,
    PartitionChangeRecord,
)
from pyk.protocol.schema import Message
from pyk.runtime import slotted

from .image import MetadataImage
from .leader_changes import leader_change, leader_changes, leader_with
from .metadata_versions import CORDONED_DIRECTORIES, DIRECTORY_ASSIGNMENT

Records = list[Message]


def heartbeat(
    image: MetadataImage, request: BrokerHeartbeatRequest
) -> tuple[BrokerHeartbeatResponse, Records]:
    """Take note of the directories of a broker that have failed, and of those that are cordoned."""
    broker = image.brokers.get(request.broker_id)
    if broker is None:
        return BrokerHeartbeatResponse(error_code=ErrorCode.BROKER_ID_NOT_REGISTERED), []
    if broker.epoch != request.broker_epoch:
        return BrokerHeartbeatResponse(error_code=ErrorCode.STALE_BROKER_EPOCH), []
    response = BrokerHeartbeatResponse(is_caught_up=True, is_fenced=broker.is_fenced)
    known = broker.registration.log_dirs
    online = [each for each in known if each not in request.offline_log_dirs]
    change = BrokerRegistrationChangeRecord(broker_id=request.broker_id, broker_epoch=broker.epoch)
    records = Records()
    if online and len(online) < len(known):  # without any directory it is about to end
        change.log_dirs = online
        records += leader_changes(image, request.broker_id, online)
    cordoned = request.cordoned_log_dirs
    known_cordoned = set(broker.registration.cordoned_log_dirs or ())
    is_supported = image.metadata_version >= CORDONED_DIRECTORIES
    if cordoned is not None and is_supported and set(cordoned) != known_cordoned:
        change.cordoned_log_dirs = cordoned
    has_changed = bool(change.log_dirs) or change.cordoned_log_dirs is not None
    return response, [change, *records] if has_changed else []


def assign_replicas(
    image: MetadataImage, request: AssignReplicasToDirsRequest
) -> tuple[AssignReplicasToDirsResponse, Records]:
    """Note in which directory a broker has each replica."""
    broker = image.brokers.get(request.broker_id)
    if broker is None or broker.epoch != request.broker_epoch:
        return AssignReplicasToDirsResponse(error_code=ErrorCode.STALE_BROKER_EPOCH), []
    if image.metadata_version < DIRECTORY_ASSIGNMENT:
        return AssignReplicasToDirsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION), []
    response, records = AssignReplicasToDirsResponse(), Records()
    assignments = _Assignments(image, request.broker_id, broker.registration.log_dirs, records)
    for directory in request.directories:
        topics = [
            ResponseTopicData(
                topic_id=topic.topic_id,
                partitions=[
                    ResponsePartitionData(
                        partition_index=each.partition_index,
                        error_code=assignments.assign(
                            topic.topic_id, each.partition_index, directory.id
                        ),
                    )
                    for each in topic.partitions
                ],
            )
            for topic in directory.topics
        ]
        response.directories.append(ResponseDirectoryData(id=directory.id, topics=topics))
    return response, records


@slotted.frozen
class _Assignments:
    """Assigns replicas of a broker, by the directories of it that are online."""

    image: MetadataImage
    node_id: int
    online: Sequence[UUID]
    records: Records

    def assign(self, topic_id: UUID, number: int, directory: UUID) -> ErrorCode:
        """Add the record for one replica, if it needs one; return NONE, or why not."""
        topic = self.image.topics_by_id.get(topic_id)
        if topic is None:
            return ErrorCode.UNKNOWN_TOPIC_ID
        partition = topic.partitions.get(number)
        if partition is None:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if self.node_id not in partition.replicas:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        if partition.directory_of(self.node_id) == directory:
            return ErrorCode.NONE
        leader = leader_with(partition, self.node_id, directory, self.online)
        record = PartitionChangeRecord(partition_id=number, topic_id=topic_id)
        if leader != partition.leader:
            record = leader_change(self.image, topic_id, number, leader)
        record.directories = [
            directory if replica == self.node_id else partition.directory_of(replica)
            for replica in partition.replicas
        ]
        self.records.append(record)
        return ErrorCode.NONE
