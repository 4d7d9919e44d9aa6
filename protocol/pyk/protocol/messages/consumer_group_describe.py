"""ConsumerGroupDescribe: state and members of consumer groups (KIP-848)."""

from __future__ import annotations

from uuid import UUID

from pyk.protocol.schema import (
    ApiKey,
    Message,
    Struct,
    array,
    boolean,
    int8,
    int16,
    int32,
    nested,
    request,
    response,
    string,
    struct,
    uuid,
)


@request(ApiKey.CONSUMER_GROUP_DESCRIBE, versions="0-1", flexible="0+")
class ConsumerGroupDescribeRequest(Message):
    """Ask the coordinator of these groups for their state and members, as an admin client does."""

    group_ids: list[str] = array(string)
    include_authorized_operations: bool = boolean()


@struct
class TopicPartitions(Struct):
    """Partitions of one topic."""

    topic_id: UUID = uuid()
    topic_name: str = string()
    partitions: list[int] = array(int32)


@struct
class Assignment(Struct):
    """Partitions of one member."""

    topic_partitions: list[TopicPartitions] = array(TopicPartitions)


@struct
class Member(Struct):
    """A member with its subscription and assignments."""

    member_id: str = string()
    instance_id: str | None = string(nullable="0+", default=None)
    """Set for a static member."""
    rack_id: str | None = string(nullable="0+", default=None)
    member_epoch: int = int32()
    """The assignment epoch that the member has reached."""
    client_id: str = string()
    client_host: str = string()
    subscribed_topic_names: list[str] = array(string)
    subscribed_topic_regex: str | None = string(nullable="0+", default=None)
    """Set for a member that subscribes by a pattern."""
    assignment: Assignment = nested(Assignment)
    """What the member may consume now."""
    target_assignment: Assignment = nested(Assignment)
    """What it will have when all members have reconciled."""
    member_type: int = int8(versions="1+", default=-1, ignorable=True)
    """1 a consumer member, 0 a classic member of a group that is being migrated, -1 unknown."""


@struct
class DescribedGroup(Struct):
    """A group with its members."""

    error_code: int = int16()
    error_message: str | None = string(nullable="0+", default=None)
    group_id: str = string()
    group_state: str = string()
    group_epoch: int = int32()
    """Grows whenever members, subscriptions or the topics behind them change."""
    assignment_epoch: int = int32()
    """The group epoch for which the target assignment was made; behind while it is being
    computed."""
    assignor_name: str = string()
    members: list[Member] = array(Member)
    authorized_operations: int = int32(default=-2147483648)
    """A bit per ACL operation; the lowest int32 if not asked for."""


@response(ApiKey.CONSUMER_GROUP_DESCRIBE, versions="0-1", flexible="0+")
class ConsumerGroupDescribeResponse(Message):
    """Describe groups; a group of another kind has GROUP_ID_NOT_FOUND."""

    throttle_time_ms: int = int32()
    groups: list[DescribedGroup] = array(DescribedGroup)
