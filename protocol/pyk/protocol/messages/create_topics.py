"""CreateTopics: create topics."""

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
    request,
    response,
    string,
    struct,
    uuid,
)


@struct
class CreatableReplicaAssignment(Struct):
    """The brokers that are to hold one partition, the preferred leader first."""

    partition_index: int = int32()
    broker_ids: list[int] = array(int32)


@struct
class CreatableTopicConfig(Struct):
    """A setting of the new topic."""

    name: str = string()
    value: str | None = string(nullable="0+")


@struct
class CreatableTopic(Struct):
    """A topic to create."""

    name: str = string()
    num_partitions: int = int32()
    """-1 for the broker's default, or with ``assignments``."""
    replication_factor: int = int16()
    """-1 for the broker's default, or with ``assignments``."""
    assignments: list[CreatableReplicaAssignment] = array(CreatableReplicaAssignment)
    configs: list[CreatableTopicConfig] = array(CreatableTopicConfig)


@request(ApiKey.CREATE_TOPICS, versions="0-7", flexible="5+")
class CreateTopicsRequest(Message):
    """Create topics, with partitions spread by the controller or assigned by hand."""

    topics: list[CreatableTopic] = array(CreatableTopic)
    timeout_ms: int = int32(default=60000)
    """How long to wait until the topics exist."""
    validate_only: bool = boolean(versions="1+")
    """Only validate the request."""


@struct
class CreatableTopicConfigs(Struct):
    """A setting that the new topic has, with where it comes from."""

    name: str = string()
    value: str | None = string(nullable="5+")
    read_only: bool = boolean()
    config_source: int = int8(default=-1, ignorable=True)
    """1 topic, 2 broker, 3 all brokers, 4 broker's file, 5 default, 6 logger, 7 metrics client, 8
    group."""
    is_sensitive: bool = boolean()


@struct
class CreatableTopicResult(Struct):
    """Whether one topic was created, and its properties."""

    name: str = string()
    topic_id: UUID = uuid(versions="7+", ignorable=True)
    error_code: int = int16()
    error_message: str | None = string(versions="1+", nullable="0+", ignorable=True)
    topic_config_error_code: int = int16(versions="5+", tag=0, ignorable=True)
    """Set if the caller may not see the settings."""
    num_partitions: int = int32(versions="5+", default=-1, ignorable=True)
    replication_factor: int = int16(versions="5+", default=-1, ignorable=True)
    configs: list[CreatableTopicConfigs] | None = array(
        CreatableTopicConfigs, versions="5+", nullable="5+", ignorable=True
    )


@response(ApiKey.CREATE_TOPICS, versions="0-7", flexible="5+")
class CreateTopicsResponse(Message):
    """Say which topics were created."""

    throttle_time_ms: int = int32(versions="2+", ignorable=True)
    topics: list[CreatableTopicResult] = array(CreatableTopicResult)
