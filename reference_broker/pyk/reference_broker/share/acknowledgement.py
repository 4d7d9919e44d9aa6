"""Carry out what a member of a share group says of the records that it has acquired. Pure.

A member names ranges of offsets with one type for all, or with one for each offset. The ranges need
not be those that it was given. All of a request counts or nothing: the first range that is not
acquired by this member undoes those before it. Offsets below the start offset are passed over: the
log has lost them, or this is said again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import IntEnum
from itertools import groupby

from pyk.protocol.errors import ErrorCode
from pyk.reference_broker.coordinator.share.state_batches import StateBatch
from pyk.reference_broker.errors import ApiError
from pyk.runtime import slotted

from .delivery import Delivery, RecordState
from .in_flight import InFlightBatch
from .share_partition import Limits, SharePartition


class AcknowledgeType(IntEnum):
    """What a member says of a record, by the numbers of the protocol."""

    GAP = 0  # there is no record with this offset
    ACCEPT = 1
    RELEASE = 2
    REJECT = 3
    RENEW = 4  # KIP-1222: it needs more time


OUTCOMES = {
    AcknowledgeType.GAP: RecordState.ARCHIVED,
    AcknowledgeType.ACCEPT: RecordState.ACKNOWLEDGED,
    AcknowledgeType.RELEASE: RecordState.AVAILABLE,
    AcknowledgeType.REJECT: RecordState.ARCHIVED,
}


@slotted.frozen
class Acknowledgement:
    """What a member says of consecutive offsets: one type for all of them, or one for each."""

    first_offset: int
    last_offset: int
    types: tuple[int, ...]

    @property
    def has_type_for_each(self) -> bool:
        return len(self.types) > 1

    def ranges(
        self, first_offset: int, last_offset: int
    ) -> Iterator[tuple[int, int, AcknowledgeType]]:
        """Yield the offsets from ``first_offset`` to ``last_offset`` by their types."""
        if not self.has_type_for_each:
            yield first_offset, last_offset, AcknowledgeType(self.types[0])
            return
        begin = first_offset
        types = self.types[first_offset - self.first_offset : last_offset - self.first_offset + 1]
        for kind, same in groupby(types):
            end = begin + sum(1 for _ in same) - 1
            yield begin, end, AcknowledgeType(kind)
            begin = end + 1


@slotted.frozen(kw_only=True)
class Acknowledger:
    """The member that acknowledges, and when."""

    member_id: str
    now: float
    limits: Limits


def acknowledge(
    partition: SharePartition, by: Acknowledger, acknowledgements: Iterable[Acknowledgement]
) -> list[StateBatch]:
    """Begin the changes that follow and return what is to be stored; :class:`ApiError` if not."""
    changes: list[StateBatch] = []
    try:
        for each in acknowledgements:
            if each.last_offset >= partition.start_offset:
                for batch in _find(partition, each):
                    _acknowledge_batch(partition, by, each, batch, changes)
    except ApiError:
        partition.settle(changes, is_stored=False, now=by.now, limits=by.limits)
        raise
    return changes


def _find(partition: SharePartition, said: Acknowledgement) -> Sequence[InFlightBatch]:
    """Return the batches in flight that the offsets are in."""
    batches = partition.batches
    floor = batches.floor(max(said.first_offset, partition.start_offset))
    if floor is None:
        raise _invalid_state(
            "Batch record not found. The request batch offsets are not found in the cache."
        )
    found = batches.beginning_in(floor.first_offset, said.last_offset)
    if found[-1].last_offset < said.first_offset:
        raise ApiError(
            ErrorCode.INVALID_REQUEST,
            "Batch record not found. The first offset in request is past acquired records.",
        )
    if found[-1].last_offset < said.last_offset:
        raise ApiError(
            ErrorCode.INVALID_REQUEST,
            "Batch record not found. The last offset in request is past acquired records.",
        )
    return found


def _acknowledge_batch(
    partition: SharePartition,
    by: Acknowledger,
    said: Acknowledgement,
    batch: InFlightBatch,
    changes: list[StateBatch],
) -> None:
    if not batch.is_split:
        _check_batch(batch.delivery, by)
        is_whole = batch.lies_within(said.first_offset, said.last_offset)
        if said.has_type_for_each or not is_whole:
            batch.split()
    first_offset = max(said.first_offset, partition.start_offset)
    last_offset = min(said.last_offset, batch.last_offset)
    try:
        for begin, end, kind in said.ranges(max(first_offset, batch.first_offset), last_offset):
            for first, last, delivery in batch.cut(begin, end):
                _check_record(delivery, by)
                change = _apply(by, kind, delivery)
                if change is not None:
                    changes.append(StateBatch(first, last, delivery.count, change))
    finally:  # also what was cut for an acknowledgement that is refused
        batch.join(first_offset, last_offset)


def _apply(by: Acknowledger, kind: AcknowledgeType, delivery: Delivery) -> RecordState | None:
    """Begin the change and return the new state, None if only the lock is renewed."""
    if kind is not AcknowledgeType.RENEW:
        delivery.begin(OUTCOMES[kind], by.limits.deliveries)
        return delivery.state
    if not by.limits.may_renew:
        raise _invalid_state("Renewing acquisition locks is not enabled for the group.")
    delivery.locked_until = by.now + by.limits.lock_seconds
    return None


def _check_batch(delivery: Delivery, by: Acknowledger) -> None:
    if delivery.state is not RecordState.ACQUIRED:
        raise _invalid_state(
            "The batch cannot be acknowledged. The batch is not in the acquired state."
        )
    if delivery.member_id != by.member_id:
        raise _invalid_state("Member is not the owner of batch record")


def _check_record(delivery: Delivery, by: Acknowledger) -> None:
    if delivery.state is not RecordState.ACQUIRED:
        raise _invalid_state("The offset cannot be acknowledged. The offset is not acquired.")
    if delivery.member_id != by.member_id:
        raise _invalid_state("Member is not the owner of offset")


def _invalid_state(message: str) -> ApiError:
    return ApiError(ErrorCode.INVALID_RECORD_STATE, message)
