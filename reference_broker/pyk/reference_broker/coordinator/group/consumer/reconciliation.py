"""Bring a member one step closer to its target assignment: give up, wait, take over. Pure.

A partition has one owner at a time. So a member first gives up what it should not have, and reports
that by a heartbeat without it. Only then it gets the epoch of the target, with the partitions that
nobody else has. It waits in that epoch for the rest.

Each step makes the present epoch the one before, even a step that stays in it, as in Kafka. So a
member that did not get an answer goes on from the epoch before only if that answer brought the
present one; if not, it is fenced, and joins again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from uuid import UUID

from pyk.protocol.errors import ErrorCode
from pyk.reference_broker.errors import ApiError
from pyk.runtime import slotted

from .assignment import Assignment
from .member import ConsumerMember, MemberState, PartitionEpochs

Epochs = dict[UUID, dict[int, int]]


@slotted.frozen(kw_only=True)
class Reconciliation:
    """All that decides on the next step of a member."""

    target_epoch: int
    target: Assignment
    topic_ids: Collection[UUID]
    """The topics that the member subscribes to and that exist."""
    owned: Assignment | None
    """What the member has reported to have, None if it has not reported."""
    is_free: Callable[[UUID, int], bool]
    """Whether no other member has a partition."""
    has_new_subscription: bool

    def step(self, member: ConsumerMember) -> ConsumerMember:
        """Return the member after its next step, the same one if it has to wait."""
        if member.is_at(self.target_epoch):
            return self._without_unsubscribed(member)
        if member.state is MemberState.UNREVOKED_PARTITIONS and self._owns(member.revoking):
            return self._without_unsubscribed(member)
        if member.state is MemberState.UNKNOWN:
            self._check_abandoned()
        return self._towards_target(member)

    def _check_abandoned(self) -> None:
        """Raise unless the member begins again without partitions: nobody knows which it has."""
        if self.owned is None or self.owned:
            raise ApiError(
                ErrorCode.FENCED_MEMBER_EPOCH,
                "The consumer group member is in a unknown state. The member must abandon all its "
                "partitions and rejoin.",
            )

    def _without_unsubscribed(self, member: ConsumerMember) -> ConsumerMember:
        """Take away at once what the member does not subscribe to any more."""
        gone = {
            topic_id: partitions
            for topic_id, partitions in member.assigned.items()
            if topic_id not in self.topic_ids
        }
        has_nothing_left = not self.topic_ids and not member.revoking
        if not self.has_new_subscription or not (gone or has_nothing_left):
            return member
        kept = {
            topic_id: partitions
            for topic_id, partitions in member.assigned.items()
            if topic_id in self.topic_ids
        }
        revoking = {
            topic_id: {**member.revoking.get(topic_id, {}), **gone.get(topic_id, {})}
            for topic_id in {**member.revoking, **gone}
        }
        if self._owns(revoking):
            return self._revoking(member, kept, revoking)
        return slotted.evolve(member, previous_epoch=member.epoch, assigned=kept)

    def _towards_target(self, member: ConsumerMember) -> ConsumerMember:
        kept: Epochs = {}
        revoking: Epochs = {}
        for topic_id, epochs in member.assigned.items():
            wanted = self._wanted(topic_id)
            for partition, epoch in epochs.items():
                which = kept if partition in wanted else revoking
                which.setdefault(topic_id, {})[partition] = epoch
        if self._owns(revoking):
            return self._revoking(member, kept, revoking)
        is_complete = self._take_over(kept)
        return slotted.evolve(
            member,
            state=MemberState.STABLE if is_complete else MemberState.UNRELEASED_PARTITIONS,
            previous_epoch=member.epoch,
            epoch=self.target_epoch,
            assigned=kept,
            revoking={},
        )

    def _take_over(self, assigned: Epochs) -> bool:
        """Add the partitions that are free; return whether that completes the target."""
        is_complete = True
        for topic_id in self.target:
            for partition in self._wanted(topic_id) - assigned.get(topic_id, {}).keys():
                if self.is_free(topic_id, partition):
                    assigned.setdefault(topic_id, {})[partition] = self.target_epoch
                else:
                    is_complete = False
        return is_complete

    def _wanted(self, topic_id: UUID) -> frozenset[int]:
        """Return the target, without topics that are subscribed to no longer."""
        is_subscribed = topic_id in self.topic_ids
        return self.target.get(topic_id, frozenset()) if is_subscribed else frozenset()

    def _owns(self, revoking: PartitionEpochs) -> bool:
        """Return whether the member may still have one of these partitions."""
        if self.owned is None:
            return any(revoking.values())
        return any(
            not self.owned.get(topic_id, frozenset()).isdisjoint(partitions)
            for topic_id, partitions in revoking.items()
        )

    @staticmethod
    def _revoking(
        member: ConsumerMember, kept: PartitionEpochs, revoking: PartitionEpochs
    ) -> ConsumerMember:
        return slotted.evolve(
            member,
            state=MemberState.UNREVOKED_PARTITIONS,
            previous_epoch=member.epoch,
            assigned=kept,
            revoking=revoking,
        )
