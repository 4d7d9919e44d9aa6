"""The state of a share group: what replaying its records gives. Pure.

As in a consumer group, its epoch grows whenever members, subscriptions or topics change, the
assignment epoch is the one for which the target assignment was made, and each member has the epoch
of the target that it has reached. No member waits for another to give up partitions, so a member
has all of its target with its next heartbeat.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages import share_group_records as log_records
from pyk.reference_broker.coordinator.group.consumer.assignment import Assignment, assignment_of
from pyk.reference_broker.coordinator.records import CoordinatorRecord
from pyk.reference_broker.errors import ApiError
from pyk.runtime import slotted

from .member import ShareMember
from .records import state_topics_of
from .state_topics import StateTopics

FIRST_EPOCH = 1
SHARE = "share"


class ShareGroupState(enum.Enum):
    """The states of a share group, under the names that clients see."""

    EMPTY = "Empty"
    STABLE = "Stable"


@slotted.define(kw_only=True, eq=False)
class ShareGroup:
    """A group and its members. Changes only by :meth:`replay`."""

    group_id: str
    epoch: int = FIRST_EPOCH
    metadata_hash: int = 0
    """Of the topics for which this epoch began."""
    assignment_epoch: int = FIRST_EPOCH
    assigned_ms: int = 0
    """When the target assignment was made."""
    members: dict[str, ShareMember] = slotted.field(factory=dict)
    targets: dict[str, Assignment] = slotted.field(factory=dict)
    topics: StateTopics = slotted.field(factory=StateTopics)
    metadata_version: int = -1
    """How many records of the metadata log the hash takes into account; not in the log."""

    protocol_type = SHARE

    def copy(self) -> ShareGroup:
        """Return a group that changes independently."""
        return slotted.evolve(self, members=dict(self.members), targets=dict(self.targets))

    @property
    def state(self) -> ShareGroupState:
        return ShareGroupState.STABLE if self.members else ShareGroupState.EMPTY

    @property
    def is_empty(self) -> bool:
        return not self.members

    @property
    def topic_names(self) -> frozenset[str]:
        """All topics that members subscribe to."""
        return frozenset().union(*(each.topic_names for each in self.members.values()))

    def member(self, member_id: str) -> ShareMember:
        """Return a member; raise if it is unknown."""
        member = self.members.get(member_id)
        if member is None:
            raise ApiError(
                ErrorCode.UNKNOWN_MEMBER_ID,
                f"Member {member_id} is not a member of group {self.group_id}.",
            )
        return member

    # -- replay ----------------------------------------------------------------------------------

    def replay(self, record: CoordinatorRecord) -> None:
        """Apply one record about the group; that which deletes the group does nothing here.

        A compacted log may have the records of a member in any order.
        """
        _REPLAYS[type(record.key)](self, record.key, record.value)

    def _metadata(self, _: Any, value: log_records.ShareGroupMetadataValue | None) -> None:
        if value is not None:
            self.epoch, self.metadata_hash = value.epoch, value.metadata_hash

    def _target_metadata(
        self, _: Any, value: log_records.ShareGroupTargetAssignmentMetadataValue | None
    ) -> None:
        if value is not None:
            self.assignment_epoch = value.assignment_epoch
            self.assigned_ms = value.assignment_timestamp

    def _topics(
        self, _: Any, value: log_records.ShareGroupStatePartitionMetadataValue | None
    ) -> None:
        self.topics = StateTopics() if value is None else state_topics_of(value)

    def _target(
        self, key: Any, value: log_records.ShareGroupTargetAssignmentMemberValue | None
    ) -> None:
        if value is None:
            self.targets.pop(key.member_id, None)
        else:
            self.targets[key.member_id] = assignment_of(value.topic_partitions)

    def _member(self, key: Any, value: log_records.ShareGroupMemberMetadataValue | None) -> None:
        if value is None:
            self.members.pop(key.member_id, None)
            return
        self.members[key.member_id] = slotted.evolve(
            self._of_key(key),
            rack_id=value.rack_id,
            client_id=value.client_id,
            client_host=value.client_host,
            topic_names=frozenset(value.subscribed_topic_names),
        )

    def _current(
        self, key: Any, value: log_records.ShareGroupCurrentMemberAssignmentValue | None
    ) -> None:
        if value is not None:
            self.members[key.member_id] = slotted.evolve(
                self._of_key(key),
                epoch=value.member_epoch,
                previous_epoch=value.previous_member_epoch,
                assigned=assignment_of(value.assigned_partitions),
            )
        elif key.member_id in self.members:
            self.members[key.member_id] = slotted.evolve(self._of_key(key), assigned={})

    def _of_key(self, key: Any) -> ShareMember:
        return self.members.get(key.member_id) or ShareMember(member_id=key.member_id)


_REPLAYS: dict[type, Callable[[ShareGroup, Any, Any], None]] = {
    log_records.ShareGroupMetadataKey: ShareGroup._metadata,
    log_records.ShareGroupTargetAssignmentMetadataKey: ShareGroup._target_metadata,
    log_records.ShareGroupStatePartitionMetadataKey: ShareGroup._topics,
    log_records.ShareGroupTargetAssignmentMemberKey: ShareGroup._target,
    log_records.ShareGroupMemberMetadataKey: ShareGroup._member,
    log_records.ShareGroupCurrentMemberAssignmentKey: ShareGroup._current,
}
RECORD_KEYS = frozenset(_REPLAYS)
"""The keys of the records that make up a share group."""
