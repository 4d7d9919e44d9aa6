"""The records of one partition that a share group is working on. Pure.

        start offset                                             end offset
             │                                                        │
 … done … │ A A D D D │ Q Q Q Q Q │ D D D D │ A A A A │ Q Q Q Q Q Q │ not seen yet …
             │  split    │  one state for all  │         │             │
             └───────────────────── in flight ─────────────────────────┘
             A available    Q acquired by a member    D acknowledged or archived

The group has a start offset (Kafka: SPSO): all records below it are done. The end offset (SPEO) is
the last offset that any member was given. What lies between is *in flight*: batches with a state,
a delivery count and, while acquired, a member and a lock, see :mod:`.delivery`. When the first
batches are done, the start offset moves past them and they are forgotten.

Reading begins at the first available record, otherwise after the end offset. A member acquires what
it is given: whole batches as they lie in the log, or exactly as many records as it asked for
(KIP-1206). Offsets without a record count as records, and members acknowledge them as gaps.

Nothing counts before it is stored: an acknowledgement begins changes, the driver stores them, and
:meth:`SharePartition.settle` ends or undoes them. Acquisitions are not stored. So after a restart
there may be *gaps* among the batches that are read back: offsets below the end offset about which
nothing is known. They are read again, as far as the gap window reaches.

The decisions to acquire and to acknowledge are in :mod:`.acquisition` and :mod:`.acknowledgement`.
"""

from __future__ import annotations

from collections.abc import Iterable

from pyk.reference_broker.coordinator.share.state_batches import StateBatch
from pyk.runtime import slotted

from .delivery import Delivery, RecordState
from .in_flight import InFlightBatch, InFlightBatches


@slotted.frozen
class StoredState:
    """What is stored of a share partition."""

    state_epoch: int
    start_offset: int
    batches: tuple[StateBatch, ...] = ()


@slotted.frozen
class Limits:
    """What the configuration of a share group allows."""

    deliveries: int = 5
    """How often a record may be delivered."""
    records_in_flight: int = 2000
    lock_seconds: float = 30.0
    may_renew: bool = True

    @property
    def careful_from(self) -> int:
        """The delivery count from which on records are handed out in smaller pieces.

        One record that crashes its consumer must not take all of its batch to the limit.
        """
        return max(2, (self.deliveries + 1) // 2)


class SharePartition:
    """The state machine of one partition of a share group."""

    def __init__(self, stored: StoredState) -> None:
        self.state_epoch = stored.state_epoch
        self.start_offset = self.end_offset = stored.start_offset
        self.batches = InFlightBatches(
            InFlightBatch(
                max(batch.first_offset, stored.start_offset),
                batch.last_offset,
                Delivery(RecordState(batch.delivery_state), batch.delivery_count),
            )
            for batch in stored.batches
            if batch.last_offset >= stored.start_offset
        )
        self.may_have_available = bool(self.batches)
        """False if no record in flight is available: then nobody has to look for one."""
        self._gap_window: tuple[int, int] | None = None
        if self.batches:
            self.end_offset = self.batches.last.last_offset
            self._open_gap_window()
            self.advance()

    def __repr__(self) -> str:
        return f"SharePartition({self.start_offset}-{self.end_offset}, {list(self.batches)})"

    # -- where to read ---------------------------------------------------------------------------

    def next_fetch_offset(self) -> int:
        """Return the offset from which on records are to be read."""
        if not self.batches:
            self.may_have_available = False
            return self.end_offset
        if self.may_have_available:
            found = self._first_to_read()
            if found is not None:
                return found
            self.may_have_available = False
        return self.end_offset + 1

    @property
    def in_flight_count(self) -> int:
        return self.end_offset - self.start_offset + 1 if self.batches else 0

    def can_acquire(self, limits: Limits) -> bool:
        """Return whether there is anything to read for: room, or a record that is free again."""
        is_between = self.next_fetch_offset() != self.end_offset + 1
        return is_between or self.in_flight_count < limits.records_in_flight

    def _first_to_read(self) -> int | None:
        gap = self.gap_start
        for batch in self.batches:
            if gap is not None:
                if gap < batch.first_offset:
                    return gap
                gap = max(gap, batch.last_offset + 1)
            for first, _, delivery in batch.parts():
                if delivery.can_be_acquired:
                    return first
        return None

    # -- gaps in the stored state ----------------------------------------------------------------

    @property
    def gap_start(self) -> int | None:
        """The offset of the first gap that may have records, None if there is none.

        Once records after the last stored offset are acquired, all gaps below have been read.
        """
        if self._gap_window is None or self._gap_window[1] != self.end_offset:
            return None
        return max(self._gap_window[0], self.start_offset)

    def _first_gap(self) -> int | None:
        """Return the first offset from the gap on that no batch has; Kafka waits for later records
        where there is none."""
        expected = self.gap_start
        if expected is None:
            return None
        for batch in self.batches:
            if batch.first_offset > expected:
                return expected
            expected = max(expected, batch.last_offset + 1)
        return None

    def read_gaps_before(self, offset: int) -> None:
        """Note that all up to ``offset`` was read."""
        if self._gap_window is not None:
            end = self._gap_window[1]
            self._gap_window = (offset, end) if offset <= end else None

    def _open_gap_window(self) -> None:
        expected = self.start_offset
        for batch in self.batches:
            if batch.first_offset > expected:
                self._gap_window = (expected, self.end_offset)
                return
            expected = batch.last_offset + 1

    # -- what ends acquisitions ------------------------------------------------------------------

    def release(self, member_id: str, limits: Limits) -> list[StateBatch]:
        """Begin to release what a member has acquired, as its session has ended.

        Return what is to be stored.
        """
        changes: list[StateBatch] = []
        for batch in self.batches:
            for first, last, delivery in batch.parts():
                if delivery.state is not RecordState.ACQUIRED or delivery.member_id != member_id:
                    continue
                delivery.begin(RecordState.AVAILABLE, limits.deliveries)
                changes.append(StateBatch(first, last, delivery.count, delivery.state))
        return changes

    def give_back(self, member_id: str, ranges: Iterable[tuple[int, int]]) -> None:
        """Undo acquisitions that the member was not told of."""
        for first_offset, last_offset in ranges:
            for batch in self.batches.overlapping(first_offset, last_offset):
                for _, _, delivery in batch.cut(first_offset, last_offset):
                    if delivery.state is RecordState.ACQUIRED and delivery.member_id == member_id:
                        delivery.give_back()
                batch.join(first_offset, last_offset)
        self.may_have_available = True

    def expire(self, now: float, limits: Limits) -> list[StateBatch]:
        """Free the records whose lock is over; return what is to be stored.

        They are free at once: if it cannot be stored, a restart forgets one delivery.
        """
        changes: list[StateBatch] = []
        for batch in self.batches:
            for first, last, delivery in batch.parts():
                if _is_overdue(delivery, now):
                    delivery.expire(limits.deliveries)
                    changes.append(StateBatch(first, last, delivery.count, delivery.state))
            batch.join(batch.first_offset, batch.last_offset)
        self.may_have_available |= bool(changes)
        return changes

    def next_expiry(self, now: float) -> float | None:
        """Return when the next lock is over, None if there is none.

        What is pending and over already is freed by :meth:`settle`.
        """
        return min((lock for lock in self.batches.locks() if lock > now), default=None)

    def settle(
        self, changes: Iterable[StateBatch], *, is_stored: bool, now: float, limits: Limits
    ) -> None:
        """End changes that were begun, or undo them if they could not be stored."""
        for change in changes:
            for batch in self.batches.overlapping(change.first_offset, change.last_offset):
                for _, _, delivery in batch.parts(change.first_offset, change.last_offset):
                    if delivery.is_pending:
                        delivery.settle(is_stored=is_stored, now=now, limit=limits.deliveries)
                batch.join(change.first_offset, change.last_offset)
        self.may_have_available = True
        self.advance()

    # -- what the log does -----------------------------------------------------------------------

    def log_starts_at(self, offset: int) -> None:
        """Move past the records that the log has no longer, whoever has acquired them."""
        if offset <= self.start_offset:
            return
        for batch in self.batches.overlapping(offset - 1, offset - 1):
            if batch.straddles(offset):
                batch.split()
                for _, _, delivery in batch.cut(batch.first_offset, offset - 1):
                    delivery.archive()
        self._start_at(offset)
        self.end_offset = max(self.end_offset, offset)
        self.advance()

    def missing_from_log(self, first_offset: int, last_offset: int) -> None:
        """Archive available records that were to be read and are not there: compaction."""
        if first_offset <= last_offset:
            self._archive(first_offset, last_offset, RecordState.AVAILABLE)
            self.advance()

    def archive_aborted(self, ranges: Iterable[tuple[int, int]]) -> None:
        """Archive acquired records of transactions that were aborted; no member gets them."""
        for first_offset, last_offset in ranges:
            self._archive(first_offset, last_offset, RecordState.ACQUIRED)
        self.advance()

    def _archive(self, first_offset: int, last_offset: int, state: RecordState) -> None:
        for batch in self.batches.overlapping(first_offset, last_offset):
            is_whole = batch.lies_within(first_offset, last_offset)
            if not is_whole and not batch.is_split:
                if batch.delivery.state is not state:
                    continue
                batch.split()
            for _, _, delivery in batch.cut(first_offset, last_offset):
                if delivery.state is state:
                    delivery.archive()
            batch.join(first_offset, last_offset)

    # -- what is done ----------------------------------------------------------------------------

    def advance(self) -> None:
        """Move the start offset past all records that are done, and forget them."""
        if not self.batches:
            return
        gap = self._first_gap()
        for first, last, delivery in self.batches.parts():
            is_gone = last < self.start_offset
            if gap is not None and last >= gap:
                self._start_at(min(gap, first))
                return
            if not (delivery.is_done or is_gone):
                self._start_at(first)
                return
        self.start_offset = self.end_offset = self.batches.last.last_offset + 1
        self.batches = InFlightBatches()

    def _start_at(self, offset: int) -> None:
        self.start_offset = max(self.start_offset, offset)
        self.batches.forget_before(self.start_offset)

    @property
    def delivery_complete_count(self) -> int:
        """How many of the records in flight are acknowledged or archived."""
        return self.batches.count_final(self.start_offset)


def _is_overdue(delivery: Delivery, now: float) -> bool:
    if delivery.state is not RecordState.ACQUIRED:
        return False
    return delivery.locked_until is not None and delivery.locked_until <= now
