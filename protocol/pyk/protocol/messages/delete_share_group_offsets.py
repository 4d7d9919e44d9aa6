"""DeleteShareGroupOffsets: let an empty share group forget topics (KIP-932)."""

from __future__ import annotations

from uuid import UUID

from pyk.protocol.schema import (
    ApiKey,
    Message,
    Struct,
    array,
    int16,
    int32,
    request,
    response,
    string,
    struct,
    uuid,
)


@struct
class DeleteShareGroupOffsetsRequestTopic(Struct):
    """A topic to forget, all its partitions."""

    topic_name: str = string()


@request(ApiKey.DELETE_SHARE_GROUP_OFFSETS, versions="0", flexible="0+")
class DeleteShareGroupOffsetsRequest(Message):
    """Drop start offsets and delivery state of topics.

    An admin client sends it to the group coordinator; the group must have no members.
    """

    group_id: str = string()
    topics: list[DeleteShareGroupOffsetsRequestTopic] = array(DeleteShareGroupOffsetsRequestTopic)


@struct
class DeleteShareGroupOffsetsResponseTopic(Struct):
    """Whether one topic is forgotten."""

    topic_name: str = string()
    topic_id: UUID = uuid()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+", default=None)


@response(ApiKey.DELETE_SHARE_GROUP_OFFSETS, versions="0", flexible="0+")
class DeleteShareGroupOffsetsResponse(Message):
    """Say which topics are forgotten."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    """Of the group as a whole, NON_EMPTY_GROUP for example."""
    error_message: str | None = string(nullable="0+", default=None)
    responses: list[DeleteShareGroupOffsetsResponseTopic] = array(
        DeleteShareGroupOffsetsResponseTopic
    )
