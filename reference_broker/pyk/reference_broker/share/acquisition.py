"""Decide which of the records that were read a member of a share group gets. Pure.

What was read are batches of the log. Records in flight that are available again are acquired first,
batch by batch in order, then those that nobody has seen. In *batch mode* a batch of the log is
never divided between members, so the number of records that a member asks for is exceeded by up to
one batch. In *record mode* a member gets no more than it asks for.

Records that were delivered often before are given in smaller and smaller pieces, on their last
delivery each alone: whichever of them crashes its consumer is found.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyk.runtime import slotted

from .delivery import Delivery, RecordState
from .in_flight import InFlightBatch
from .share_partition import Limits, SharePartition

Extent = tuple[int, int]
"""Base offset and last offset of a batch of the log."""


@slotted.frozen(kw_only=True)
class AcquireRequest:
    """What a member asks for."""

    member_id: str
    fetch_offset: int
    """From where on the log was read."""
    max_records: int
    batch_size: int
    """The number of records from which on acquired records are listed as several batches."""
    is_exact: bool = False
    """Whether ``max_records`` may not be exceeded: record mode."""
    locked_until: float


@slotted.frozen
class AcquiredRecords:
    """Records that a member has acquired, as they are told to it."""

    first_offset: int
    last_offset: int
    delivery_count: int


def acquire(
    partition: SharePartition, request: AcquireRequest, extents: Sequence[Extent], limits: Limits
) -> list[AcquiredRecords]:
    """Acquire records of the batches that were read, and return what was acquired."""
    if not extents:
        return []
    return _Acquisition(partition, request, extents, limits).run()


class _Acquisition:
    def __init__(
        self,
        partition: SharePartition,
        request: AcquireRequest,
        extents: Sequence[Extent],
        limits: Limits,
    ) -> None:
        self._partition = partition
        self._request = request
        self._extents = extents
        self._limits = limits
        self._base_offset, self._last_offset = extents[0][0], extents[-1][1]
        self._left = self._room()
        """How many records may still be acquired."""
        self._acquired: list[AcquiredRecords] = []

    def run(self) -> list[AcquiredRecords]:
        partition, base = self._partition, self._base_offset
        partition.missing_from_log(self._request.fetch_offset, base - 1)
        # A batch of the log may begin before the records that the group works on.
        base = max(base, partition.start_offset)
        known = partition.batches.overlapping(base, self._last_offset)
        if known:
            self._acquire_known(base, known)
            base = known[-1].last_offset + 1
        if self._left > 0 and base <= self._last_offset:
            self._acquire_new(base, self._last_offset)
        if self._acquired:
            partition.read_gaps_before(self._acquired[-1].last_offset + 1)
        return self._acquired

    def _room(self) -> int:
        """Return how many records may be acquired, below the end offset if there is no room."""
        asked, partition = self._request.max_records, self._partition
        room = self._limits.records_in_flight - partition.in_flight_count
        if room > 0:
            return min(asked, room)
        self._last_offset = min(self._last_offset, partition.end_offset)
        return asked

    # -- records in flight -----------------------------------------------------------------------

    def _acquire_known(self, base: int, known: Sequence[InFlightBatch]) -> None:
        gap_from = base
        for batch in known:
            if self._left > 0 and self._partition.gap_start is not None:
                if gap_from < batch.first_offset:
                    self._acquire_new(gap_from, batch.first_offset - 1)
                gap_from = batch.last_offset + 1
            if self._left <= 0:
                return
            self._acquire_batch(batch)

    def _acquire_batch(self, batch: InFlightBatch) -> None:
        is_delicate = self._is_delicate(batch)
        if is_delicate and self._acquired:
            self._left = 0
            return
        is_whole = batch.lies_within(self._base_offset, self._last_offset)
        is_too_large = self._request.is_exact and batch.size > self._left
        if not batch.is_split:
            if not batch.delivery.can_be_acquired:
                return
            if is_whole and not (is_too_large or is_delicate):
                self._take(batch.first_offset, batch.last_offset, batch.delivery)
                return
            batch.split()
        taken = self._acquire_some(batch)
        if is_delicate and taken:
            self._left = 0

    def _acquire_some(self, batch: InFlightBatch) -> int:
        """Acquire records of a split batch; return how many."""
        limit, careful_from = self._limits.deliveries, self._limits.careful_from
        at_most, taken = self._left if self._request.is_exact else batch.size, 0
        is_careful = False
        for first, last, delivery in batch.parts(self._base_offset, self._last_offset):
            if not delivery.can_be_acquired:
                continue
            is_last_delivery = limit > 2 and delivery.count >= limit - 1
            if is_last_delivery and taken:
                break
            if delivery.count >= careful_from and not is_careful:
                is_careful = True
                piece = batch.size >> (delivery.count - careful_from + 1)
                at_most = min(at_most, max(1, piece))
            most = 1 if is_last_delivery else max(1, at_most - taken)
            for begin, end, some in batch.cut(first, min(last, first + most - 1)):
                self._take(begin, end, some)
                taken += end - begin + 1
            if is_last_delivery or taken >= at_most:
                break
        return taken

    def _is_delicate(self, batch: InFlightBatch) -> bool:
        """Return whether records of a batch have to be handed out in smaller pieces."""
        if not batch.is_split:
            return batch.delivery.count >= self._limits.careful_from
        return any(
            delivery.state is RecordState.AVAILABLE and delivery.count >= self._limits.careful_from
            for _, _, delivery in batch.parts(self._base_offset, self._last_offset)
        )

    def _take(self, first_offset: int, last_offset: int, delivery: Delivery) -> None:
        delivery.acquire(self._request.member_id, self._request.locked_until)
        self._acquired.append(AcquiredRecords(first_offset, last_offset, delivery.count))
        self._left -= last_offset - first_offset + 1

    # -- records that nobody has seen ------------------------------------------------------------

    def _acquire_new(self, first_offset: int, last_offset: int) -> None:
        partition = self._partition
        end = min(last_offset, self._end_of_batch(first_offset + self._left - 1))
        if self._request.is_exact:
            self._add_exact(first_offset, end)
        else:
            self._add_batches(first_offset, end)
        if partition.batches.first.first_offset == first_offset:
            # Below it the log has no records.
            partition.start_offset = max(partition.start_offset, first_offset)
        partition.end_offset = max(partition.end_offset, end)

    def _end_of_batch(self, offset: int) -> int:
        """Return the last offset of the batch with ``offset``, itself if there is none."""
        for base_offset, last_offset in self._extents:
            if base_offset <= offset <= last_offset:
                return last_offset
        return offset

    def _add_batches(self, first_offset: int, end: int) -> None:
        """Acquire all records, as batches of at least the size that the member asks for."""
        size = max(1, self._request.batch_size)
        begin = first_offset
        for base_offset, _ in self._extents:
            if base_offset > end:
                break
            if base_offset - begin >= size:
                self._add(begin, base_offset - 1)
                begin = base_offset
        self._add(begin, end)

    def _add_exact(self, first_offset: int, end: int) -> None:
        """Acquire no more than the member asks for; what is left of the batch is available."""
        batch = self._new_batch(first_offset, end)
        last_offset = min(end, first_offset + self._left - 1)
        if last_offset == end:
            self._take(first_offset, end, batch.delivery)
            return
        batch.split()
        self._partition.may_have_available = True
        for _, _, delivery in batch.cut(first_offset, last_offset):
            delivery.acquire(self._request.member_id, self._request.locked_until)
        self._acquired.append(AcquiredRecords(first_offset, last_offset, 1))
        self._left = 0

    def _add(self, first_offset: int, last_offset: int) -> None:
        batch = self._new_batch(first_offset, last_offset)
        self._take(first_offset, last_offset, batch.delivery)

    def _new_batch(self, first_offset: int, last_offset: int) -> InFlightBatch:
        batch = InFlightBatch(first_offset, last_offset, Delivery(RecordState.AVAILABLE, 0))
        self._partition.batches.add(batch)
        return batch
