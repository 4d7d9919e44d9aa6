"""The state of records that a share group has seen, and its legal moves. Pure.

                        acquire (count + 1)
        AVAILABLE ─────────────────────────────► ACQUIRED ──── accept ────► ACKNOWLEDGED
            ▲                                      │  │ ▲
            │  release, or the lock is over        │  │ └─ renew
            └──────────────────────────────────────┘  │
            │                                         └──────── reject ───► ARCHIVED
            └─ the log starts after it, or compaction removed it ─────────────▲

A record that is released or whose lock is over is archived instead of available once it was
delivered as often as the limit says. An acknowledgement is *pending* until it is stored: nobody
can acquire or acknowledge the record meanwhile, and if it cannot be stored the record is acquired
as before.
"""

from __future__ import annotations

from enum import IntEnum

from pyk.runtime import slotted

NO_MEMBER = ""


class RecordState(IntEnum):
    """What has become of a record, by the numbers that are stored."""

    AVAILABLE = 0
    ACQUIRED = 1
    ACKNOWLEDGED = 2
    ARCHIVED = 4

    @property
    def is_final(self) -> bool:
        return self is RecordState.ACKNOWLEDGED or self is RecordState.ARCHIVED


@slotted.define(eq=False)
class Delivery:
    """The state of records that share one: a batch, or one record."""

    state: RecordState
    count: int
    """How often they were delivered."""
    member_id: str = NO_MEMBER
    """Who has acquired them."""
    locked_until: float | None = None
    """When the lock is over; set from the acquisition until the records are free or done."""
    acquired_by: str | None = None
    """Who had acquired them before what is pending; None if nothing is."""

    def copy(self) -> Delivery:
        return Delivery(self.state, self.count, self.member_id, self.locked_until, self.acquired_by)

    def is_same_as(self, other: Delivery) -> bool:
        """Return whether records may share a state; what is pending ends by itself."""
        return (
            self.state is other.state
            and self.count == other.count
            and self.member_id == other.member_id
            and self.locked_until == other.locked_until
            and not (self.is_pending or other.is_pending)
        )

    @property
    def is_pending(self) -> bool:
        return self.acquired_by is not None

    @property
    def can_be_acquired(self) -> bool:
        return self.state is RecordState.AVAILABLE and not self.is_pending

    @property
    def is_done(self) -> bool:
        """Whether the records are never handed out again, and that is stored if it has to be."""
        return self.state.is_final and not self.is_pending

    def acquire(self, member_id: str, locked_until: float) -> None:
        self._move(RecordState.ACQUIRED)
        self.count += 1
        self.member_id, self.locked_until = member_id, locked_until

    def give_back(self) -> None:
        """Undo the last acquisition, of which nobody was told."""
        self._move(RecordState.AVAILABLE)
        self.count -= 1
        self.member_id, self.locked_until = NO_MEMBER, None

    def begin(self, state: RecordState, limit: int) -> None:
        """Begin to leave ACQUIRED; :meth:`settle` ends it."""
        acquired_by = self.member_id
        self._leave(state, limit)
        self.acquired_by = acquired_by

    def settle(self, *, is_stored: bool, now: float, limit: int) -> None:
        """End what was begun; what could not be stored is undone."""
        acquired_by, self.acquired_by = self.acquired_by, None
        if is_stored or acquired_by is None or self.locked_until is None:
            self.locked_until = None  # without a lock they were archived meanwhile
            return
        self.state, self.member_id = RecordState.ACQUIRED, acquired_by
        if self.locked_until <= now:
            self.expire(limit)

    def expire(self, limit: int) -> None:
        """Leave ACQUIRED at once, as the lock is over."""
        self._leave(RecordState.AVAILABLE, limit)
        self.locked_until = None

    def archive(self) -> None:
        """Never hand out these records again, whatever is pending."""
        self.state, self.member_id, self.locked_until = RecordState.ARCHIVED, NO_MEMBER, None

    def _leave(self, state: RecordState, limit: int) -> None:
        is_exhausted = state is RecordState.AVAILABLE and self.count >= limit
        self._move(RecordState.ARCHIVED if is_exhausted else state)
        self.member_id = NO_MEMBER

    def _move(self, state: RecordState) -> None:
        expected = RecordState.AVAILABLE if state is RecordState.ACQUIRED else RecordState.ACQUIRED
        if self.state is not expected or self.is_pending:
            raise AssertionError(f"records cannot become {state.name}: {self}")
        self.state = state
