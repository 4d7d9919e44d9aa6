"""Ask the leaders of partitions where these end, over the wire."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any, Protocol

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from pyk.protocol.topics import TopicPartition
from pyk.reference_broker.broker_channels import BrokerChannels
from pyk.reference_broker.controller.image import MetadataImage
from pyk.reference_broker.deferred import Deferred, gather

LATEST = -1

EndOffset = int | ErrorCode
"""The offset after the last record, or why it is not known."""
EndOffsets = dict[TopicPartition, EndOffset]


class EndOffsetServices(Protocol):
    """The services that this uses."""

    @property
    def image(self) -> MetadataImage: ...
    @property
    def channels(self) -> BrokerChannels: ...


def end_offsets(
    services: EndOffsetServices, names: Iterable[TopicPartition]
) -> Deferred[EndOffsets]:
    """Return the end of each partition."""
    by_leader: dict[int, list[TopicPartition]] = {}
    unknown: EndOffsets = {}
    for name in names:
        partition = services.image.partition(name)
        if partition is None:
            unknown[name] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        else:
            by_leader.setdefault(partition.leader, []).append(name)
    answers = [
        services.channels.send(leader, _request(asked)).then(partial(_ends, asked))
        for leader, asked in by_leader.items()
    ]
    return gather(answers).then(lambda found: _together(unknown, found))


def _together(unknown: EndOffsets, found: list[EndOffsets]) -> EndOffsets:
    together = dict(unknown)
    for some in found:
        together |= some
    return together


def _request(names: list[TopicPartition]) -> ListOffsetsRequest:
    topics: dict[str, ListOffsetsTopic] = {}
    for name in names:
        topic = topics.setdefault(name.topic, ListOffsetsTopic(name=name.topic))
        topic.partitions.append(
            ListOffsetsPartition(partition_index=name.partition, timestamp=LATEST)
        )
    return ListOffsetsRequest(replica_id=-1, topics=list(topics.values()))


def _ends(names: list[TopicPartition], response: Any) -> EndOffsets:
    if isinstance(response, ErrorCode):
        return dict.fromkeys(names, response)
    ends: EndOffsets = dict.fromkeys(names, ErrorCode.UNKNOWN_SERVER_ERROR)
    for topic in response.topics:
        for each in topic.partitions:
            code = ErrorCode(each.error_code)
            ends[TopicPartition(topic.name, each.partition_index)] = code or each.offset
    return ends
