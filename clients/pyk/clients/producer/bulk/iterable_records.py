"""The records of a ``send_batch`` that came as an iterable, and their partitions. Pure.

Types, the largest size and the partitions of keys are computed for all records at once where that
is possible. An invalid record raises before any record is appended.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import NoneType
from typing import Any, Protocol, TypeVar

from pyk.clients.producer.arguments import (
    Headers,
    as_bytes,
    as_headers,
    as_partition,
    serialized,
)
from pyk.clients.producer.batching.budget import record_size
from pyk.clients.producer.batching.row_source import PairRows, RecordRows, ValueRows
from pyk.clients.producer.bulk.batch_delivery import PartitionRecords
from pyk.clients.timestamps import milliseconds
from pyk.runtime import slotted

FIELDS = frozenset({"value", "key", "partition", "headers", "timestamp_ms"})

Pair = tuple[bytes | None, bytes | None]
T = TypeVar("T")


@slotted.frozen
class PartitioningContext:
    """The properties of topic and producer that partitions and timestamps of records depend on."""

    partition_count: int
    partition_of: Callable[[bytes | None], int]
    """The partition of a key, -1 for the one that is being filled."""
    has_partitioner: bool
    """Whether a partitioner of the user chooses, also for records without a key."""
    sticky_partition: Callable[[], int]
    """The partition that is being filled with records without a key."""
    time_ms: int


class BulkRecords(Protocol):
    """The records of one ``send_batch``."""

    highest_partition: int | None
    """The highest partition that a record names."""
    largest_size: int
    """How many bytes of the budget the largest record takes."""

    def by_partition(self, context: PartitioningContext) -> list[PartitionRecords]:
        """Return the records by partition, in order."""


@slotted.define
class ValueRecords:
    """Values without keys."""

    values: list[bytes | None]
    largest_size: int
    highest_partition: int | None = None

    def by_partition(self, context: PartitioningContext) -> list[PartitionRecords]:
        now = context.time_ms
        if not context.has_partitioner:
            return [PartitionRecords(-1, ValueRows(now, self.values))]
        partitions = [context.partition_of(None) for _ in self.values]
        return [
            PartitionRecords(partition, ValueRows(now, values), 0, rows)
            for partition, rows, values in group(self.values, partitions, context)
        ]


@slotted.define
class PairRecords:
    """Keys and values."""

    pairs: list[Pair]
    largest_size: int
    highest_partition: int | None = None

    def by_partition(self, context: PartitioningContext) -> list[PartitionRecords]:
        partition_of = context.partition_of
        partitions = [partition_of(key) for key, _ in self.pairs]
        return [
            PartitionRecords(partition, PairRows(context.time_ms, pairs), 0, rows)
            for partition, rows, pairs in group(self.pairs, partitions, context)
        ]


@slotted.frozen
class WholeRecord:
    """One record with all its parts, serialized."""

    key: bytes | None
    value: bytes | None
    headers: Headers = ()
    partition: int | None = None
    timestamp_ms: int | None = None


@slotted.define
class WholeRecords:
    """Records of which some have more than a key and a value."""

    records: list[WholeRecord]
    largest_size: int
    highest_partition: int | None

    def by_partition(self, context: PartitioningContext) -> list[PartitionRecords]:
        now = context.time_ms
        partitions = [
            context.partition_of(record.key) if record.partition is None else record.partition
            for record in self.records
        ]
        whole = [
            (now if r.timestamp_ms is None else r.timestamp_ms, r.key, r.value, r.headers)
            for r in self.records
        ]
        return [
            PartitionRecords(partition, RecordRows(records), 0, rows)
            for partition, rows, records in group(whole, partitions, context)
        ]


def read_records(
    topic: str, records: Iterable[Any], key_serializer: Any, value_serializer: Any
) -> BulkRecords:
    """Return the records of an iterable.

    Its items are values, (key, value) tuples, or mappings of the arguments of ``send``. Str and
    buffers become bytes; serializers handle anything else.
    """
    if isinstance(records, str | bytes | Mapping) or not isinstance(records, Iterable):
        raise TypeError(
            f"send_batch takes many records, not {type(records).__name__}; send takes one"
        )
    items = records if isinstance(records, list) else list(records)
    kinds = set(map(type, items))
    if not any(issubclass(kind, tuple | Mapping) for kind in kinds):
        values = _as_bytes(topic, items, kinds, value_serializer, "value")
        return ValueRecords(values, _largest(values))
    if all(issubclass(kind, tuple) for kind in kinds):
        return _pairs(topic, items, key_serializer, value_serializer)
    whole = [_record(topic, item, key_serializer, value_serializer) for item in items]
    named = [record.partition for record in whole if record.partition is not None]
    sizes = (record_size(record.key, record.value, record.headers) for record in whole)
    return WholeRecords(whole, max(sizes), max(named, default=None))


def group(
    records: Sequence[T], partitions: Sequence[int], context: PartitioningContext
) -> list[tuple[int, array[int] | None, list[T]]]:
    """Return (partition, row numbers, records) for each partition that has any.

    Records that may go to any partition come under one of their own; or, if other records name a
    partition, under the one that is being filled. In every partition the records keep their order.
    """
    named = set(partitions)
    if len(named) <= 1:
        return [(partition, None, list(records)) for partition in named]
    sticky = context.sticky_partition() if -1 in named else -1
    rows: dict[int, array[int]] = {}
    grouped: dict[int, list[T]] = {}
    for row, (partition, record) in enumerate(zip(partitions, records, strict=True)):
        chosen = sticky if partition < 0 else partition
        if chosen not in rows:
            rows[chosen], grouped[chosen] = array("i"), []
        rows[chosen].append(row)
        grouped[chosen].append(record)
    return [(partition, rows[partition], grouped[partition]) for partition in rows]


def _as_bytes(
    topic: str, items: Sequence[Any], kinds: set[type], serializer: Any, what: str
) -> list[bytes | None]:
    """Return items as bytes or None; all in one step where they are that already."""
    if serializer is not None:
        items = [serialized(serializer, topic, item, what) for item in items]
        kinds = set(map(type, items))
    if kinds <= {bytes, NoneType}:
        return list(items)
    return [item if item is None else as_bytes(item, what) for item in items]


def _pairs(
    topic: str, items: Sequence[Any], key_serializer: Any, value_serializer: Any
) -> PairRecords:
    if set(map(len, items)) != {2}:
        raise ValueError("a tuple in send_batch is (key, value); for more, give a mapping")
    keys, values = ([item[part] for item in items] for part in (0, 1))
    keys = _as_bytes(topic, keys, set(map(type, keys)), key_serializer, "key")
    values = _as_bytes(topic, values, set(map(type, values)), value_serializer, "value")
    pairs = list(zip(keys, values, strict=True))
    return PairRecords(pairs, max(record_size(key, value, ()) for key, value in pairs))


def _record(topic: str, item: Any, key_serializer: Any, value_serializer: Any) -> WholeRecord:
    if isinstance(item, tuple):
        item = dict(zip(("key", "value"), item, strict=True))
    elif not isinstance(item, Mapping):
        item = {"value": item}
    if unknown := item.keys() - FIELDS:
        raise ValueError(
            f"a record has {', '.join(map(repr, sorted(unknown)))}, which send_batch does not "
            f"know: use some of {', '.join(sorted(FIELDS))}"
        )
    key = serialized(key_serializer, topic, item.get("key"), "key")
    value = serialized(value_serializer, topic, item.get("value"), "value")
    partition, timestamp_ms = item.get("partition"), item.get("timestamp_ms")
    if timestamp_ms is not None:
        timestamp_ms = milliseconds(timestamp_ms, "timestamp_ms")
    if partition is not None:
        partition = as_partition(partition)
    return WholeRecord(
        None if key is None else as_bytes(key, "key"),
        None if value is None else as_bytes(value, "value"),
        as_headers(item.get("headers") or ()),
        partition,
        timestamp_ms,
    )


def check_numbers(lowest_partition: int | None, lowest_timestamp: int | None) -> None:
    """Raise ``ValueError`` for a partition or timestamp that no record can have."""
    if lowest_partition is not None and lowest_partition < 0:
        raise ValueError(f"partition {lowest_partition}: must be 0 or more")
    if lowest_timestamp is not None and lowest_timestamp < 0:
        raise ValueError(f"timestamp is {lowest_timestamp}, before 1970")


def _largest(values: Sequence[bytes | None]) -> int:
    overhead = record_size(None, None, ())
    return overhead + max((len(value) for value in values if value is not None), default=0)
