"""A coordinator of one group by KIP-848, as small as it can be: it deals out one topic in turn.

A member first gives up what its target lacks; only then it gets its new epoch, and those partitions
of its target that nobody holds.
"""

from __future__ import annotations

from uuid import UUID

import attrs

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.consumer_group_heartbeat import (
    Assignment,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)

TOPIC_ID = UUID(int=1)


@attrs.define
class Registered:
    """A member as its coordinator knows it."""

    epoch: int = 0
    previous_epoch: int = -1
    assigned: frozenset[int] = frozenset()
    to_give_up: frozenset[int] = frozenset()

    @property
    def held(self) -> frozenset[int]:
        return self.assigned | self.to_give_up


class ModelCoordinator:
    """Assigns the partitions of one topic to the members of one group."""

    def __init__(self, partition_count: int) -> None:
        self.members: dict[str, Registered] = {}
        self._partition_count = partition_count
        self._epoch = 0

    def expire(self, member_id: str) -> None:
        """Remove a member that does not know of it."""
        if self.members.pop(member_id, None) is not None:
            self._epoch += 1

    def target(self, member_id: str) -> frozenset[int]:
        ids = sorted(self.members)
        return frozenset(range(ids.index(member_id), self._partition_count, len(ids)))

    def heartbeat(self, request: ConsumerGroupHeartbeatRequest) -> ConsumerGroupHeartbeatResponse:
        member_id = request.member_id
        if request.member_epoch < 0:
            self.expire(member_id)
            return ConsumerGroupHeartbeatResponse(member_epoch=request.member_epoch)
        if request.member_epoch == 0:
            assert request.topic_partitions == []
            self.members[member_id] = Registered()
            self._epoch += 1
        member = self.members.get(member_id)
        if member is None:
            return ConsumerGroupHeartbeatResponse(error_code=ErrorCode.UNKNOWN_MEMBER_ID)
        if not self._is_valid(member, request):
            return ConsumerGroupHeartbeatResponse(error_code=ErrorCode.FENCED_MEMBER_EPOCH)
        before = member.assigned
        self._reconcile(member_id, member, request)
        is_told = member.assigned != before or request.subscribed_topic_names is not None
        return ConsumerGroupHeartbeatResponse(
            member_epoch=member.epoch,
            heartbeat_interval_ms=1000,
            assignment=_assignment(member.assigned) if is_told else None,
        )

    def _is_valid(self, member: Registered, request: ConsumerGroupHeartbeatRequest) -> bool:
        if request.member_epoch in (0, member.epoch):
            return True
        # The answer with the newer epoch was lost.
        owned = _owned(request)
        is_previous = request.member_epoch == member.previous_epoch
        return is_previous and owned is not None and owned <= member.assigned

    def _reconcile(
        self, member_id: str, member: Registered, request: ConsumerGroupHeartbeatRequest
    ) -> None:
        owned = _owned(request)
        if owned is not None and not owned & member.to_give_up:
            member.to_give_up = frozenset()
        if member.to_give_up:
            return
        target = self.target(member_id)
        unwanted = member.assigned - target
        member.assigned &= target
        if unwanted if owned is None else unwanted & owned:
            member.to_give_up = unwanted
            return
        others = [other for other_id, other in self.members.items() if other_id != member_id]
        member.assigned |= target.difference(*(other.held for other in others))
        if member.epoch != self._epoch:
            member.previous_epoch, member.epoch = member.epoch, self._epoch


def _owned(request: ConsumerGroupHeartbeatRequest) -> frozenset[int] | None:
    if request.topic_partitions is None:
        return None
    return frozenset(number for topic in request.topic_partitions for number in topic.partitions)


def _assignment(numbers: frozenset[int]) -> Assignment:
    if not numbers:
        return Assignment()
    return Assignment(
        topic_partitions=[TopicPartitions(topic_id=TOPIC_ID, partitions=sorted(numbers))]
    )
