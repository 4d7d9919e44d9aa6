"""Offsets of groups: store and read what they have committed. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any
from uuid import UUID

from pyk.clients.errors import KafkaError, error_for
from pyk.clients.offsets.partition_results import known_epoch, read_partitions
from pyk.clients.topic_partition import OffsetAndMetadata, TopicPartition, by_topic
from pyk.protocol.errors import ErrorCode
from pyk.protocol.fields import ZERO_UUID
from pyk.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from pyk.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)
from pyk.runtime import slotted

# Before these versions offsets were kept elsewhere, or for a time that the client had to name;
# after them topics have an id and no name.
FIRST_COMMIT_VERSION, LAST_COMMIT_VERSION = 2, 9
FIRST_FETCH_VERSION, LAST_FETCH_VERSION = 1, 9
FIRST_VERSION_WITH_STABLE_OFFSETS = 7
FIRST_VERSION_OF_SEVERAL_GROUPS = 8
COMMIT_VERSION_WITH_TOPIC_IDS = 10
UNKNOWN_EPOCH = -1

TopicIds = Mapping[str, UUID]
"""The ids of topics, by their names."""
NO_IDS: TopicIds = MappingProxyType({})


@slotted.frozen
class Identity:
    """The identity under which offsets are committed; the defaults are for clients outside the
    group."""

    generation_id: int = -1
    member_id: str = ""
    group_instance_id: str | None = None
    has_member_epoch: bool = False
    """Whether the generation is a member epoch (KIP-848), which coordinators check at reads too."""


OUTSIDER = Identity()


def offset_commit_request(
    group_id: str,
    offsets: Mapping[TopicPartition, OffsetAndMetadata],
    identity: Identity = OUTSIDER,
    topic_ids: TopicIds = NO_IDS,
) -> OffsetCommitRequest:
    """Return the request that stores ``offsets``; a group with members refuses an outsider.

    With ``topic_ids``, which version 10 sends, brokers refuse what is of a topic that is gone.
    """
    return OffsetCommitRequest(
        group_id=group_id,
        generation_id_or_member_epoch=identity.generation_id,
        member_id=identity.member_id,
        group_instance_id=identity.group_instance_id,
        topics=[
            OffsetCommitRequestTopic(
                name=topic,
                topic_id=topic_ids.get(topic, ZERO_UUID),
                partitions=[_to_commit(place.partition, offsets[place]) for place in places],
            )
            for topic, places in by_topic(offsets).items()
        ],
    )


def _to_commit(partition: int, offset: OffsetAndMetadata) -> OffsetCommitRequestPartition:
    epoch = offset.leader_epoch
    return OffsetCommitRequestPartition(
        partition_index=partition,
        committed_offset=offset.offset,
        committed_leader_epoch=UNKNOWN_EPOCH if epoch is None else epoch,
        committed_metadata=offset.metadata,
    )


def committed_offsets(
    response: OffsetCommitResponse, topic_ids: TopicIds = NO_IDS
) -> dict[TopicPartition, KafkaError | None]:
    """Return why the offset of each partition is not stored, None where it is."""
    names = {topic_id: name for name, topic_id in topic_ids.items()}
    for topic in response.topics:
        topic.name = topic.name or names.get(topic.topic_id, "")
    return read_partitions(response.topics, lambda _: None, response.api_key)


def offset_fetch_request(
    group_id: str,
    partitions: Iterable[TopicPartition] | None,
    version: int,
    *,
    require_stable: bool,
    identity: Identity = OUTSIDER,
) -> OffsetFetchRequest:
    """Return the request for the offsets that a group committed: for ``partitions``, or for all.

    ``require_stable`` asks to wait for transactions that are about to commit for the group.
    Brokers before version 7 lack this option and are asked without it, as by Kafka's clients.
    """
    topics = None if partitions is None else by_topic(partitions)
    if version < FIRST_VERSION_OF_SEVERAL_GROUPS:
        return OffsetFetchRequest(
            group_id=group_id,
            topics=_topics_to_fetch(topics, OffsetFetchRequestTopic),
            require_stable=require_stable and version >= FIRST_VERSION_WITH_STABLE_OFFSETS,
        )
    group = OffsetFetchRequestGroup(
        group_id=group_id, topics=_topics_to_fetch(topics, OffsetFetchRequestTopics)
    )
    if identity.has_member_epoch:
        group.member_id, group.member_epoch = identity.member_id, identity.generation_id
    return OffsetFetchRequest(groups=[group], require_stable=require_stable)


def _topics_to_fetch(
    topics: Mapping[str, list[TopicPartition]] | None, topic_class: Any
) -> list[Any] | None:
    if topics is None:
        return None
    return [
        topic_class(name=name, partition_indexes=[place.partition for place in places])
        for name, places in topics.items()
    ]


def fetched_offsets(
    response: OffsetFetchResponse, group_id: str
) -> dict[TopicPartition, OffsetAndMetadata | KafkaError | None]:
    """Return the offsets that a group committed, None where it has not; raise an error of all."""
    error_code = response.error_code or next((g.error_code for g in response.groups), 0)
    if error_code != ErrorCode.NONE:
        raise error_for(error_code, group_id=group_id, api_key=response.api_key)
    topics: list[Any] = list(response.topics)  # up to version 7
    for group in response.groups:
        topics += group.topics
    return read_partitions(topics, _fetched, response.api_key)


def _fetched(found: Any) -> OffsetAndMetadata | None:
    if found.committed_offset < 0:
        return None
    return OffsetAndMetadata(
        found.committed_offset, found.metadata or "", known_epoch(found.committed_leader_epoch)
    )
