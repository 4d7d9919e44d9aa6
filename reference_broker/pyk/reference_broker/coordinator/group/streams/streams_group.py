"""The state of a streams group: what replaying its records gives. Pure.

Its epochs are those of a consumer group: of the group, of its target assignment, of each member.
Before that the topology must fit the topics of the cluster. Until it does, the group is
``NotReady``, and no tasks are assigned.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from typing import Any

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages import streams_group_records as log_records
from pyk.reference_broker.coordinator.records import CoordinatorRecord
from pyk.reference_broker.errors import ApiError
from pyk.runtime import slotted

from .configured_topology import ConfiguredTopology
from .member import LEAVING, StreamsMember
from .records import described_member, reconciled_member, target_tasks
from .task_owners import TaskOwners
from .tasks import HeldTasks, Tasks
from .topology import Topology, topology_of

FIRST_EPOCH = 1
STREAMS = "streams"


class StreamsGroupState(enum.Enum):
    """The states of a streams group, under the names that clients see."""

    EMPTY = "Empty"
    NOT_READY = "NotReady"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    STABLE = "Stable"


@slotted.define(kw_only=True, eq=False)
class StreamsGroup:
    """A group and its members. Changes only by :meth:`replay`, but for what is not in the log."""

    group_id: str
    epoch: int = FIRST_EPOCH
    metadata_hash: int = 0
    """Of the topics for which this epoch began."""
    validated_topology_epoch: int = 0
    """Of the topology that fits the topics; -1 if none does."""
    assignment_configs: Mapping[str, str] = slotted.field(factory=dict)
    """The settings for which this epoch began."""
    assignment_epoch: int = FIRST_EPOCH
    assigned_ms: int = 0
    """When the target assignment was made."""
    topology: Topology | None = None
    members: dict[str, StreamsMember] = slotted.field(factory=dict)
    targets: dict[str, Tasks] = slotted.field(factory=dict)
    owners: TaskOwners = slotted.field(factory=TaskOwners)

    # Not in the log:
    configured: ConfiguredTopology | None = None
    """The topology with the topics as they were last seen."""
    configured_hash: int = 0
    """The hash of those topics."""
    metadata_version: int = -1
    """How many records of the metadata log the hash takes into account."""
    endpoint_epoch: int = 0
    """Grows when a member with an endpoint gets other tasks."""
    shutdown_requester: str | None = None
    """The member that asks all to shut down, until the group is empty."""

    protocol_type = STREAMS

    def copy(self) -> StreamsGroup:
        """Return a group that changes independently."""
        return slotted.evolve(
            self,
            members=dict(self.members),
            targets=dict(self.targets),
            owners=self.owners.copy(),
        )

    @property
    def state(self) -> StreamsGroupState:
        if not self.members:
            return StreamsGroupState.EMPTY
        if self.topology is None or self.topology.epoch != self.validated_topology_epoch:
            return StreamsGroupState.NOT_READY
        if self.epoch > self.assignment_epoch:
            return StreamsGroupState.ASSIGNING
        if all(member.is_at(self.assignment_epoch) for member in self.members.values()):
            return StreamsGroupState.STABLE
        return StreamsGroupState.RECONCILING

    @property
    def is_empty(self) -> bool:
        return not self.members

    def is_subscribed_to(self, topic: str) -> bool:
        """Return whether tasks of members read a topic."""
        has_tasks = bool(self.members) and self.topology is not None
        return has_tasks and self.topology.reader_of(topic) is not None  # type: ignore[union-attr]

    def member(self, member_id: str | None) -> StreamsMember:
        """Return a member; raise if it is unknown."""
        member = None if member_id is None else self.members.get(member_id)
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
        if not self.members:
            self.shutdown_requester = None

    def _metadata(self, _: Any, value: log_records.StreamsGroupMetadataValue | None) -> None:
        if value is not None:
            self.epoch, self.metadata_hash = value.epoch, value.metadata_hash
            self.validated_topology_epoch = value.validated_topology_epoch
            self.assignment_configs = {
                each.key: each.value for each in value.last_assignment_configs or ()
            }

    def _topology(self, _: Any, value: log_records.StreamsGroupTopologyValue | None) -> None:
        self.topology = None if value is None else topology_of(value)

    def _target_metadata(
        self, _: Any, value: log_records.StreamsGroupTargetAssignmentMetadataValue | None
    ) -> None:
        if value is not None:
            self.assignment_epoch = value.assignment_epoch
            self.assigned_ms = value.assignment_timestamp

    def _target(
        self, key: Any, value: log_records.StreamsGroupTargetAssignmentMemberValue | None
    ) -> None:
        if value is None:
            self.targets.pop(key.member_id, None)
        else:
            self.targets[key.member_id] = target_tasks(value)

    def _member(self, key: Any, value: log_records.StreamsGroupMemberMetadataValue | None) -> None:
        before = self._of_key(key)
        self._replace(before, None if value is None else described_member(before, value))

    def _current(
        self, key: Any, value: log_records.StreamsGroupCurrentMemberAssignmentValue | None
    ) -> None:
        before = self._of_key(key)
        if value is not None:
            self._replace(before, reconciled_member(before, value))
        elif key.member_id in self.members:
            left = slotted.evolve(
                before,
                epoch=LEAVING,
                previous_epoch=LEAVING,
                assigned=HeldTasks(),
                revoking=HeldTasks(),
            )
            self._replace(before, left)

    def _of_key(self, key: Any) -> StreamsMember:
        return self.members.get(key.member_id) or StreamsMember(member_id=key.member_id)

    def _replace(self, before: StreamsMember, after: StreamsMember | None) -> None:
        for tasks in (before.assigned, before.revoking):
            self.owners.remove(tasks, before.process_id)
        if after is None:
            self.members.pop(before.member_id, None)
            return
        self.members[after.member_id] = after
        for tasks in (after.assigned, after.revoking):
            self.owners.add(tasks, after.process_id)


_REPLAYS: dict[type, Callable[[StreamsGroup, Any, Any], None]] = {
    log_records.StreamsGroupMetadataKey: StreamsGroup._metadata,
    log_records.StreamsGroupTopologyKey: StreamsGroup._topology,
    log_records.StreamsGroupTargetAssignmentMetadataKey: StreamsGroup._target_metadata,
    log_records.StreamsGroupTargetAssignmentMemberKey: StreamsGroup._target,
    log_records.StreamsGroupMemberMetadataKey: StreamsGroup._member,
    log_records.StreamsGroupCurrentMemberAssignmentKey: StreamsGroup._current,
}
RECORD_KEYS = frozenset(_REPLAYS)
"""The keys of the records that make up a streams group."""
