"""Coordinators of a group with one member, by the classic protocol and by KIP-848."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from pyk.clients.consumer.group.classic.assignors import CooperativeStickyAssignor
from pyk.clients.consumer.group.classic.consumer_protocol import (
    decode_subscription,
    encode_assignment,
)
from pyk.clients.consumer.group.classic.membership import ClassicMembership
from pyk.clients.consumer.group.classic.requests import MemberOptions
from pyk.clients.consumer.group.membership import Membership
from pyk.clients.consumer.group.modern import heartbeats
from pyk.clients.consumer.group.modern.membership import ModernMembership
from pyk.clients.topic_partition import TopicPartition, by_topic
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.consumer_group_heartbeat import (
    Assignment,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from pyk.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from pyk.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from pyk.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
from pyk.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from support.scripted_broker import ScriptedCluster

Partitions = frozenset[TopicPartition]


class ScriptedGroup(Protocol):
    """A coordinator that assigns as a test tells it, and that records the requests of members."""

    membership: Membership
    owned: Partitions
    """What the member said last that it owns."""
    beats: int
    has_left: bool

    def assign(self, *partitions: TopicPartition) -> None: ...
    def fence(self) -> None: ...


class ClassicGroup:
    """The member joins, and another one that leads the group assigns."""

    def __init__(self, cluster: ScriptedCluster) -> None:
        options = MemberOptions(
            group_id="g", assignors=(CooperativeStickyAssignor(),), heartbeat_interval=1.0
        )
        self.membership: Membership = ClassicMembership(options, lambda: 0.5, 0.0)
        self.owned: Partitions = frozenset()
        self.beats = 0
        self.has_left = False
        self._target: Partitions = frozenset()
        self._is_synced = False
        self._is_fenced = False
        self._generation = 0
        cluster.on(JoinGroupRequest, self._join)
        cluster.on(SyncGroupRequest, self._sync)
        cluster.on(HeartbeatRequest, self._beat)
        cluster.on(LeaveGroupRequest, self._leave)

    def assign(self, *partitions: TopicPartition) -> None:
        self._target, self._is_synced = frozenset(partitions), False

    def fence(self) -> None:
        self._is_fenced = True

    def _join(self, request: JoinGroupRequest) -> JoinGroupResponse:
        metadata = request.protocols[0].metadata
        subscription = decode_subscription(metadata, member_id="me", group_instance_id=None)
        self.owned = frozenset(subscription.owned_partitions)
        self._generation += 1
        self._is_fenced = False
        return JoinGroupResponse(
            generation_id=self._generation,
            protocol_name="cooperative-sticky",
            leader="other",
            member_id="me",
        )

    def _sync(self, request: SyncGroupRequest) -> SyncGroupResponse:
        self._is_synced = True
        return SyncGroupResponse(assignment=encode_assignment(self._target))

    def _beat(self, request: HeartbeatRequest) -> HeartbeatResponse:
        self.beats += 1
        if self._is_fenced:
            return HeartbeatResponse(error_code=ErrorCode.UNKNOWN_MEMBER_ID)
        code = ErrorCode.NONE if self._is_synced else ErrorCode.REBALANCE_IN_PROGRESS
        return HeartbeatResponse(error_code=code)

    def _leave(self, request: LeaveGroupRequest) -> LeaveGroupResponse:
        self.has_left = True
        return LeaveGroupResponse()


class HeartbeatGroup:
    """The coordinator assigns, in its answers to heartbeats."""

    def __init__(self, cluster: ScriptedCluster) -> None:
        options = heartbeats.MemberOptions(group_id="g", member_id="me")
        self.membership: Membership = ModernMembership(options, lambda: 0.5, 0.0)
        self.owned: Partitions = frozenset()
        self.beats = 0
        self.has_left = False
        self._cluster = cluster
        self._target: Partitions = frozenset()
        self._is_told = True
        self._is_fenced = False
        self._epoch = 1
        cluster.on(ConsumerGroupHeartbeatRequest, self._beat)

    def assign(self, *partitions: TopicPartition) -> None:
        self._target, self._is_told = frozenset(partitions), False
        self._epoch += 1

    def fence(self) -> None:
        self._is_fenced = True

    def _beat(self, request: ConsumerGroupHeartbeatRequest) -> ConsumerGroupHeartbeatResponse:
        self.beats += 1
        if request.member_epoch == heartbeats.LEAVE_EPOCH:
            self.has_left = True
            return ConsumerGroupHeartbeatResponse(member_epoch=heartbeats.LEAVE_EPOCH)
        if self._is_fenced and request.member_epoch > 0:
            return ConsumerGroupHeartbeatResponse(error_code=ErrorCode.FENCED_MEMBER_EPOCH)
        if request.member_epoch == 0:
            self._is_fenced = self._is_told = False
        if request.topic_partitions is not None:
            self.owned = frozenset(self._named(request.topic_partitions))
        is_told, self._is_told = self._is_told, True
        return ConsumerGroupHeartbeatResponse(
            member_epoch=self._epoch,
            heartbeat_interval_ms=1000,
            assignment=None if is_told else self._assignment(),
        )

    def _assignment(self) -> Assignment:
        topics = by_topic(sorted(self._target))
        return Assignment(
            topic_partitions=[
                TopicPartitions(
                    topic_id=self._cluster.topics[topic].topic_id,
                    partitions=[one.partition for one in partitions],
                )
                for topic, partitions in topics.items()
            ]
        )

    def _named(self, topics: Iterable[TopicPartitions]) -> Iterable[TopicPartition]:
        names = {topic.topic_id: name for name, topic in self._cluster.topics.items()}
        for topic in topics:
            for number in topic.partitions:
                yield TopicPartition(names[topic.topic_id], number)
