"""A member by ConsumerGroupHeartbeat, step by step, with the coordinator in the test's hands."""

from __future__ import annotations

from typing import TypeVar
from uuid import UUID

from pyk.clients.consumer.group.actions import Action, Assign, Revoke, Send
from pyk.clients.consumer.group.modern.assignment import TopicIdPartition, by_topic_id
from pyk.clients.consumer.group.modern.heartbeats import MemberOptions
from pyk.clients.consumer.group.modern.membership import MemberState, ModernMembership
from pyk.clients.engine.metadata import MetadataImage, PartitionMetadata, TopicMetadata
from pyk.clients.errors import KafkaError
from pyk.clients.topic_partition import TopicPartition
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.consumer_group_heartbeat import (
    Assignment,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)

A = TypeVar("A")
TOPIC = "a"
TOPIC_ID = UUID(int=1)
INTERVAL = 2.0


def partitions(*numbers: int) -> frozenset[TopicPartition]:
    return frozenset(TopicPartition(TOPIC, number) for number in numbers)


def image_of(**topic_ids: int) -> MetadataImage:
    """Return metadata of topics with these ids, of eight partitions each."""
    numbered = {name: UUID(int=number) for name, number in topic_ids.items()}
    some = tuple(PartitionMetadata(number, 0, 0) for number in range(8))
    return MetadataImage(
        topics={name: TopicMetadata(name, topic_id, some) for name, topic_id in numbered.items()},
        names={topic_id: name for name, topic_id in numbered.items()},
    )


class ModernMember:
    """A membership with the clock and the coordinator's answers in the test's hands."""

    def __init__(self, **options: object) -> None:
        fields = {"group_id": "g", "member_id": "me", **options}
        self.membership = ModernMembership(MemberOptions(**fields), lambda: 0.5, 0.0)  # type: ignore[arg-type]
        self.now = 0.0
        self.epoch = 0
        self.knows(a=1)
        self.membership.subscribe(frozenset({TOPIC}), 0.0)

    def knows(self, **topic_ids: int) -> None:
        """Let it know topics of these ids, and no others."""
        self.membership.metadata_changed(image_of(**topic_ids), self.now)

    def next(self) -> Action:
        return self.membership.next_action(self.now)

    def expect(self, kind: type[A]) -> A:
        action = self.next()
        assert isinstance(action, kind), action
        return action

    def expect_heartbeat(self) -> ConsumerGroupHeartbeatRequest:
        """Return the request of a heartbeat that is due now, and answer nothing yet."""
        self.sent = self.expect(Send)
        request = self.sent.request
        assert isinstance(request, ConsumerGroupHeartbeatRequest)
        return request

    def answer(
        self,
        assigned: tuple[int, ...] | None = None,
        *,
        topic_id: int = 1,
        epoch: int | None = None,
    ) -> None:
        """Answer the heartbeat in flight, with an assignment if one is given."""
        self.epoch = self.epoch + 1 if epoch is None else epoch
        assignment = None
        if assigned is not None:
            wanted = [TopicIdPartition(UUID(int=topic_id), "", number) for number in assigned]
            assignment = Assignment(topic_partitions=by_topic_id(wanted))
        response = ConsumerGroupHeartbeatResponse(
            member_epoch=self.epoch,
            heartbeat_interval_ms=int(INTERVAL * 1000),
            assignment=assignment,
        )
        self.membership.answered(self.sent, response, self.now)

    def refuse(self, code: ErrorCode, message: str | None = None) -> None:
        response = ConsumerGroupHeartbeatResponse(error_code=code, error_message=message)
        self.membership.answered(self.sent, response, self.now)

    def fail(self, error: KafkaError) -> None:
        self.membership.request_failed(self.sent, error, self.now)

    def beat(
        self, assigned: tuple[int, ...] | None = None, **answer: int
    ) -> ConsumerGroupHeartbeatRequest:
        """Let an interval pass, and answer the heartbeat that is due then."""
        self.now += INTERVAL
        request = self.expect_heartbeat()
        self.answer(assigned, **answer)
        return request

    def stable(self, *numbers: int) -> ModernMember:
        """Join, and own these partitions."""
        self.expect_heartbeat()
        self.answer(numbers)
        self.expect(Assign)
        if numbers:
            self.expect_heartbeat()
            self.answer()
        return self

    def revoke(self, *numbers: int) -> Revoke:
        """Expect that these partitions are to be given up, and report that they are."""
        revoke = self.expect(Revoke)
        assert revoke.partitions == partitions(*numbers)
        self.membership.revoked(revoke)
        return revoke

    @property
    def state(self) -> MemberState:
        return self.membership.state
