"""A member's side of a group, step by step, with the coordinator in the test's hands."""

from __future__ import annotations

from typing import Any, TypeVar

from pyk.clients.consumer.group.actions import Action, Assign, Send
from pyk.clients.consumer.group.classic.assignors import CooperativeStickyAssignor, RangeAssignor
from pyk.clients.consumer.group.classic.consumer_protocol import encode_assignment
from pyk.clients.consumer.group.classic.member_state import MemberState
from pyk.clients.consumer.group.classic.membership import ClassicMembership
from pyk.clients.consumer.group.classic.requests import MemberOptions
from pyk.clients.engine.metadata import MetadataImage, PartitionMetadata, TopicMetadata
from pyk.clients.errors import KafkaError
from pyk.clients.topic_partition import TopicPartition
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from pyk.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from pyk.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse

A = TypeVar("A")
TOPICS = frozenset({"a"})


def partitions(*numbers: int) -> frozenset[TopicPartition]:
    return frozenset(TopicPartition("a", number) for number in numbers)


class Member:
    """A membership with the clock and the coordinator's answers in the test's hands."""

    def __init__(self, *, cooperative: bool = False, **options: object) -> None:
        assignors = (CooperativeStickyAssignor(),) if cooperative else (RangeAssignor(),)
        fields = {"group_id": "g", "assignors": assignors, **options}
        self.membership = ClassicMembership(MemberOptions(**fields), lambda: 0.5, 0.0)  # type: ignore[arg-type]
        self.now = 0.0
        self.membership.subscribe(TOPICS, 0.0)

    def next(self) -> Action:
        return self.membership.next_action(self.now)

    def expect(self, kind: type[A]) -> A:
        action = self.next()
        assert isinstance(action, kind), action
        return action

    def expect_request(self, kind: type[Any]) -> Send:
        action = self.expect(Send)
        assert isinstance(action.request, kind), action
        return action

    def join(self, error: ErrorCode = ErrorCode.NONE, **fields: object) -> Send:
        action = self.expect_request(JoinGroupRequest)
        values = {
            "generation_id": 1,
            "protocol_name": self.membership._options.assignors[0].name,
            "leader": "other",
            "member_id": "me",
            **fields,
        }
        self.answer(action, JoinGroupResponse(error_code=error, **values))  # type: ignore[arg-type]
        return action

    def sync(self, *numbers: int, error: ErrorCode = ErrorCode.NONE) -> Send:
        action = self.expect_request(SyncGroupRequest)
        blob = encode_assignment(partitions(*numbers))
        self.answer(action, SyncGroupResponse(error_code=error, assignment=blob))
        return action

    def heartbeat(self, error: ErrorCode = ErrorCode.NONE) -> Send:
        self.now += 3.0
        action = self.expect_request(HeartbeatRequest)
        self.answer(action, HeartbeatResponse(error_code=error))
        return action

    def answer(self, action: Send, response: object) -> None:
        self.membership.answered(action, response, self.now)

    def fail(self, action: Send, error: KafkaError) -> None:
        self.membership.request_failed(action, error, self.now)

    def knows(self, **partition_counts: int) -> None:
        """Let it know how many partitions these topics have, and of no others."""
        topics = {
            name: TopicMetadata(name, None, tuple(PartitionMetadata(n, 0, 0) for n in range(count)))
            for name, count in partition_counts.items()
        }
        self.membership.metadata_changed(MetadataImage(topics=topics), self.now)

    def stable(self, *numbers: int) -> Member:
        self.join()
        self.sync(*numbers)
        self.expect(Assign)
        return self

    @property
    def state(self) -> MemberState:
        return self.membership.state
