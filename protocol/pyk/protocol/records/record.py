"""One record as the application sees it.

Compiled, these classes live outside of the cyclic collector: it would walk every one of them, and
they hold nothing but integers, bytes, text and what a deserializer made. A record is never changed
once it is made.
"""

from __future__ import annotations

from enum import IntEnum
from types import GenericAlias
from typing import Any

Headers = tuple[tuple[str, bytes | None], ...]
Fields = tuple[int, int, Any, Any, Headers]  # offset, timestamp, key, value, headers


class TimestampType(IntEnum):
    """The side that set the timestamps of a batch: the producer, or the broker at the append."""

    NO_TIMESTAMP_TYPE = -1
    """Neither: messages of magic 0 have no timestamp, which reads as -1."""
    CREATE_TIME = 0
    LOG_APPEND_TIME = 1


class Record:
    """One record of a batch. ``timestamp`` is in milliseconds since 1970."""

    __slots__ = ("headers", "key", "offset", "timestamp", "value")

    def __init__(
        self,
        offset: int,
        timestamp: int,
        key: bytes | None,
        value: bytes | None,
        headers: Headers = (),
    ) -> None:
        self.offset = offset
        self.timestamp = timestamp
        self.key = key
        self.value = value
        self.headers = headers

    def __repr__(self) -> str:
        return (
            f"Record(offset={self.offset}, timestamp={self.timestamp}, key={self.key!r}, "
            f"value={self.value!r}, headers={self.headers!r})"
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Record):
            return NotImplemented
        return self._values() == other._values()

    def __hash__(self) -> int:
        return hash((self.offset, self.timestamp))

    def __reduce__(self) -> tuple[Any, ...]:
        return Record, self._values()

    def _values(self) -> tuple[int, int, bytes | None, bytes | None, Headers]:
        return self.offset, self.timestamp, self.key, self.value, self.headers


class RecordOrigin:
    """The origin of the records of one fetched batch: one object, shared by all of them.

    ``owner`` is whatever the reader of the batch wants its records to lead back to.
    """

    __slots__ = ("delivery_count", "leader_epoch", "owner", "partition", "timestamp_type", "topic")

    def __init__(  # noqa: PLR0917 (called once per batch)
        self,
        topic: str,
        partition: int,
        leader_epoch: int,
        timestamp_type: TimestampType,
        owner: object = None,
        delivery_count: int = 0,
    ) -> None:
        self.topic = topic
        self.partition = partition
        self.leader_epoch = leader_epoch
        self.timestamp_type = timestamp_type
        self.owner = owner
        self.delivery_count = delivery_count

    def __repr__(self) -> str:
        return (
            f"RecordOrigin(topic={self.topic!r}, partition={self.partition}, "
            f"leader_epoch={self.leader_epoch}, timestamp_type={self.timestamp_type!r})"
        )


class ConsumerRecord:
    """One record that was read from a partition.

    ``timestamp`` is in milliseconds since 1970 and ``timestamp_type`` says who set it;
    ``leader_epoch`` is -1 where the batch has none. ``key`` and ``value`` are bytes or None, or
    what the deserializers made of them. ``delivery_count`` says how often a share group has
    delivered the record, this time included; 0 outside of share groups.
    """

    __slots__ = ("_origin", "headers", "key", "offset", "timestamp", "value")

    def __init__(  # noqa: PLR0917 (the order is part of the public contract)
        self,
        topic: str,
        partition: int,
        offset: int,
        timestamp: int = -1,
        timestamp_type: TimestampType = TimestampType.CREATE_TIME,
        key: Any = None,
        value: Any = None,
        headers: Headers = (),
        leader_epoch: int = -1,
        delivery_count: int = 0,
    ) -> None:
        self._origin = RecordOrigin(
            topic, partition, leader_epoch, timestamp_type, None, delivery_count
        )
        self.offset = offset
        self.timestamp = timestamp
        self.key = key
        self.value = value
        self.headers = headers

    @classmethod
    def __class_getitem__(cls, kinds: Any) -> Any:
        """Return ``ConsumerRecord[K, V]``, for annotations."""
        return GenericAlias(cls, kinds)

    @property
    def topic(self) -> str:
        return self._origin.topic

    @property
    def partition(self) -> int:
        return self._origin.partition

    @property
    def timestamp_type(self) -> TimestampType:
        return self._origin.timestamp_type

    @property
    def leader_epoch(self) -> int:
        return self._origin.leader_epoch

    @property
    def delivery_count(self) -> int:
        return self._origin.delivery_count

    def __repr__(self) -> str:
        counted = f", delivery_count={self.delivery_count}" if self.delivery_count else ""
        return (
            f"ConsumerRecord(topic={self.topic!r}, partition={self.partition}, "
            f"offset={self.offset}, timestamp={self.timestamp}, "
            f"timestamp_type={self.timestamp_type!r}, key={self.key!r}, value={self.value!r}, "
            f"headers={self.headers!r}, leader_epoch={self.leader_epoch}{counted})"
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ConsumerRecord):
            return NotImplemented
        return self._values() == other._values()

    def __hash__(self) -> int:
        return hash((self.topic, self.partition, self.offset))

    def __reduce__(self) -> tuple[Any, ...]:
        return ConsumerRecord, self._values()

    def _values(self) -> tuple[str, int, int, int, TimestampType, Any, Any, Headers, int, int]:
        return (
            self.topic,
            self.partition,
            self.offset,
            self.timestamp,
            self.timestamp_type,
            self.key,
            self.value,
            self.headers,
            self.leader_epoch,
            self.delivery_count,
        )


def owner_of(record: ConsumerRecord) -> object:
    """Return the owner that the reader of a record named, None if it named none."""
    return record._origin.owner


def consumer_record(origin: RecordOrigin, fields: Fields) -> ConsumerRecord:
    """Return a record that shares ``origin`` with the others of its batch."""
    record = ConsumerRecord.__new__(ConsumerRecord)
    record._origin = origin
    record.offset, record.timestamp, record.key, record.value, record.headers = fields
    return record
