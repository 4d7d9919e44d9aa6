"""The records of ``__consumer_offsets`` about share groups, in Kafka's own formats."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from uuid import UUID

from pyk.protocol.messages.share_group_records import (
    ShareGroupCurrentMemberAssignmentKey,
    ShareGroupCurrentMemberAssignmentValue,
    ShareGroupMemberMetadataKey,
    ShareGroupMemberMetadataValue,
    ShareGroupMetadataKey,
    ShareGroupMetadataValue,
    ShareGroupStatePartitionMetadataKey,
    ShareGroupStatePartitionMetadataValue,
    ShareGroupTargetAssignmentMemberKey,
    ShareGroupTargetAssignmentMemberValue,
    ShareGroupTargetAssignmentMetadataKey,
    ShareGroupTargetAssignmentMetadataValue,
    TopicInfo,
    TopicPartition,
    TopicPartitions,
    TopicPartitionsInfo,
)
from pyk.reference_broker.coordinator.group.consumer.assignment import Assignment
from pyk.reference_broker.coordinator.records import CoordinatorRecord

from .member import ShareMember
from .state_topics import NamedPartitions, StateTopics

Records = list[CoordinatorRecord]


# -- the group -----------------------------------------------------------------------------------


def epoch_record(group_id: str, epoch: int, metadata_hash: int) -> CoordinatorRecord:
    return CoordinatorRecord(
        ShareGroupMetadataKey(group_id=group_id),
        ShareGroupMetadataValue(epoch=epoch, metadata_hash=metadata_hash),
    )


def target_epoch_record(group_id: str, epoch: int, time_ms: int) -> CoordinatorRecord:
    return CoordinatorRecord(
        ShareGroupTargetAssignmentMetadataKey(group_id=group_id),
        ShareGroupTargetAssignmentMetadataValue(
            assignment_epoch=epoch, assignment_timestamp=time_ms
        ),
    )


def state_topics_record(group_id: str, topics: StateTopics) -> CoordinatorRecord:
    return CoordinatorRecord(
        ShareGroupStatePartitionMetadataKey(group_id=group_id),
        ShareGroupStatePartitionMetadataValue(
            initializing_topics=_infos(topics.initializing),
            initialized_topics=_infos(topics.initialized),
            deleting_topics=[
                TopicInfo(topic_id=topic_id, topic_name=name)
                for topic_id, name in sorted(topics.deleting.items())
            ],
        ),
    )


def _infos(topics: Mapping[UUID, NamedPartitions]) -> list[TopicPartitionsInfo]:
    return [
        TopicPartitionsInfo(
            topic_id=topic_id, topic_name=each.name, partitions=sorted(each.partitions)
        )
        for topic_id, each in sorted(topics.items())
    ]


def share_group_tombstones(group_id: str) -> Records:
    """Return the records that delete a group without members."""
    return [
        CoordinatorRecord(ShareGroupTargetAssignmentMetadataKey(group_id=group_id)),
        CoordinatorRecord(ShareGroupStatePartitionMetadataKey(group_id=group_id)),
        CoordinatorRecord(ShareGroupMetadataKey(group_id=group_id)),
    ]


# -- its members ---------------------------------------------------------------------------------


def member_record(group_id: str, member: ShareMember) -> CoordinatorRecord:
    return CoordinatorRecord(
        ShareGroupMemberMetadataKey(group_id=group_id, member_id=member.member_id),
        ShareGroupMemberMetadataValue(
            rack_id=member.rack_id,
            client_id=member.client_id,
            client_host=member.client_host,
            subscribed_topic_names=sorted(member.topic_names),
        ),
    )


def target_record(group_id: str, member_id: str, target: Assignment) -> CoordinatorRecord:
    return CoordinatorRecord(
        ShareGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id),
        ShareGroupTargetAssignmentMemberValue(
            topic_partitions=[
                TopicPartition(topic_id=topic_id, partitions=sorted(partitions))
                for topic_id, partitions in sorted(target.items())
            ]
        ),
    )


def current_record(group_id: str, member: ShareMember) -> CoordinatorRecord:
    return CoordinatorRecord(
        ShareGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member.member_id),
        ShareGroupCurrentMemberAssignmentValue(
            member_epoch=member.epoch,
            previous_member_epoch=member.previous_epoch,
            assigned_partitions=[
                TopicPartitions(topic_id=topic_id, partitions=sorted(partitions))
                for topic_id, partitions in sorted(member.assigned.items())
            ],
        ),
    )


def member_tombstones(group_id: str, member_id: str) -> Records:
    """Return the records that remove a member, in the order that Kafka demands."""
    return [
        CoordinatorRecord(
            ShareGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member_id)
        ),
        CoordinatorRecord(
            ShareGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id)
        ),
        CoordinatorRecord(ShareGroupMemberMetadataKey(group_id=group_id, member_id=member_id)),
    ]


# -- back from the log ---------------------------------------------------------------------------


def state_topics_of(value: ShareGroupStatePartitionMetadataValue) -> StateTopics:
    """Return the topics in a record."""
    return StateTopics(
        initializing=_named(value.initializing_topics),
        initialized=_named(value.initialized_topics),
        deleting={each.topic_id: each.topic_name for each in value.deleting_topics},
    )


def _named(topics: Iterable[TopicPartitionsInfo]) -> dict[UUID, NamedPartitions]:
    return {
        each.topic_id: NamedPartitions(each.topic_name, frozenset(each.partitions))
        for each in topics
    }
