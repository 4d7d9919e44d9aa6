"""The records of ``__consumer_offsets`` about consumer groups, in Kafka's own formats."""

from __future__ import annotations

from collections.abc import Iterable

from pyk.protocol.messages.consumer_group_records import (
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupRegularExpressionValue,
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMemberValue,
    ConsumerGroupTargetAssignmentMetadataKey,
    ConsumerGroupTargetAssignmentMetadataValue,
    TopicPartition,
    TopicPartitions,
)
from pyk.reference_broker.coordinator.records import CoordinatorRecord
from pyk.runtime import slotted

from .assignment import Assignment
from .member import ConsumerMember, MemberState, PartitionEpochs


@slotted.frozen(kw_only=True)
class ResolvedPattern:
    """The topics that a pattern matched when it was last resolved."""

    topics: frozenset[str]
    version: int
    """How many records of the metadata log were known then."""
    time_ms: int


Records = list[CoordinatorRecord]


# -- the group -----------------------------------------------------------------------------------


def epoch_record(group_id: str, epoch: int, metadata_hash: int) -> CoordinatorRecord:
    return CoordinatorRecord(
        ConsumerGroupMetadataKey(group_id=group_id),
        ConsumerGroupMetadataValue(epoch=epoch, metadata_hash=metadata_hash),
    )


def target_epoch_record(group_id: str, epoch: int, time_ms: int) -> CoordinatorRecord:
    return CoordinatorRecord(
        ConsumerGroupTargetAssignmentMetadataKey(group_id=group_id),
        ConsumerGroupTargetAssignmentMetadataValue(
            assignment_epoch=epoch, assignment_timestamp=time_ms
        ),
    )


def pattern_record(group_id: str, pattern: str, resolved: ResolvedPattern) -> CoordinatorRecord:
    return CoordinatorRecord(
        ConsumerGroupRegularExpressionKey(group_id=group_id, regular_expression=pattern),
        ConsumerGroupRegularExpressionValue(
            topics=sorted(resolved.topics), version=resolved.version, timestamp=resolved.time_ms
        ),
    )


def pattern_tombstone(group_id: str, pattern: str) -> CoordinatorRecord:
    return CoordinatorRecord(
        ConsumerGroupRegularExpressionKey(group_id=group_id, regular_expression=pattern)
    )


def consumer_group_tombstones(group_id: str, patterns: Iterable[str]) -> Records:
    """Return the records that delete a group without members."""
    return [
        CoordinatorRecord(ConsumerGroupTargetAssignmentMetadataKey(group_id=group_id)),
        *(pattern_tombstone(group_id, pattern) for pattern in patterns),
        CoordinatorRecord(ConsumerGroupMetadataKey(group_id=group_id)),
    ]


# -- its members ---------------------------------------------------------------------------------


def member_record(group_id: str, member: ConsumerMember) -> CoordinatorRecord:
    return CoordinatorRecord(
        ConsumerGroupMemberMetadataKey(group_id=group_id, member_id=member.member_id),
        ConsumerGroupMemberMetadataValue(
            instance_id=member.instance_id,
            rack_id=member.rack_id,
            client_id=member.client_id,
            client_host=member.client_host,
            subscribed_topic_names=sorted(member.topic_names),
            subscribed_topic_regex=member.pattern,
            rebalance_timeout_ms=member.rebalance_timeout_ms,
            server_assignor=member.server_assignor,
            classic_member_metadata=member.classic_metadata,
        ),
    )


def target_record(group_id: str, member_id: str, target: Assignment) -> CoordinatorRecord:
    return CoordinatorRecord(
        ConsumerGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id),
        ConsumerGroupTargetAssignmentMemberValue(
            topic_partitions=[
                TopicPartition(topic_id=topic_id, partitions=sorted(partitions))
                for topic_id, partitions in sorted(target.items())
            ]
        ),
    )


def current_record(group_id: str, member: ConsumerMember) -> CoordinatorRecord:
    return CoordinatorRecord(
        ConsumerGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member.member_id),
        ConsumerGroupCurrentMemberAssignmentValue(
            member_epoch=member.epoch,
            previous_member_epoch=member.previous_epoch,
            state=member.state,
            assigned_partitions=_with_epochs(member.assigned),
            partitions_pending_revocation=_with_epochs(member.revoking),
        ),
    )


def member_tombstones(group_id: str, member_id: str) -> Records:
    """Return the records that remove a member, in the order that Kafka demands."""
    return [
        CoordinatorRecord(
            ConsumerGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member_id)
        ),
        CoordinatorRecord(
            ConsumerGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id)
        ),
        CoordinatorRecord(ConsumerGroupMemberMetadataKey(group_id=group_id, member_id=member_id)),
    ]


def _with_epochs(assigned: PartitionEpochs) -> list[TopicPartitions]:
    return [
        TopicPartitions(
            topic_id=topic_id,
            partitions=sorted(epochs),
            assignment_epochs=[epochs[partition] for partition in sorted(epochs)],
        )
        for topic_id, epochs in sorted(assigned.items())
    ]


# -- back from the log ---------------------------------------------------------------------------


def described_member(
    member: ConsumerMember, value: ConsumerGroupMemberMetadataValue
) -> ConsumerMember:
    """Return a member with the description in its record."""
    return slotted.evolve(
        member,
        instance_id=value.instance_id,
        rack_id=value.rack_id,
        client_id=value.client_id,
        client_host=value.client_host,
        topic_names=frozenset(value.subscribed_topic_names),
        pattern=value.subscribed_topic_regex or "",
        rebalance_timeout_ms=value.rebalance_timeout_ms,
        server_assignor=value.server_assignor,
        classic_metadata=value.classic_member_metadata,
    )


def reconciled_member(
    member: ConsumerMember, value: ConsumerGroupCurrentMemberAssignmentValue
) -> ConsumerMember:
    """Return a member with the assignment in its record."""
    return slotted.evolve(
        member,
        epoch=value.member_epoch,
        previous_epoch=value.previous_member_epoch,
        state=MemberState(value.state),
        assigned=_epochs_of(value.assigned_partitions, value.member_epoch),
        revoking=_epochs_of(value.partitions_pending_revocation, value.member_epoch),
    )


def _epochs_of(topics: Iterable[TopicPartitions], member_epoch: int) -> PartitionEpochs:
    """Return the partitions in a record with their epochs, which brokers before 4.3 left out."""
    return {
        each.topic_id: dict(
            zip(
                each.partitions,
                each.assignment_epochs or [member_epoch] * len(each.partitions),
                strict=False,
            )
        )
        for each in topics
    }
