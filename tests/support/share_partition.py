"""The records of one partition of a share group, acquired and acknowledged by hand."""

from __future__ import annotations

from pyk.reference_broker.coordinator.share.state_batches import StateBatch
from pyk.reference_broker.share.acknowledgement import (
    Acknowledgement,
    Acknowledger,
    AcknowledgeType,
    acknowledge,
)
from pyk.reference_broker.share.acquisition import AcquireRequest, Extent, acquire
from pyk.reference_broker.share.delivery import RecordState
from pyk.reference_broker.share.share_partition import (
    Limits,
    SharePartition,
    StoredState,
)

ACCEPT, RELEASE, REJECT = AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE, AcknowledgeType.REJECT
GAP, RENEW = AcknowledgeType.GAP, AcknowledgeType.RENEW
AVAILABLE, ACQUIRED = RecordState.AVAILABLE, RecordState.ACQUIRED
ACKNOWLEDGED, ARCHIVED = RecordState.ACKNOWLEDGED, RecordState.ARCHIVED
LOCK = 30.0
DEFAULTS = Limits()


def stored(*batches: tuple[int, int, RecordState, int], start: int = 0) -> SharePartition:
    stored_batches = [
        StateBatch(first, last, count, state) for first, last, state, count in batches
    ]
    return SharePartition(StoredState(0, start, tuple(stored_batches)))


def take(
    partition: SharePartition,
    *extents: Extent,
    member: str = "a",
    now: float = 0.0,
    max_records: int = 500,
    batch_size: int = 500,
    is_exact: bool = False,
    limits: Limits = DEFAULTS,
    offset: int | None = None,
) -> list[tuple[int, int, int]]:
    """Acquire records; ``offset`` is from where on the log was read, if not where it should be."""
    offset = partition.next_fetch_offset() if offset is None else offset
    extents = tuple(extent for extent in extents if extent[1] >= offset)
    request = AcquireRequest(
        member_id=member,
        fetch_offset=offset,
        max_records=max_records,
        batch_size=batch_size,
        is_exact=is_exact,
        locked_until=now + limits.lock_seconds,
    )
    found = acquire(partition, request, extents, limits)
    return [(each.first_offset, each.last_offset, each.delivery_count) for each in found]


def say(
    partition: SharePartition,
    first: int,
    last: int,
    *types: int,
    member: str = "a",
    now: float = 0.0,
    limits: Limits = DEFAULTS,
) -> list[StateBatch]:
    by = Acknowledger(member_id=member, now=now, limits=limits)
    return acknowledge(partition, by, [Acknowledgement(first, last, types)])


def store(partition: SharePartition, changes: list[StateBatch], *, is_stored: bool = True) -> None:
    partition.settle(changes, is_stored=is_stored, now=0.0, limits=Limits())


def states(partition: SharePartition) -> list[tuple[int, int, RecordState, int]]:
    return [
        (first, last, delivery.state, delivery.count)
        for first, last, delivery in partition.batches.parts()
    ]
