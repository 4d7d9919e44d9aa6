"""The state of a consumer group: what replaying its records gives. Pure.

Three epochs say how far a group is. Its *epoch* grows whenever members, subscriptions or topics
change. The *assignment epoch* is the one for which the target assignment was made. Each member has
the epoch of the target that it has reached. While the first is ahead of the second the group is
``Assigning``, while a member is behind the second it is ``Reconciling``, and then ``Stable``.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any
from uuid import UUID

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages import consumer_group_records as log_records
from pyk.reference_broker.coordinator.records import CoordinatorRecord
from pyk.reference_broker.errors import ApiError
from pyk.runtime import slotted

from .assignment import Assignment, assignment_of
from .member import ConsumerMember
from .records import ResolvedPattern, described_member, reconciled_member

FIRST_EPOCH = 1
CONSUMER = "consumer"


class ConsumerGroupState(enum.Enum):
    """The states of a consumer group, under the names that clients see."""

    EMPTY = "Empty"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    STABLE = "Stable"


@slotted.define(kw_only=True, eq=False)
class ConsumerGroup:
    """A group and its members. Changes only by :meth:`replay`."""

    group_id: str
    epoch: int = FIRST_EPOCH
    metadata_hash: int = 0
    """Of the topics for which this epoch began."""
    assignment_epoch: int = FIRST_EPOCH
    assigned_ms: int = 0
    """When the target assignment was made."""
    members: dict[str, ConsumerMember] = slotted.field(factory=dict)
    static_members: dict[str, str] = slotted.field(factory=dict)
    """Member ids by group instance id (KIP-345)."""
    targets: dict[str, Assignment] = slotted.field(factory=dict)
    patterns: dict[str, ResolvedPattern] = slotted.field(factory=dict)
    owners: dict[tuple[UUID, int], str] = slotted.field(factory=dict)
    """The member that has a partition, or has not yet given it up."""
    metadata_version: int = -1
    """How many records of the metadata log the hash takes into account; not in the log."""
    patterns_resolved_ms: int = 0
    """When the patterns were last resolved again; not in the log."""

    protocol_type = CONSUMER

    def copy(self) -> ConsumerGroup:
        """Return a group that changes independently."""
        return slotted.evolve(
            self,
            members=dict(self.members),
            static_members=dict(self.static_members),
            targets=dict(self.targets),
            patterns=dict(self.patterns),
            owners=dict(self.owners),
        )

    @property
    def state(self) -> ConsumerGroupState:
        if not self.members:
            return ConsumerGroupState.EMPTY
        if self.epoch > self.assignment_epoch:
            return ConsumerGroupState.ASSIGNING
        if all(member.is_at(self.assignment_epoch) for member in self.members.values()):
            return ConsumerGroupState.STABLE
        return ConsumerGroupState.RECONCILING

    @property
    def is_empty(self) -> bool:
        return not self.members

    def member(self, member_id: str | None) -> ConsumerMember:
        """Return a member; raise if it is unknown."""
        member = None if member_id is None else self.members.get(member_id)
        if member is None:
            raise ApiError(
                ErrorCode.UNKNOWN_MEMBER_ID,
                f"Member {member_id} is not a member of group {self.group_id}.",
            )
        return member

    def static_member(self, instance_id: str) -> ConsumerMember:
        """Return the member of an instance id; raise if it is unknown."""
        member_id = self.static_members.get(instance_id)
        if member_id is None:
            raise ApiError(ErrorCode.UNKNOWN_MEMBER_ID, f"Instance id {instance_id} is unknown.")
        return self.members[member_id]

    def topic_names(self, member: ConsumerMember) -> frozenset[str]:
        """Return the topics that a member subscribes to, by name or by its pattern."""
        resolved = self.patterns.get(member.pattern)
        return member.topic_names | resolved.topics if resolved else member.topic_names

    def is_subscribed_to(self, topic: str) -> bool:
        return any(topic in self.topic_names(member) for member in self.members.values())

    def is_free(self, member_id: str, topic_id: UUID, partition: int) -> bool:
        """Return whether no other member has a partition."""
        return self.owners.get((topic_id, partition), member_id) == member_id

    def subscribers_of_pattern(self, pattern: str) -> int:
        return sum(member.pattern == pattern for member in self.members.values())

    # -- replay ----------------------------------------------------------------------------------

    def replay(self, record: CoordinatorRecord) -> None:
        """Apply one record about the group; that which deletes the group does nothing here.

        A compacted log may have the records of a member in any order.
        """
        _REPLAYS[type(record.key)](self, record.key, record.value)

    def _metadata(self, _: Any, value: log_records.ConsumerGroupMetadataValue | None) -> None:
        if value is not None:
            self.epoch, self.metadata_hash = value.epoch, value.metadata_hash

    def _target_metadata(
        self, _: Any, value: log_records.ConsumerGroupTargetAssignmentMetadataValue | None
    ) -> None:
        if value is not None:
            self.assignment_epoch = value.assignment_epoch
            self.assigned_ms = value.assignment_timestamp

    def _pattern(
        self, key: Any, value: log_records.ConsumerGroupRegularExpressionValue | None
    ) -> None:
        if value is None:
            self.patterns.pop(key.regular_expression, None)
        else:
            self.patterns[key.regular_expression] = ResolvedPattern(
                topics=frozenset(value.topics), version=value.version, time_ms=value.timestamp
            )

    def _target(
        self, key: Any, value: log_records.ConsumerGroupTargetAssignmentMemberValue | None
    ) -> None:
        if value is None:
            self.targets.pop(key.member_id, None)
        else:
            self.targets[key.member_id] = assignment_of(value.topic_partitions)

    def _member(self, key: Any, value: log_records.ConsumerGroupMemberMetadataValue | None) -> None:
        before = self._of_key(key)
        if self.static_members.get(before.instance_id or "") == key.member_id:
            del self.static_members[before.instance_id or ""]
        if value is None:
            self._set_owned(before, ConsumerMember(member_id=key.member_id))
            self.members.pop(key.member_id, None)
            return
        self.members[key.member_id] = described_member(before, value)
        if value.instance_id is not None:
            self.static_members[value.instance_id] = key.member_id

    def _current(
        self, key: Any, value: log_records.ConsumerGroupCurrentMemberAssignmentValue | None
    ) -> None:
        before = self._of_key(key)
        if value is not None:
            self.members[key.member_id] = reconciled_member(before, value)
        elif key.member_id in self.members:
            self.members[key.member_id] = slotted.evolve(before, assigned={}, revoking={})
        self._set_owned(before, self._of_key(key))

    def _of_key(self, key: Any) -> ConsumerMember:
        return self.members.get(key.member_id) or ConsumerMember(member_id=key.member_id)

    def _set_owned(self, before: ConsumerMember, after: ConsumerMember) -> None:
        for partition in _partitions(before):
            if self.owners.get(partition) == before.member_id:
                del self.owners[partition]
        for partition in _partitions(after):
            self.owners[partition] = after.member_id


def _partitions(member: ConsumerMember) -> list[tuple[UUID, int]]:
    return [
        (topic_id, partition)
        for topics in (member.assigned, member.revoking)
        for topic_id, epochs in topics.items()
        for partition in epochs
    ]


_REPLAYS: dict[type, Callable[[ConsumerGroup, Any, Any], None]] = {
    log_records.ConsumerGroupMetadataKey: ConsumerGroup._metadata,
    log_records.ConsumerGroupTargetAssignmentMetadataKey: ConsumerGroup._target_metadata,
    log_records.ConsumerGroupRegularExpressionKey: ConsumerGroup._pattern,
    log_records.ConsumerGroupTargetAssignmentMemberKey: ConsumerGroup._target,
    log_records.ConsumerGroupMemberMetadataKey: ConsumerGroup._member,
    log_records.ConsumerGroupCurrentMemberAssignmentKey: ConsumerGroup._current,
}
RECORD_KEYS = frozenset(_REPLAYS)
"""The keys of the records that make up a consumer group."""
