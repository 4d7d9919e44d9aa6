"""Metadata: brokers, topics, partitions and their leaders."""

from __future__ import annotations

from uuid import UUID

from pyk.protocol.schema import (
    ApiKey,
    Message,
    Struct,
    array,
    boolean,
    int16,
    int32,
    request,
    response,
    string,
    struct,
    uuid,
)


@struct
class MetadataRequestTopic(Struct):
    """A topic to describe, by name or by id."""

    topic_id: UUID = uuid(versions="10+", ignorable=True)
    name: str | None = string(nullable="10+")


@request(ApiKey.METADATA, versions="0-13", flexible="9+")
class MetadataRequest(Message):
    """Ask any broker for the brokers of the cluster and for topics with their leaders."""

    topics: list[MetadataRequestTopic] | None = array(MetadataRequestTopic, nullable="1+")
    """None means all topics. In version 0 an empty list means that, later it means no topics."""
    allow_auto_topic_creation: bool = boolean(versions="4+", default=True)
    """Create topics that do not exist, if the broker has ``auto.create.topics.enable``."""
    include_cluster_authorized_operations: bool = boolean(versions="8-10")
    include_topic_authorized_operations: bool = boolean(versions="8+")


@struct
class MetadataResponseBroker(Struct):
    """A broker and the address at which clients of this listener reach it."""

    node_id: int = int32()
    host: str = string()
    port: int = int32()
    rack: str | None = string(versions="1+", nullable="1+", default=None, ignorable=True)


@struct
class MetadataResponsePartition(Struct):
    """The leader and the replicas of a partition."""

    error_code: int = int16()
    partition_index: int = int32()
    leader_id: int = int32()
    """-1 if there is no leader."""
    leader_epoch: int = int32(versions="7+", default=-1, ignorable=True)
    """A client keeps the metadata with the higher epoch, whatever order it arrives in."""
    replica_nodes: list[int] = array(int32)
    isr_nodes: list[int] = array(int32)
    offline_replicas: list[int] = array(int32, versions="5+", ignorable=True)


@struct
class MetadataResponseTopic(Struct):
    """A topic and its partitions."""

    error_code: int = int16()
    name: str | None = string(nullable="12+")
    """None if the topic was asked for by an id that does not exist."""
    topic_id: UUID = uuid(versions="10+", ignorable=True)
    is_internal: bool = boolean(versions="1+", ignorable=True)
    partitions: list[MetadataResponsePartition] = array(MetadataResponsePartition)
    topic_authorized_operations: int = int32(versions="8+", default=-2147483648)
    """A bit per ACL operation; the lowest int32 if not asked for."""


@response(ApiKey.METADATA, versions="0-13", flexible="9+")
class MetadataResponse(Message):
    """Describe the cluster as the answering broker sees it; its view may lag behind."""

    throttle_time_ms: int = int32(versions="3+", ignorable=True)
    brokers: list[MetadataResponseBroker] = array(MetadataResponseBroker)
    cluster_id: str | None = string(versions="2+", nullable="2+", default=None, ignorable=True)
    controller_id: int = int32(versions="1+", default=-1, ignorable=True)
    """The broker to send administrative requests to."""
    topics: list[MetadataResponseTopic] = array(MetadataResponseTopic)
    cluster_authorized_operations: int = int32(versions="8-10", default=-2147483648)
    """A bit per ACL operation; the lowest int32 if not asked for."""
    error_code: int = int16(versions="13+", ignorable=True)
