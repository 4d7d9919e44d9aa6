"""Acquired records for tests, from batches and the ranges that were acquired of them."""

from __future__ import annotations

from uuid import UUID

from pyk.clients.consumer.group.modern.assignment import TopicIdPartition
from pyk.clients.share.acquired_records import AcquiredRecords, Part
from pyk.protocol.records.cursor import FetchedRecords

ORDERS_0 = TopicIdPartition(UUID(int=1), "orders", 0)
LOCKED_UNTIL = 30.0


def acquired_records(data: bytes, ranges: list[tuple[int, int, int]]) -> AcquiredRecords:
    """Return what a response with these batches and acquired ranges brings."""
    records = FetchedRecords("orders", 0, data, ranges[0][0] if ranges else 0)
    return AcquiredRecords(ORDERS_0, 1, records, ranges, LOCKED_UNTIL)


def parts_of(acquired: AcquiredRecords, max_records: int = 1000, now: float = 0.0) -> list[Part]:
    """Return all parts that are left."""
    parts = []
    while (part := acquired.next_part(max_records, now)) is not None:
        parts.append(part)
    return parts
