"""DeleteTopics: delete topics and their data."""

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
class DeleteTopicState(Struct):
    """A topic to delete, by name or by id."""

    name: str | None = string(nullable="6+", default=None)
    topic_id: UUID = uuid()


@request(ApiKey.DELETE_TOPICS, versions="0-6", flexible="4+")
class DeleteTopicsRequest(Message):
    """Delete topics."""

    topics: list[DeleteTopicState] = array(DeleteTopicState, versions="6+")
    topic_names: list[str] = array(string, versions="0-5", ignorable=True)
    timeout_ms: int = int32()


@struct
class DeletableTopicResult(Struct):
    """Whether one topic was deleted."""

    name: str | None = string(nullable="6+")
    topic_id: UUID = uuid(versions="6+", ignorable=True)
    error_code: int = int16()
    error_message: str | None = string(versions="5+", nullable="5+", default=None, ignorable=True)


@response(ApiKey.DELETE_TOPICS, versions="0-6", flexible="4+")
class DeleteTopicsResponse(Message):
    """Say which topics were deleted."""

    throttle_time_ms: int = int32(versions="1+", ignorable=True)
    responses: list[DeletableTopicResult] = array(DeletableTopicResult)
