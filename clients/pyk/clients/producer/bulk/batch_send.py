"""Decide for ``send_batch`` what to append when, and what to wait for. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pyk.clients.errors import KafkaError, StateError
from pyk.clients.producer.arguments import as_topic
from pyk.clients.producer.batching.accumulator import RecordAccumulator
from pyk.clients.producer.batching.budget import RoomRequest
from pyk.clients.producer.batching.delivery import BatchResult
from pyk.clients.producer.batching.partitioner import choose_partition
from pyk.clients.producer.batching.row_source import RowSpan
from pyk.clients.producer.batching.topic_batches import TopicBatches
from pyk.clients.producer.batching.waits import MetadataWait, RoomWait, Steps
from pyk.clients.producer.bulk.arrow_records import ArrowRecords, is_table
from pyk.clients.producer.bulk.batch_delivery import BatchDelivery, PartitionRecords
from pyk.clients.producer.bulk.iterable_records import (
    BulkRecords,
    PartitioningContext,
    read_records,
)
from pyk.protocol.records.murmur2 import partition_for_key
from pyk.runtime.clock import Clock

if TYPE_CHECKING:
    from pyk.clients.config import ProducerConfig


class BatchSend:
    """Sends many records in one call; ``max_block`` is how long one wait takes, in seconds."""

    def __init__(
        self, accumulator: RecordAccumulator, config: ProducerConfig, clock: Clock, max_block: float
    ) -> None:
        self._accumulator = accumulator
        self._config = config
        self._clock = clock
        self._max_block = max_block

    def steps(self, topic: str, records: Any) -> Steps[BatchDelivery]:
        """Append records, yielding each wait, and return the outcome of all.

        Raises at once if a record is invalid. When a wait fails, the records that were not appended
        fail with its error, in the result.
        """
        topic = as_topic(topic)
        bulk = self._read(topic, records)
        accumulator = self._accumulator
        admission, term = accumulator.admission, accumulator.admission.term
        accumulator.check_size(topic, bulk.largest_size)
        admission.enter(term)
        try:
            while accumulator.lacks(topic, bulk.highest_partition):
                yield MetadataWait(topic, bulk.highest_partition, self._deadline())
            context = self._context(accumulator.topics[topic])
            parts = bulk.by_partition(context) if bulk.largest_size else []
            yield from self._append_all(topic, parts, term)
        except KafkaError as error:
            admission.failed(error, term)
            raise
        finally:
            admission.leave(term)
        return BatchDelivery(parts, self._clock.now)

    def _append_all(self, topic: str, parts: list[PartitionRecords], term: int) -> Steps[None]:
        """Append records; those for which a wait fails get its error."""
        try:
            yield from self._append(topic, parts, term)
        except KafkaError as error:
            self._accumulator.admission.failed(error, term)
            _fail_rest(topic, parts, error)
        except BaseException:
            if any(part.appended for part in parts):
                interrupt = StateError("send_batch() was interrupted before all records were taken")
                self._accumulator.admission.failed(interrupt, term)
            raise

    def _append(self, topic: str, parts: list[PartitionRecords], term: int) -> Steps[None]:
        accumulator = self._accumulator
        room = RoomRequest(accumulator.bulk_size, term)
        try:
            for part in parts:
                while part.appended < part.source.count:
                    if accumulator.lacks(topic, None):  # forgotten while this waited for room
                        yield MetadataWait(topic, None, self._deadline())
                        continue
                    span = accumulator.extend(
                        accumulator.topics[topic], part.partition, part.source, part.appended, room
                    )
                    if span is not None:
                        part.spans.append(span)
                    elif not room.is_granted:
                        yield RoomWait(room, self._deadline())
        finally:
            accumulator.waits.cancel_room(room)

    def _read(self, topic: str, records: Any) -> BulkRecords:
        if is_table(records):
            return ArrowRecords(records)
        config = self._config
        return read_records(topic, records, config.key_serializer, config.value_serializer)

    def _context(self, batches: TopicBatches) -> PartitioningContext:
        count, partitioner = batches.partition_count, self._config.partitioner
        partition_of: Callable[[bytes | None], int]
        if partitioner is None:

            def partition_of(key: bytes | None) -> int:
                return -1 if key is None else partition_for_key(key, count)

        else:

            def partition_of(key: bytes | None) -> int:
                return choose_partition(partitioner, batches, key)

        return PartitioningContext(
            partition_count=count,
            partition_of=partition_of,
            has_partitioner=partitioner is not None,
            sticky_partition=lambda: self._accumulator.choose_partition(batches),
            time_ms=self._clock.time_ms(),
        )

    def _deadline(self) -> float:
        return self._clock.now() + self._max_block


def _fail_rest(topic: str, parts: list[PartitionRecords], error: KafkaError) -> None:
    for part in parts:
        appended, count = part.appended, part.source.count
        if appended < count:
            refused = BatchResult(topic, part.partition)
            refused.fail(error, count - appended)
            part.spans.append(RowSpan(appended, count - appended, refused, 0))
