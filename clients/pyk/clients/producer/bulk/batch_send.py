"""``send_batch``: what is appended when, and what it waits for. The producers do the waiting."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import attrs

from pyk.clients.errors import KafkaError
from pyk.clients.producer.batching.budget import RoomRequest
from pyk.clients.producer.batching.delivery import BatchResult
from pyk.clients.producer.batching.topic_batches import TopicBatches
from pyk.clients.producer.bulk.batch_delivery import BatchDelivery, Lot, Span
from pyk.clients.producer.bulk.given import Circumstances, Given, read_given
from pyk.clients.producer.bulk.given_table import GivenTable, is_table
from pyk.clients.producer.faces.core import ProducerCore
from pyk.clients.producer.faces.send_path import check_topic, choose_partition
from pyk.protocol.records.murmur2 import partition_for_key


@attrs.frozen
class MetadataWait:
    """Come back when metadata has the topic, with this partition if one is named."""

    topic: str
    partition: int | None


@attrs.frozen
class RoomWait:
    """Come back when this room is granted."""

    room: RoomRequest


Steps = Generator[MetadataWait | RoomWait, None, BatchDelivery]


def send_records(core: ProducerCore, topic: str, records: Any) -> Steps:
    """Append records, yielding each wait, and return the fate of all.

    Raises at once what is wrong with the records. When a wait fails, what was not appended fails
    with it, in the result.
    """
    check_topic(topic)
    given = _read(core, topic, records)
    core.accumulator.check_size(topic, given.largest_size)
    while core.lacks(topic, given.highest_partition):
        yield MetadataWait(topic, given.highest_partition)
    batches = core.accumulator.topics[topic]
    lots = given.lots(_circumstances(core, batches)) if given.largest_size else []
    appending = _append(core, topic, lots)
    try:
        yield from appending
    except KafkaError as error:
        _fail_rest(topic, lots, error)
    return BatchDelivery(lots, core.client.clock.now)


def _append(
    core: ProducerCore, topic: str, lots: list[Lot]
) -> Generator[MetadataWait | RoomWait, None, None]:
    accumulator = core.accumulator
    room = RoomRequest(accumulator.bulk_size)
    try:
        for lot in lots:
            while lot.placed < lot.source.count:
                if core.lacks(topic, None):  # forgotten while this waited for room
                    yield MetadataWait(topic, None)
                    continue
                batches = accumulator.topics[topic]
                granted = room if room.is_granted else None
                span = accumulator.extend(batches, lot.partition, lot.source, lot.placed, granted)
                if span is not None:
                    lot.spans.append(span)
                elif not room.is_granted:
                    yield RoomWait(room)
    finally:
        accumulator.cancel_room(room)


def _read(core: ProducerCore, topic: str, records: Any) -> Given:
    if is_table(records):
        return GivenTable(records)
    config = core.config
    return read_given(topic, records, config.key_serializer, config.value_serializer)


def _circumstances(core: ProducerCore, batches: TopicBatches) -> Circumstances:
    count, partitioner = batches.partition_count, core.config.partitioner

    def by_key(key: bytes | None) -> int:
        return -1 if key is None else partition_for_key(key, count)

    def by_partitioner(key: bytes | None) -> int:
        assert partitioner is not None
        return choose_partition(partitioner, batches, key)

    return Circumstances(
        partition_count=count,
        partition_of=by_key if partitioner is None else by_partitioner,
        has_partitioner=partitioner is not None,
        sticky_partition=lambda: core.accumulator.choose_partition(batches),
        time_ms=core.client.clock.time_ms(),
    )


def _fail_rest(topic: str, lots: list[Lot], error: KafkaError) -> None:
    for lot in lots:
        placed, count = lot.placed, lot.source.count
        if placed < count:
            refused = BatchResult(topic, lot.partition)
            refused.fail(error, count - placed)
            lot.spans.append(Span(placed, count - placed, refused, 0))
