"""The records of ``__consumer_offsets`` about classic groups, in Kafka's own formats."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from pyk.protocol.messages.group_records import (
    GroupMetadataKey,
    GroupMetadataValue,
    LegacyOffsetCommitValue,
    MemberMetadata,
    OffsetCommitKey,
    OffsetCommitValue,
)
from pyk.reference_broker.coordinator.records import CoordinatorRecord
from pyk.runtime import slotted

from .classic_group import ClassicGroup, GroupState
from .member import Member

# What Kafka itself writes: of groups the highest version that is not flexible, of offsets the one
# with topic ids.
_GROUP_METADATA_VERSION = 3
_OFFSET_COMMIT_VERSION = 4
_OFFSET_COMMIT_VERSION_WITH_EXPIRY = 1  # the only one that carries an expire timestamp

UNKNOWN_TOPIC_ID = UUID(int=0)


@slotted.frozen(kw_only=True)
class CommittedOffset:
    """The committed offset of a group in a partition."""

    offset: int
    topic_id: UUID = UNKNOWN_TOPIC_ID
    """The topic that was read: another one of its name begins without offsets."""
    leader_epoch: int = -1
    metadata: str = ""
    commit_timestamp_ms: int
    expire_timestamp_ms: int | None = None
    """Only where the commit asked for a retention of its own (OffsetCommit v2-4).

    The record has no room for the topic's id then.
    """

    def belongs_to(self, topic_id: UUID) -> bool:
        """Return whether the offset is of this topic, as far as is known."""
        return self.topic_id in (UNKNOWN_TOPIC_ID, topic_id)


def offset_record(
    group_id: str, topic: str, partition: int, committed: CommittedOffset
) -> CoordinatorRecord:
    has_expiry = committed.expire_timestamp_ms is not None
    return CoordinatorRecord(
        OffsetCommitKey(group=group_id, topic=topic, partition=partition),
        OffsetCommitValue(
            offset=committed.offset,
            topic_id=committed.topic_id,
            leader_epoch=committed.leader_epoch,
            metadata=committed.metadata,
            commit_timestamp=committed.commit_timestamp_ms,
            expire_timestamp=-1
            if committed.expire_timestamp_ms is None
            else committed.expire_timestamp_ms,
        ),
        _OFFSET_COMMIT_VERSION_WITH_EXPIRY if has_expiry else _OFFSET_COMMIT_VERSION,
    )


def offset_tombstone(group_id: str, topic: str, partition: int) -> CoordinatorRecord:
    return CoordinatorRecord(OffsetCommitKey(group=group_id, topic=topic, partition=partition))


def committed_offset(value: OffsetCommitValue | LegacyOffsetCommitValue) -> CommittedOffset:
    """Return what a record's value says."""
    if isinstance(value, LegacyOffsetCommitValue):
        return CommittedOffset(
            offset=value.offset, metadata=value.metadata, commit_timestamp_ms=value.commit_timestamp
        )
    return CommittedOffset(
        offset=value.offset,
        topic_id=value.topic_id,
        leader_epoch=value.leader_epoch,
        metadata=value.metadata,
        commit_timestamp_ms=value.commit_timestamp,
        expire_timestamp_ms=None if value.expire_timestamp < 0 else value.expire_timestamp,
    )


def group_record(
    group: ClassicGroup, assignment: Mapping[str, bytes], *, is_rebalancing: bool = False
) -> CoordinatorRecord:
    """Return the record of a group's generation, with what each member is assigned.

    A generation that is to be replaced at once has no leader: whoever loads it begins a rebalance.
    """
    members = []
    for member in group.members.values():
        assert group.protocol_name is not None
        members.append(
            MemberMetadata(
                member_id=member.member_id,
                group_instance_id=member.group_instance_id,
                client_id=member.client_id,
                client_host=member.client_host,
                rebalance_timeout=member.rebalance_timeout_ms,
                session_timeout=member.session_timeout_ms,
                subscription=member.metadata(group.protocol_name),
                assignment=assignment.get(member.member_id, b""),
            )
        )
    value = GroupMetadataValue(
        protocol_type=group.protocol_type or "",
        generation=group.generation_id,
        protocol=group.protocol_name,
        leader=None if is_rebalancing else group.leader_id,
        current_state_timestamp=group.state_since_ms,
        members=members,
    )
    return CoordinatorRecord(GroupMetadataKey(group=group.group_id), value, _GROUP_METADATA_VERSION)


def empty_group_record(group: ClassicGroup) -> CoordinatorRecord:
    """Return the record of a group that has had no generation yet."""
    value = GroupMetadataValue(
        protocol=None, leader=None, current_state_timestamp=group.state_since_ms, members=[]
    )
    return CoordinatorRecord(GroupMetadataKey(group=group.group_id), value, _GROUP_METADATA_VERSION)


def group_tombstone(group_id: str) -> CoordinatorRecord:
    return CoordinatorRecord(GroupMetadataKey(group=group_id))


def group_from_record(group_id: str, value: GroupMetadataValue) -> ClassicGroup:
    """Return the group as its record has it: empty, or stable with every member's assignment."""
    group = ClassicGroup(
        group_id=group_id,
        state=GroupState.STABLE if value.members else GroupState.EMPTY,
        state_since_ms=value.current_state_timestamp,
        generation_id=value.generation,
        protocol_type=value.protocol_type or None,
        protocol_name=value.protocol,
        leader_id=value.leader,
    )
    for each in value.members:
        rebalance_timeout_ms = (
            each.session_timeout if each.rebalance_timeout < 0 else each.rebalance_timeout
        )
        group.add(
            Member(
                member_id=each.member_id,
                group_instance_id=each.group_instance_id,
                client_id=each.client_id,
                client_host=each.client_host,
                rebalance_timeout_ms=rebalance_timeout_ms,
                session_timeout_ms=each.session_timeout,
                protocol_type=value.protocol_type,
                protocols=((value.protocol or "", bytes(each.subscription)),),
                assignment=bytes(each.assignment),
            )
        )
    group.update_topics()
    group.must_rebalance = bool(value.members) and value.leader is None
    return group
