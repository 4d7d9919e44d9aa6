"""Topics as the admin client describes them. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from pyk.clients.admin.authorized_operations import authorized_operations
from pyk.clients.admin.topic_listings import known_id
from pyk.clients.errors import KafkaError, error_for
from pyk.protocol.acls import AclOperation
from pyk.protocol.api_keys import ApiKey
from pyk.protocol.errors import ErrorCode
from pyk.protocol.fields import ZERO_UUID
from pyk.protocol.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponseTopic,
    TopicRequest,
)
from pyk.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseTopic,
)
from pyk.runtime import slotted

FIRST_VERSION_WITH_OPERATIONS = 8
FIRST_VERSION_BY_ID = 12


@slotted.frozen
class PartitionDescription:
    """The leader and the replicas of a partition, as node ids."""

    partition: int
    leader_id: int | None
    leader_epoch: int | None
    replicas: tuple[int, ...]
    in_sync_replicas: tuple[int, ...]
    offline_replicas: tuple[int, ...]
    eligible_leader_replicas: tuple[int, ...] | None = None
    """Replicas out of sync that yet have everything committed (KIP-966); None where the broker does
    not say, like the next."""
    last_known_eligible_leader_replicas: tuple[int, ...] | None = None


@slotted.frozen
class TopicDescription:
    """A topic with its partitions, in their order."""

    name: str
    topic_id: UUID | None
    is_internal: bool
    partitions: tuple[PartitionDescription, ...]
    authorized_operations: frozenset[AclOperation] | None = None
    """None if they were not asked for."""


def page_request(
    names: Iterable[str], cursor: Cursor | None, limit: int
) -> DescribeTopicPartitionsRequest:
    """Return the request for the page of topics and partitions that begins at a cursor."""
    first = "" if cursor is None else cursor.topic_name
    return DescribeTopicPartitionsRequest(
        topics=[TopicRequest(name=name) for name in sorted(names) if name >= first],
        response_partition_limit=limit,
        cursor=cursor,
    )


@slotted.define
class TopicPages:
    """The topics of the pages so far."""

    with_operations: bool
    _topics: dict[str, DescribeTopicPartitionsResponseTopic] = slotted.field(factory=dict)

    def add(self, topics: Iterable[DescribeTopicPartitionsResponseTopic]) -> None:
        """Add a page. The partitions of a topic may be on several.

        A topic that is deleted between two pages has the error of the later one, and one that
        is created again an error that is retriable.
        """
        for topic in topics:
            known = self._topics.get(topic.name or "")
            if known is not None and topic.topic_id not in (known.topic_id, ZERO_UUID):
                topic.error_code = ErrorCode.INCONSISTENT_TOPIC_ID
            if known is None or topic.error_code != ErrorCode.NONE:
                self._topics[topic.name or ""] = topic
            else:
                known.partitions.extend(topic.partitions)

    def descriptions(self) -> dict[str, TopicDescription | KafkaError]:
        """Return the description of each topic by name, or its error."""
        api_key = ApiKey.DESCRIBE_TOPIC_PARTITIONS
        return {
            name: _described(topic, api_key, with_operations=self.with_operations)
            for name, topic in self._topics.items()
        }


def describe_request(
    topics: Iterable[str | UUID], *, authorized_operations: bool
) -> MetadataRequest:
    """Return the request for the metadata of topics, all of them by name or all by id."""
    return MetadataRequest(
        topics=[
            MetadataRequestTopic(topic_id=one, name=None)
            if isinstance(one, UUID)
            else MetadataRequestTopic(name=one)
            for one in topics
        ],
        allow_auto_topic_creation=False,
        include_topic_authorized_operations=authorized_operations,
    )


def first_version(*, by_id: bool, authorized_operations: bool) -> int | None:
    """Return the first version of Metadata that can be asked in this way, None if any can."""
    if by_id:
        return FIRST_VERSION_BY_ID
    return FIRST_VERSION_WITH_OPERATIONS if authorized_operations else None


def topic_descriptions(
    response: MetadataResponse, *, by_id: bool
) -> dict[str | UUID, TopicDescription | KafkaError]:
    """Return the description of each topic by name, or by id, or its error."""
    return {
        topic.topic_id if by_id else topic.name or "": _described(topic, ApiKey.METADATA)
        for topic in response.topics
    }


def _described(
    topic: MetadataResponseTopic | DescribeTopicPartitionsResponseTopic,
    api_key: ApiKey,
    *,
    with_operations: bool = True,
) -> TopicDescription | KafkaError:
    if topic.error_code != ErrorCode.NONE:
        name = str(topic.topic_id) if topic.name is None else topic.name
        return error_for(topic.error_code, topic=name, api_key=api_key)
    operations = authorized_operations(topic.topic_authorized_operations)
    partitions: Iterable[Any] = topic.partitions
    return TopicDescription(
        name=topic.name or "",
        topic_id=known_id(topic.topic_id),
        is_internal=topic.is_internal,
        partitions=tuple(
            map(_partition, sorted(partitions, key=lambda partition: partition.partition_index))
        ),
        authorized_operations=operations if with_operations else None,
    )


def _partition(partition: Any) -> PartitionDescription:
    eligible = getattr(partition, "eligible_leader_replicas", None)
    last_known = getattr(partition, "last_known_elr", None)
    return PartitionDescription(
        partition=partition.partition_index,
        leader_id=partition.leader_id if partition.leader_id >= 0 else None,
        leader_epoch=partition.leader_epoch if partition.leader_epoch >= 0 else None,
        replicas=tuple(partition.replica_nodes),
        in_sync_replicas=tuple(partition.isr_nodes),
        offline_replicas=tuple(partition.offline_replicas),
        eligible_leader_replicas=None if eligible is None else tuple(eligible),
        last_known_eligible_leader_replicas=None if last_known is None else tuple(last_known),
    )
