"""The state of one group in the classic protocol: members, generation, elected leader and protocol.

``Empty`` has no members, and lives on until its offsets expire. ``PreparingRebalance`` collects
JoinGroups; the phase ends when all known members have joined or time is up. ``CompletingRebalance``
waits for the leader's assignment by SyncGroup. ``Stable`` gives each member that asks its part.
``Dead`` is what DescribeGroups calls a group that does not exist; no group here is ever in it.
"""

from __future__ import annotations

import enum

from pyk.protocol.errors import ErrorCode, ProtocolError
from pyk.protocol.messages.sync_group import SyncGroupResponse
from pyk.reference_broker.errors import ApiError
from pyk.runtime import slotted

from .member import Member, join_error
from .protocol_vote import select_protocol
from .subscription import CONSUMER_PROTOCOL_TYPE, subscribed_topics

NO_GENERATION = -1


class GroupState(enum.Enum):
    """The states of a classic group, under the names that DescribeGroups shows."""

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


# From which states a state may be entered.
MOVES = {
    GroupState.EMPTY: {GroupState.PREPARING_REBALANCE},
    GroupState.PREPARING_REBALANCE: {
        GroupState.STABLE,
        GroupState.COMPLETING_REBALANCE,
        GroupState.EMPTY,
    },
    GroupState.COMPLETING_REBALANCE: {GroupState.PREPARING_REBALANCE},
    GroupState.STABLE: {GroupState.COMPLETING_REBALANCE},
}


@slotted.define(kw_only=True, eq=False)
class ClassicGroup:
    """A group and its members.

    Changes only itself and the responses that members wait for; all timing is elsewhere.
    """

    group_id: str
    state: GroupState = GroupState.EMPTY
    previous_state: GroupState = GroupState.EMPTY
    state_since_ms: int = -1
    generation_id: int = 0
    protocol_type: str | None = None
    protocol_name: str | None = None
    leader_id: str | None = None
    members: dict[str, Member] = slotted.field(factory=dict)
    static_members: dict[str, str] = slotted.field(factory=dict)
    """Member ids by group instance id (KIP-345)."""
    pending_join: set[str] = slotted.field(factory=set)
    """Ids handed out with MEMBER_ID_REQUIRED (KIP-394) that have not come back yet."""
    pending_sync: set[str] = slotted.field(factory=set)
    """Members that have not sent SyncGroup since the join phase ended."""
    must_rebalance: bool = False
    """It was loaded from the log in a generation that was to be replaced."""
    has_new_member: bool = False
    """A member joined since the initial rebalance delay was last extended."""
    topics: frozenset[str] | None = None
    """The topics that the members subscribe to; None if their metadata do not tell."""

    # -- state -----------------------------------------------------------------------------------

    def move_to(self, state: GroupState, time_ms: int) -> None:
        if self.state not in MOVES[state]:
            raise AssertionError(
                f"group {self.group_id!r} cannot move from {self.state} to {state}"
            )
        self.previous_state, self.state = self.state, state
        self.state_since_ms = time_ms

    def is_in(self, *states: GroupState) -> bool:
        return self.state in states

    @property
    def can_rebalance(self) -> bool:
        return self.state in MOVES[GroupState.PREPARING_REBALANCE]

    @property
    def uses_consumer_protocol(self) -> bool:
        return self.protocol_type == CONSUMER_PROTOCOL_TYPE

    @property
    def rebalance_timeout_ms(self) -> int:
        return max((member.rebalance_timeout_ms for member in self.members.values()), default=0)

    # -- members ---------------------------------------------------------------------------------

    @property
    def awaiting_join_count(self) -> int:
        return sum(member.is_awaiting_join for member in self.members.values())

    @property
    def has_all_joined(self) -> bool:
        return not self.pending_join and all(
            member.is_awaiting_join for member in self.members.values()
        )

    @property
    def not_yet_rejoined(self) -> list[Member]:
        return [member for member in self.members.values() if not member.is_awaiting_join]

    def is_leader(self, member_id: str) -> bool:
        return self.leader_id == member_id

    def add(self, member: Member) -> None:
        if not self.members:
            self.protocol_type = member.protocol_type
        if self.leader_id is None:
            self.leader_id = member.member_id
        if member.group_instance_id is not None:
            self.static_members[member.group_instance_id] = member.member_id
        self.members[member.member_id] = member
        self.pending_join.discard(member.member_id)

    def remove(self, member_id: str) -> None:
        member = self.members.pop(member_id, None)
        self.pending_join.discard(member_id)
        self.pending_sync.discard(member_id)
        if member is not None and member.group_instance_id is not None:
            self.static_members.pop(member.group_instance_id, None)
        if self.is_leader(member_id):
            self.leader_id = next(iter(self.members), None)

    def replace_static_member(self, group_instance_id: str, new_member_id: str) -> Member:
        """Give a static member a new id; fence requests that wait under the old one (KIP-345)."""
        old_member_id = self.static_members[group_instance_id]
        member = self.members.pop(old_member_id)
        fenced = ErrorCode.FENCED_INSTANCE_ID
        member.complete_join(join_error(fenced, old_member_id))
        member.complete_sync(SyncGroupResponse(error_code=fenced))
        self.pending_sync.discard(old_member_id)
        member.member_id = new_member_id
        member.is_new = False
        self.members[new_member_id] = member
        self.static_members[group_instance_id] = new_member_id
        if self.is_leader(old_member_id):
            self.leader_id = new_member_id
        return member

    def refuse_waiting(self, error: ErrorCode) -> None:
        """Answer all members that wait for a phase to end with an error."""
        for member in list(self.members.values()):
            member.complete_join(join_error(error, member.member_id))
            member.complete_sync(SyncGroupResponse(error_code=error))

    def check_member(self, member_id: str, group_instance_id: str | None) -> Member:
        """Return the member; raise if it is unknown, or was replaced under its instance id."""
        if group_instance_id is not None:
            current = self.static_members.get(group_instance_id)
            if current is None:
                raise ApiError(ErrorCode.UNKNOWN_MEMBER_ID)
            if current != member_id:
                raise ApiError(ErrorCode.FENCED_INSTANCE_ID)
        if member_id not in self.members:
            raise ApiError(ErrorCode.UNKNOWN_MEMBER_ID)
        return self.members[member_id]

    def elect_joined_leader(self) -> bool:
        """Make sure the leader is among those that have rejoined; return False if none has."""
        if self.leader_id is None:
            return False
        if self.members[self.leader_id].is_awaiting_join:
            return True
        joined = next((member for member in self.members.values() if member.is_awaiting_join), None)
        if joined is None:
            return False
        self.leader_id = joined.member_id
        return True

    # -- generations -----------------------------------------------------------------------------

    def begin_next_generation(self, time_ms: int) -> None:
        """End the join phase: the members that are left form the next generation."""
        self.generation_id += 1
        self.pending_sync.clear()
        self.protocol_name = select_protocol(self.members.values()) if self.members else None
        self.update_topics()
        self.move_to(GroupState.COMPLETING_REBALANCE if self.members else GroupState.EMPTY, time_ms)

    def assign(self, assignment: dict[str, bytes], time_ms: int) -> None:
        """Take the leader's assignment: the generation is complete."""
        for member in self.members.values():
            member.assignment = assignment.get(member.member_id, b"")
        self.move_to(GroupState.STABLE, time_ms)

    def update_topics(self) -> None:
        """Recompute what the members subscribe to from their metadata for the elected protocol."""
        if not self.members:
            self.topics = frozenset()
            return
        self.topics = None
        if self.uses_consumer_protocol and self.protocol_name is not None:
            metadata = (member.metadata(self.protocol_name) for member in self.members.values())
            try:
                self.topics = frozenset().union(*map(subscribed_topics, metadata))
            except ProtocolError:
                self.topics = None  # metadata in another format; the group works all the same

    def is_subscribed_to(self, topic: str) -> bool:
        if self.protocol_type is None:
            return False
        return self.uses_consumer_protocol if self.topics is None else topic in self.topics
