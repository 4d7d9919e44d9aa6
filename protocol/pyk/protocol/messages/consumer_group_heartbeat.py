"""ConsumerGroupHeartbeat: be a member of a group that the coordinator assigns (KIP-848)."""

from __future__ import annotations

from uuid import UUID

from pyk.protocol.schema import (
    ApiKey,
    Message,
    Struct,
    array,
    int16,
    int32,
    nested,
    request,
    response,
    string,
    struct,
    uuid,
)


@struct
class TopicPartitions(Struct):
    """Partitions of one topic."""

    topic_id: UUID = uuid()
    partitions: list[int] = array(int32)


@request(ApiKey.CONSUMER_GROUP_HEARTBEAT, versions="0-1", flexible="0+")
class ConsumerGroupHeartbeatRequest(Message):
    """Join a group, stay in it, or leave it.

    A member sends it to the group coordinator every ``heartbeat_interval_ms``, and at once when its
    subscription changes or it has given up partitions. It says everything when it joins and after
    an error, later only what changed since the last heartbeat; the rest is None or -1.
    """

    group_id: str = string()
    member_id: str = string()
    """Chosen by the member, a uuid, and kept as long as it lives; in version 0 empty at first,
    and the coordinator then gives one."""
    member_epoch: int = int32()
    """The last one the member was given; 0 joins, -1 leaves, -2 leaves as a static member that
    will be back."""
    instance_id: str | None = string(nullable="0+", default=None)
    """Makes the member static (KIP-345): it may restart without a rebalance."""
    rack_id: str | None = string(nullable="0+", default=None)
    rebalance_timeout_ms: int = int32(default=-1)
    """How long the coordinator waits for the member to give up partitions: its
    ``max.poll.interval.ms``."""
    subscribed_topic_names: list[str] | None = array(string, nullable="0+", default=None)
    subscribed_topic_regex: str | None = string(versions="1+", nullable="1+", default=None)
    """Subscribes to topics that match it, in RE2 syntax, which the coordinator resolves; empty
    ends that."""
    server_assignor: str | None = string(nullable="0+", default=None)
    """The assignor that the member prefers; None leaves it to the coordinator."""
    topic_partitions: list[TopicPartitions] | None = array(
        TopicPartitions, nullable="0+", default=None
    )
    """What the member owns now, which tells the coordinator what it has given up."""


@struct
class Assignment(Struct):
    """All partitions that a member is to have from now on."""

    topic_partitions: list[TopicPartitions] = array(TopicPartitions)


@response(ApiKey.CONSUMER_GROUP_HEARTBEAT, versions="0-1", flexible="0+")
class ConsumerGroupHeartbeatResponse(Message):
    """Tell a member its epoch, when to come back, and its assignment when that has changed."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+", default=None)
    member_id: str | None = string(nullable="0+", default=None)
    """The member's own id, given when it joins."""
    member_epoch: int = int32()
    heartbeat_interval_ms: int = int32()
    assignment: Assignment | None = nested(Assignment, nullable="0+", default=None)
    """None: unchanged. The member first gives up what is missing here; the next heartbeat
    reports it."""
