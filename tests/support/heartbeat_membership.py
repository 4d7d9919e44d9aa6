"""A membership by ConsumerGroupHeartbeat (KIP-848), as small as it can be.

It shows that :class:`~pyk.clients.consumer.group.membership.Membership` fits a protocol without
generations, joins and syncs. It beats every second, and knows no other errors than to be fenced.
"""

from __future__ import annotations

from collections import deque
from uuid import UUID

from pyk.clients.consumer.group.actions import Action, Assign, Leave, Lose, Revoke, Send, Wait
from pyk.clients.consumer.group.join_failures import JoinFailures
from pyk.clients.consumer.group.membership import MetadataNeeds, Standing
from pyk.clients.engine.metadata import MetadataImage
from pyk.clients.errors import KafkaError
from pyk.clients.offsets import Identity
from pyk.clients.topic_partition import TopicPartition
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.consumer_group_heartbeat import (
    Assignment,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)

INTERVAL = 1.0
LEAVE_EPOCH = -1


class HeartbeatMembership:
    """A member whose target assignment comes with heartbeats."""

    def __init__(self) -> None:
        self.error: KafkaError | None = None
        self.failures = JoinFailures(30.0)
        self._is_member = False
        self._topics: frozenset[str] = frozenset()
        self._epoch = 0
        self._owned: frozenset[TopicPartition] = frozenset()
        self._target: Assignment | None = None
        self._revoking: Revoke | None = None
        self._image = MetadataImage()
        self._next_heartbeat = 0.0
        self._actions: deque[Action] = deque()

    @property
    def standing(self) -> Standing:
        identity = Identity(self._epoch, "me") if self._epoch > 0 else None
        return Standing(
            state="stable" if self._epoch else "joining",
            identity=identity if self._is_member else Identity(),
            is_member=self._is_member,
            is_joining=self._epoch == 0,
            is_rebalancing=self._revoking is not None or self._target is not None,
        )

    @property
    def needs(self) -> MetadataNeeds:
        ids = [one.topic_id for one in self._target.topic_partitions] if self._target else []
        return MetadataNeeds(is_incomplete=any(map(self._is_unknown, ids)))

    def _is_unknown(self, topic_id: UUID) -> bool:
        return self._image.topic_by_id(topic_id) is None

    def subscribe(self, topics: frozenset[str], now: float) -> None:
        self._is_member, self._topics, self._next_heartbeat = True, topics, now

    def application_polled(self, now: float) -> None:
        pass

    def metadata_changed(self, image: MetadataImage, now: float) -> None:
        self._image = image

    def is_absent(self, now: float) -> bool:
        return False

    def retry(self, now: float) -> None:
        pass

    def leave(self, reason: str) -> Leave | None:
        self._is_member = False
        self._owned, self._target, self._revoking = frozenset(), None, None
        self._actions.clear()
        return Leave(self._request(LEAVE_EPOCH))

    def next_action(self, now: float) -> Action:
        self._reconcile(now)
        if self._actions:
            return self._actions.popleft()
        if self._is_member and now >= self._next_heartbeat:
            self._next_heartbeat = now + INTERVAL
            return Send(self._request(self._epoch), 1000)
        return Wait(self._next_heartbeat if self._is_member else None)

    def _request(self, epoch: int) -> ConsumerGroupHeartbeatRequest:
        numbers: dict[UUID, list[int]] = {}
        for topic, partition in sorted(self._owned):
            topic_id = self._image.topic_id(topic)
            assert topic_id is not None
            numbers.setdefault(topic_id, []).append(partition)
        return ConsumerGroupHeartbeatRequest(
            group_id="g",
            member_id="me",
            member_epoch=epoch,
            subscribed_topic_names=sorted(self._topics),
            topic_partitions=[
                TopicPartitions(topic_id=topic_id, partitions=partitions)
                for topic_id, partitions in numbers.items()
            ],
        )

    def answered(self, sent: Send, response: ConsumerGroupHeartbeatResponse, now: float) -> None:
        if not self._is_member:
            return
        if response.error_code == ErrorCode.FENCED_MEMBER_EPOCH:
            self._actions.append(Lose(self._owned))
            self._owned, self._target, self._revoking = frozenset(), None, None
            self._epoch, self._next_heartbeat = 0, now
            return
        self._epoch = response.member_epoch
        if response.assignment is not None:
            self._target = response.assignment

    def request_failed(self, sent: Send, error: KafkaError, now: float) -> None:
        self.failures.failed(error, now)

    def _reconcile(self, now: float) -> None:
        """Revoke lost partitions first, then take new ones, then acknowledge all."""
        if self._target is None or self._revoking is not None or self.needs.is_incomplete:
            return
        target = frozenset(
            TopicPartition(self._name(one.topic_id), number)
            for one in self._target.topic_partitions
            for number in one.partitions
        )
        if self._owned - target:
            self._revoking = Revoke(self._owned - target)
            self._actions.append(self._revoking)
            return
        added, self._owned, self._target = target - self._owned, target, None
        if added:
            self._actions.append(Assign(added, self._owned))
        self._next_heartbeat = now

    def _name(self, topic_id: UUID) -> str:
        topic = self._image.topic_by_id(topic_id)
        assert topic is not None
        return topic.name

    def revoked(self, revoke: Revoke) -> None:
        if revoke is self._revoking:
            self._revoking = None
            self._owned -= revoke.partitions
            self._next_heartbeat = 0.0
