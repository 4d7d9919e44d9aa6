"""Encode what members of a group tell each other: subscriptions and assignments, opaque to brokers.

Subscription and assignment begin with an int16 version. A reader that meets a higher version than
its own reads it as its own highest and ignores the rest: later versions only add fields. User data
of the sticky assignors has no version.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, TypeVar

from pyk.clients.consumer.group.classic.subscription import Subscription
from pyk.clients.topic_partition import TopicPartition, by_topic
from pyk.protocol.errors import ProtocolError
from pyk.protocol.messages.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    CooperativeStickyAssignorUserData,
    StickyAssignorUserData,
    TopicAssignment,
)
from pyk.protocol.messages.consumer_protocol import TopicPartition as TopicPartitions
from pyk.protocol.persisted import decode_sticky_user_data, encode_versioned

if TYPE_CHECKING:
    from pyk.protocol.schema import Message

HIGHEST_VERSION = 3
VERSION = struct.Struct(">h")

M = TypeVar("M", bound="Message")


def encode_subscription(subscription: Subscription) -> bytes:
    """Return the metadata of a JoinGroup; the ids of the member are not part of it."""
    message = ConsumerProtocolSubscription(
        topics=sorted(subscription.topics),
        user_data=subscription.user_data,
        owned_partitions=[
            TopicPartitions(topic=topic, partitions=partitions)
            for topic, partitions in _numbers_by_topic(subscription.owned_partitions)
        ],
        generation_id=subscription.generation_id,
        rack_id=subscription.rack,
    )
    return encode_versioned(message, HIGHEST_VERSION)


def decode_subscription(
    metadata: bytes, *, member_id: str, group_instance_id: str | None
) -> Subscription:
    """Return what a member subscribed to; raise :class:`ProtocolError` for other bytes."""
    message = _decode(ConsumerProtocolSubscription, metadata)
    return Subscription(
        member_id=member_id,
        topics=frozenset(message.topics),
        owned_partitions=tuple(
            TopicPartition(owned.topic, partition)
            for owned in message.owned_partitions
            for partition in owned.partitions
        ),
        generation_id=message.generation_id,
        group_instance_id=group_instance_id,
        rack=message.rack_id,
        user_data=None if message.user_data is None else bytes(message.user_data),
    )


def encode_assignment(partitions: Iterable[TopicPartition]) -> bytes:
    """Return the assignment of one member for a SyncGroup."""
    message = ConsumerProtocolAssignment(
        assigned_partitions=[
            TopicPartitions(topic=topic, partitions=numbers)
            for topic, numbers in _numbers_by_topic(partitions)
        ]
    )
    # Every client reads version 1, and later versions do not differ.
    return encode_versioned(message, 1)


def decode_assignment(assignment: bytes) -> frozenset[TopicPartition]:
    """Return the partitions of this member, empty for an empty response; raise ProtocolError."""
    if not assignment:
        return frozenset()
    message = _decode(ConsumerProtocolAssignment, assignment)
    return frozenset(
        TopicPartition(assigned.topic, partition)
        for assigned in message.assigned_partitions
        for partition in assigned.partitions
        if partition >= 0
    )


def encode_sticky_user_data(owned: Sequence[TopicPartition], generation_id: int) -> bytes:
    """Return the user data in which an eager member, which gives up all before it joins, lists what
    it owned."""
    return StickyAssignorUserData(
        previous_assignment=[
            TopicAssignment(topic=topic, partitions=partitions)
            for topic, partitions in _numbers_by_topic(owned)
        ],
        generation=generation_id,
    ).encode(1)


def encode_cooperative_user_data(generation_id: int) -> bytes:
    """Return the generation for leaders that do not read it from the subscription itself."""
    return CooperativeStickyAssignorUserData(generation=generation_id).encode(0)


def sticky_claims(member: Subscription) -> tuple[int, tuple[TopicPartition, ...]]:
    """Return the generation and the partitions that an eager member says it had."""
    message = decode_sticky_user_data(member.user_data or b"")
    return message.generation, tuple(
        TopicPartition(previous.topic, partition)
        for previous in message.previous_assignment
        for partition in previous.partitions
    )


def cooperative_claims(member: Subscription) -> tuple[int, tuple[TopicPartition, ...]]:
    """Return the generation and the partitions that a cooperative member says it owns."""
    generation_id = member.generation_id
    if generation_id < 0 and member.user_data:
        try:
            generation_id = CooperativeStickyAssignorUserData.decode(member.user_data, 0).generation
        except ProtocolError:
            generation_id = -1
    return generation_id, member.owned_partitions


def _decode(message: type[M], data: bytes) -> M:
    if len(data) < VERSION.size:
        raise ProtocolError(f"{message.__name__}: {len(data)} bytes are too few for its version")
    (version,) = VERSION.unpack_from(data)
    if version < 0:
        raise ProtocolError(f"{message.__name__}: version {version} does not exist")
    return message.decode_prefix(data, min(version, HIGHEST_VERSION), VERSION.size)[0]


def _numbers_by_topic(partitions: Iterable[TopicPartition]) -> list[tuple[str, list[int]]]:
    topics = by_topic(sorted(partitions))
    return [(topic, [one.partition for one in partitions]) for topic, partitions in topics.items()]
