"""Write dead letters back to the topics that they come from."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, Unpack

from pyk.clients.config import ClientConfig, ClientOptions, ConsumerConfig, ProducerConfig
from pyk.clients.consumer import Consumer
from pyk.clients.consumer.commits.offsets_argument import CommitArgument
from pyk.clients.engine.topic_names import UNKNOWN_TOPIC_SECONDS, unknown_topic
from pyk.clients.errors import (
    CommitFailedError,
    ConfigurationError,
    KafkaTimeoutError,
    NonEmptyGroupError,
    UnknownTopicOrPartitionError,
)
from pyk.clients.processing.dead_letters import MOVING, origin_topic, own_headers
from pyk.clients.producer import Producer
from pyk.clients.topic_partition import OffsetAndMetadata, TopicPartition
from pyk.clients.wording import counted

log = logging.getLogger(__name__)


def replay_dead_letters(
    bootstrap_servers: str | Sequence[str],
    topic: str,
    *,
    group_id: str | None = None,
    **options: Unpack[ClientOptions],
) -> int:
    """Write the dead letters of ``topic`` to the topics that they come from; return how many.

    Each gets the key, the value and the headers that it had at first. The call ends with the
    records that are there when it begins. The group ``group_id`` (``<topic>.replay``) remembers
    them, so that the next call begins after them; what is interrupted may be written twice. Records
    that pyk did not move are left where they are; a line in the log counts them. ``options`` are
    those of both clients. In asyncio use ``asyncio.to_thread``.

    Raises :class:`UnknownTopicOrPartitionError` if there is no such topic, and
    :class:`NonEmptyGroupError` if the group has members, before anything is written. So it does if
    members join it meanwhile; then the last records may be written twice.
    """
    shared = _shared(options)
    group = group_id or f"{topic}.replay"
    producer: Producer[bytes, bytes] = Producer(bootstrap_servers, **shared, **MOVING)
    consumer: Consumer[bytes, bytes] = Consumer(
        bootstrap_servers,
        group_id=group,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        isolation_level="read_committed",  # transactions that were aborted are written again
        allow_auto_create_topics=False,
        **shared,
    )
    with producer, consumer:
        partitions = _partitions(consumer, topic)
        consumer.assign(partitions)
        ends = consumer.end_offsets(partitions)
        _check_group(consumer, group, partitions)
        count = left = 0
        while any(consumer.position(partition) < end for partition, end in ends.items()):
            records = consumer.poll()
            before_end = [
                r for r in records if r.offset < ends[TopicPartition(r.topic, r.partition)]
            ]
            written = _write_back(producer, before_end)
            _commit(
                consumer,
                group,
                before_end,
                f"{counted(written, 'record')} written, which the next call writes again",
            )
            count += written
            left += len(before_end) - written
    if left:
        log.warning("Left %d records of %s: pyk has not moved them there", left, topic)
    return count


def _shared(options: ClientOptions) -> dict[str, Any]:
    """Return the options of both clients; raise for one that only one of them has.

    As ``acks=0``, it could undo what makes a replay lose nothing.
    """
    common = ClientConfig.options()
    for name in options:
        if name not in common and name in {*ConsumerConfig.options(), *ProducerConfig.options()}:
            raise ConfigurationError(
                f"a replay does not take {name}: it takes the options that all clients have, and "
                "decides the others itself"
            )
    return dict(options)


def _partitions(consumer: Consumer[bytes, bytes], topic: str) -> list[TopicPartition]:
    try:
        numbers = consumer.partitions_for(topic, timeout=UNKNOWN_TOPIC_SECONDS)
    except KafkaTimeoutError as error:
        if isinstance(error.__cause__, UnknownTopicOrPartitionError):
            raise unknown_topic(topic) from None
        numbers = consumer.partitions_for(topic)
    return [TopicPartition(topic, number) for number in sorted(numbers)]


def _check_group(
    consumer: Consumer[bytes, bytes], group: str, partitions: Sequence[TopicPartition]
) -> None:
    """Raise if the group takes no commits, by committing what it has committed already."""
    offsets = {
        partition: committed or OffsetAndMetadata(consumer.position(partition))
        for partition, committed in consumer.committed(partitions).items()
    }
    _commit(consumer, group, offsets, "nothing was written")


def _commit(
    consumer: Consumer[bytes, bytes],
    group: str,
    offsets: CommitArgument,
    outcome: str,
) -> None:
    try:
        consumer.commit(offsets)
    except CommitFailedError as error:
        raise NonEmptyGroupError(
            f"the group {group!r} has members, which alone commit for it, so it cannot remember "
            f"what is replayed; {outcome}: stop its members, or replay with another group_id",
            group_id=group,
        ) from error


def _write_back(producer: Producer[bytes, bytes], records: Sequence[Any]) -> int:
    deliveries = [
        producer.send(origin, record.value, record.key, headers=own_headers(record))
        for record in records
        if (origin := origin_topic(record)) is not None
    ]
    for delivery in deliveries:
        delivery.result()
    return len(deliveries)
