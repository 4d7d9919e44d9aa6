"""The result of ``poll``: a sequence of records that are created on access."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Generic, cast, overload

from pyk.clients.consumer.records.record import ConsumerRecord
from pyk.clients.payload import K, V
from pyk.clients.topic_partition import TopicPartition
from pyk.clients.wording import counted
from pyk.protocol.records import RecordIterator, RecordSpan

if TYPE_CHECKING:
    import pyarrow


class ConsumerRecords(Sequence[ConsumerRecord[K, V]], Generic[K, V]):
    """A sequence of records; those of one partition are together, in order.

    A record is created on access; :meth:`to_arrow` creates none at all. With deserializers ``poll``
    has created them already, so that access cannot fail.
    """

    __slots__ = ("_records", "_spans")

    def __init__(
        self, spans: Sequence[RecordSpan] = (), records: list[ConsumerRecord[K, V]] | None = None
    ) -> None:
        self._spans = spans
        self._records = records

    def __len__(self) -> int:
        return sum(span.count for span in self._spans)

    def __bool__(self) -> bool:
        return bool(self._spans)

    def __iter__(self) -> Iterator[ConsumerRecord[K, V]]:
        if self._records is not None:
            return iter(self._records)
        return cast(Iterator[ConsumerRecord[K, V]], RecordIterator(self._spans))

    @overload
    def __getitem__(self, index: int) -> ConsumerRecord[K, V]: ...
    @overload
    def __getitem__(self, index: slice) -> list[ConsumerRecord[K, V]]: ...
    def __getitem__(self, index: int | slice) -> ConsumerRecord[K, V] | list[ConsumerRecord[K, V]]:
        if self._records is None:
            self._records = list(self)
        return self._records[index]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ConsumerRecords | list | tuple):
            return NotImplemented
        return list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        names = ", ".join(f"{partition}" for partition in self.partitions())
        return f"<{counted(len(self), 'record')} of {names or 'no partition'}>"

    def partitions(self) -> tuple[TopicPartition, ...]:
        """Return the partitions that have records here."""
        return tuple(dict.fromkeys(_partition_of(span) for span in self._spans))

    def of(self, partition: TopicPartition) -> ConsumerRecords[K, V]:
        """Return the records of one partition, in the order of their offsets, without copying."""
        spans = [span for span in self._spans if _partition_of(span) == partition]
        if self._records is None:
            return ConsumerRecords(spans)
        return ConsumerRecords(
            spans,
            [r for r in self._records if (r.topic, r.partition) == partition],
        )

    def by_partition(self) -> dict[TopicPartition, ConsumerRecords[K, V]]:
        """Return the records of each partition."""
        return {partition: self.of(partition) for partition in self.partitions()}

    def next_offsets(self) -> dict[TopicPartition, tuple[int, int]]:
        """Return the offset after the last record of each partition, and that record's leader
        epoch."""
        return {
            _partition_of(span): (span.next_offset, span.origin.leader_epoch)
            for span in self._spans
        }

    def owners(self) -> dict[TopicPartition, object]:
        """Return the assignment of the last record of each partition."""
        return {_partition_of(span): span.origin.owner for span in self._spans}

    def to_arrow(self, columns: Sequence[str] | None = None) -> pyarrow.Table:
        """Return the records as an Arrow table, filled from the fetched bytes.

        ``columns`` are some of ``key value topic partition offset timestamp timestamp_type
        headers``, in that order the table has them; None means all but ``headers``. Names and types
        are those of Spark's Kafka source; keys and values are the bytes that were written, whatever
        the deserializers. Needs pyarrow: ``pip install 'pyk-kafka[arrow]'``.
        """
        from pyk.clients.consumer.records.arrow import to_arrow

        return to_arrow(self._spans, columns)


def _partition_of(span: RecordSpan) -> TopicPartition:
    return TopicPartition(span.origin.topic, span.origin.partition)
