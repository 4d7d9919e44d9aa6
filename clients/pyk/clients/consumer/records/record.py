"""A record as the application gets it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic

from pyk.clients.payload import K, V
from pyk.protocol.records.record import Headers, TimestampType

if TYPE_CHECKING:

    class ConsumerRecord(Generic[K, V]):
        """One record that was read from a partition.

        ``timestamp`` is in milliseconds since 1970 and ``timestamp_type`` says who set it;
        ``leader_epoch`` is -1 if unknown. ``key`` and ``value`` are bytes, or the results of the
        deserializers, or None. ``delivery_count`` says how often a share group has delivered the
        record, this time included; 0 outside of share groups.
        """

        def __init__(  # noqa: PLR0917 (as the class that it describes)
            self,
            topic: str,
            partition: int,
            offset: int,
            timestamp: int = -1,
            timestamp_type: TimestampType = TimestampType.CREATE_TIME,
            key: K | None = None,
            value: V | None = None,
            headers: Headers = (),
            leader_epoch: int = -1,
            delivery_count: int = 0,
        ) -> None: ...

        @property
        def topic(self) -> str: ...
        @property
        def partition(self) -> int: ...
        @property
        def offset(self) -> int: ...
        @property
        def timestamp(self) -> int: ...
        @property
        def timestamp_type(self) -> TimestampType: ...
        @property
        def key(self) -> K: ...
        @property
        def value(self) -> V: ...
        @property
        def headers(self) -> Headers: ...
        @property
        def leader_epoch(self) -> int: ...
        @property
        def delivery_count(self) -> int: ...

else:
    from pyk.protocol.records.record import ConsumerRecord

__all__ = ["ConsumerRecord", "Headers", "TimestampType"]
