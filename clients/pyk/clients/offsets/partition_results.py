"""Read responses about partitions. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from pyk.clients.errors import KafkaError, error_for
from pyk.clients.topic_partition import TopicPartition
from pyk.protocol.errors import ErrorCode

V = TypeVar("V")


def read_partitions(
    topics: Iterable[Any], value: Callable[[Any], V], api_key: int
) -> dict[TopicPartition, V | KafkaError]:
    """Return for each partition the ``value`` of its result, or its error.

    ``api_key`` is that of the request.
    """
    return {
        (place := TopicPartition(topic.name, result.partition_index)): value_or_error(
            place, result, value, api_key
        )
        for topic in topics
        for result in topic.partitions
    }


def value_or_error(
    place: TopicPartition, result: Any, value: Callable[[Any], V], api_key: int
) -> V | KafkaError:
    """Return the ``value`` of the result about one partition, or its error."""
    if result.error_code == ErrorCode.NONE:
        return value(result)
    return error_for(
        result.error_code, topic=place.topic, partition=place.partition, api_key=api_key
    )


def known_epoch(leader_epoch: int) -> int | None:
    """Return the epoch that a response names, None for -1."""
    return leader_epoch if leader_epoch >= 0 else None
