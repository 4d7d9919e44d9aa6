"""A member's side of a group, step by step, with the coordinator in the test's hands."""

from __future__ import annotations

from typing import TypeVar

from pyk.clients.consumer.group.actions import Action, Assign, Heartbeat, Join, Sync
from pyk.clients.consumer.group.classic.assignors import CooperativeStickyAssignor, RangeAssignor
from pyk.clients.consumer.group.classic.consumer_protocol import encode_assignment
from pyk.clients.consumer.group.classic.member_state import MemberState
from pyk.clients.consumer.group.classic.membership import Membership
from pyk.clients.consumer.group.classic.requests import MemberOptions
from pyk.clients.topic_partition import TopicPartition
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.heartbeat import HeartbeatResponse
from pyk.protocol.messages.join_group import JoinGroupResponse
from pyk.protocol.messages.sync_group import SyncGroupResponse

A = TypeVar("A")
TOPICS = frozenset({"a"})


def partitions(*numbers: int) -> frozenset[TopicPartition]:
    return frozenset(TopicPartition("a", number) for number in numbers)


class Member:
    """A membership with the clock and the coordinator's answers in the test's hands."""

    def __init__(self, *, cooperative: bool = False, **options: object) -> None:
        assignors = (CooperativeStickyAssignor(),) if cooperative else (RangeAssignor(),)
        fields = {"group_id": "g", "assignors": assignors, **options}
        self.membership = Membership(MemberOptions(**fields), lambda: 0.5, 0.0)  # type: ignore[arg-type]
        self.now = 0.0
        self.membership.subscribe(TOPICS, 0.0)

    def next(self) -> Action:
        return self.membership.next_action(self.now)

    def expect(self, kind: type[A]) -> A:
        action = self.next()
        assert isinstance(action, kind), action
        return action

    def join(self, error: ErrorCode = ErrorCode.NONE, **fields: object) -> Join:
        action = self.expect(Join)
        values = {
            "generation_id": 1,
            "protocol_name": self.membership._options.assignors[0].name,
            "leader": "other",
            "member_id": "me",
            **fields,
        }
        self.membership.joined(
            JoinGroupResponse(error_code=error, **values),  # type: ignore[arg-type]
            self.now,
        )
        return action

    def sync(self, *numbers: int, error: ErrorCode = ErrorCode.NONE) -> Sync:
        action = self.expect(Sync)
        blob = encode_assignment(partitions(*numbers))
        self.membership.synced(SyncGroupResponse(error_code=error, assignment=blob), self.now)
        return action

    def heartbeat(self, error: ErrorCode = ErrorCode.NONE) -> Heartbeat:
        self.now += 3.0
        action = self.expect(Heartbeat)
        self.membership.heartbeat_answered(HeartbeatResponse(error_code=error), self.now)
        return action

    def stable(self, *numbers: int) -> Member:
        self.join()
        self.sync(*numbers)
        self.expect(Assign)
        return self

    @property
    def state(self) -> MemberState:
        return self.membership.state
