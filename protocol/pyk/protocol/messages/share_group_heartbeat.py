"""ShareGroupHeartbeat: be a member of a share group (KIP-932)."""

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


@request(ApiKey.SHARE_GROUP_HEARTBEAT, versions="1", flexible="0+")
class ShareGroupHeartbeatRequest(Message):
    """Join a share group, stay in it, or leave it.

    A member sends it to the group coordinator every ``heartbeat_interval_ms``, and at once when its
    subscription changes. It says everything when it joins and after an error, later only what
    changed.
    """

    group_id: str = string()
    member_id: str = string()
    """Chosen by the member, a uuid, and kept as long as it lives."""
    member_epoch: int = int32()
    """The last one the member was given; 0 joins, -1 leaves."""
    rack_id: str | None = string(nullable="0+", default=None)
    """None: no rack, or unchanged."""
    subscribed_topic_names: list[str] | None = array(string, nullable="0+", default=None)
    """None: unchanged."""


@struct
class TopicPartitions(Struct):
    """Partitions of one topic."""

    topic_id: UUID = uuid()
    partitions: list[int] = array(int32)


@struct
class Assignment(Struct):
    """All partitions that a member is to fetch from; other members may have the same ones."""

    topic_partitions: list[TopicPartitions] = array(TopicPartitions)


@response(ApiKey.SHARE_GROUP_HEARTBEAT, versions="1", flexible="0+")
class ShareGroupHeartbeatResponse(Message):
    """Tell a member its epoch, when to come back, and its assignment when that has changed."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+", default=None)
    member_id: str | None = string(nullable="0+", default=None)
    """The member's own id, given when it joins."""
    member_epoch: int = int32()
    heartbeat_interval_ms: int = int32()
    assignment: Assignment | None = nested(Assignment, nullable="0+", default=None)
    """None: unchanged."""
