"""Write and read the records of a topic on this broker, without a client."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from pyk.protocol.errors import ErrorCode
from pyk.protocol.records import (
    ConsumerRecord,
    LegacyBatch,
    RecordBatch,
    RecordOrigin,
    read_batches,
)
from pyk.runtime.checked_arguments import checked_text

from .controller.image import MetadataImage
from .errors import ApiError
from .partition import Partition
from .partition_reader import Isolation
from .replicas import Replicas

READ_BYTES = 1 << 20


class ContentServices(Protocol):
    """The services that this module uses."""

    @property
    def image(self) -> MetadataImage: ...
    @property
    def replicas(self) -> Replicas: ...


def partitions_of(services: ContentServices, topic: str) -> list[Partition]:
    """Return the partitions of a topic, none if there is no such topic."""
    checked_text(topic, "topic")
    found = services.image.topics.get(topic)
    numbers = sorted(found.partitions) if found is not None else ()
    return [services.replicas.get(topic, number) for number in numbers]


def existing_partitions_of(services: ContentServices, topic: str) -> list[Partition]:
    """Return the partitions of a topic; raise :class:`ApiError` if there is no such topic."""
    partitions = partitions_of(services, topic)
    if not partitions:
        raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {topic!r}")
    return partitions


def read_records(partition: Partition, *, committed: bool) -> Iterator[ConsumerRecord]:
    """Return the records of a partition up to its present end; raise a ``LogError``.

    With ``committed``, records of open and aborted transactions are left out.
    """
    isolation = Isolation.READ_COMMITTED if committed else Isolation.READ_UNCOMMITTED
    offset, end = partition.log_start_offset, partition.reader.end_offset(isolation)
    topic, number = partition.topic_partition
    while offset < end:
        read = partition.reader.read(offset, READ_BYTES, isolation).records
        aborted = partition.reader.aborted_transactions(offset, read) if committed else []
        before = offset
        for batch in read_batches(read.read()):
            offset = batch.next_offset
            if batch.is_control or any(
                each.producer_id == batch.producer_id
                and each.first_offset <= batch.base_offset < each.last_offset
                and batch.is_transactional
                for each in aborted
            ):
                continue
            yield from _records_of(batch, topic, number, before)
        if offset == before:
            return  # nothing is left of what compaction removed


def _records_of(
    batch: RecordBatch | LegacyBatch, topic: str, number: int, from_offset: int
) -> Iterable[ConsumerRecord]:
    origin = RecordOrigin(topic, number, batch.partition_leader_epoch, batch.timestamp_type)
    return batch.open().span(origin, from_offset)
