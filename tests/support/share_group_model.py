"""A share group over one partition, played by hand: members, locks, what is stored, restarts."""

from __future__ import annotations

from collections import Counter

from pyk.reference_broker.coordinator.share.state_batches import StateBatch
from pyk.reference_broker.errors import ApiError
from pyk.reference_broker.share.acknowledgement import (
    Acknowledgement,
    Acknowledger,
    AcknowledgeType,
    acknowledge,
)
from pyk.reference_broker.share.acquisition import AcquireRequest, acquire
from pyk.reference_broker.share.delivery import RecordState
from pyk.reference_broker.share.share_partition import (
    Limits,
    SharePartition,
    StoredState,
)

LIMITS = Limits(deliveries=4, records_in_flight=40, lock_seconds=10.0)


class ShareGroupModel:
    """Plays events on a share partition, and checks its laws after each of them."""

    def __init__(self, extents: list[tuple[int, int]], limits: Limits = LIMITS) -> None:
        self.extents = extents
        self.limits = limits
        self.now = 0.0
        self.log_start_offset = 0
        self.stored: dict[int, StateBatch] = {}
        self.stored_start = 0
        self.partition = SharePartition(StoredState(0, 0))
        self.holders: dict[int, tuple[str, float]] = {}
        self.deliveries: Counter[int] = Counter()
        self.done: dict[int, RecordState] = {}
        self.exhausted: set[int] = set()
        self.pending: list[list[StateBatch]] = []

    @property
    def records(self) -> set[int]:
        return {offset for first, last in self.extents for offset in range(first, last + 1)}

    # -- events ----------------------------------------------------------------------------------

    def fetch(
        self, member: str, max_records: int = 10, batch_size: int = 5, *, is_exact: bool = False
    ) -> list[int]:
        start = self.partition.start_offset
        if not self.partition.can_acquire(self.limits):
            return []
        offset = self.partition.next_fetch_offset()
        if offset < self.log_start_offset:
            self.partition.log_starts_at(self.log_start_offset)
            return []
        read = [each for each in self.extents if each[1] >= offset][:6]
        request = AcquireRequest(
            member_id=member,
            fetch_offset=offset,
            max_records=max_records,
            batch_size=batch_size,
            is_exact=is_exact,
            locked_until=self.now + self.limits.lock_seconds,
        )
        found = acquire(self.partition, request, read, self.limits)
        got = [
            (offset, each.delivery_count)
            for each in found
            for offset in range(each.first_offset, each.last_offset + 1)
        ]
        for offset, count in got:
            assert offset not in self.holders, f"{offset} is acquired twice"
            assert offset not in self.done, f"{offset} is delivered again"
            assert 1 <= count <= self.limits.deliveries
            self.holders[offset] = (member, self.now + self.limits.lock_seconds)
            self.deliveries[offset] += 1
        assert not is_exact or len(got) <= max_records
        assert self.partition.start_offset >= start
        self.check()
        return [offset for offset, _ in got]

    def held_by(self, member: str) -> list[int]:
        return sorted(each for each, (holder, _) in self.holders.items() if holder == member)

    def begin(self, member: str, kinds: dict[int, AcknowledgeType]) -> bool:
        """Acknowledge offsets one by one; return whether that was accepted."""
        said = [Acknowledgement(offset, offset, (kind,)) for offset, kind in sorted(kinds.items())]
        by = Acknowledger(member_id=member, now=self.now, limits=self.limits)
        try:
            changes = acknowledge(self.partition, by, said)
        except ApiError:
            self.check()
            return False
        others = [
            offset
            for offset in kinds
            if offset >= self.partition.start_offset
            and self.holders.get(offset, ("",))[0] != member
        ]
        assert not others, f"{member} has acknowledged {others}, which others hold"
        for offset, kind in kinds.items():
            if kind is AcknowledgeType.RENEW and offset in self.holders:
                self.holders[offset] = (member, self.now + self.limits.lock_seconds)
        self.pending.append(changes)
        self.check()
        return True

    def settle(self, index: int, *, is_stored: bool) -> None:
        changes = self.pending.pop(index)
        if is_stored:
            self._store(changes)
        for change in changes:
            for offset in range(change.first_offset, change.last_offset + 1):
                self._settle_record(offset, RecordState(change.delivery_state), is_stored=is_stored)
        self.partition.settle(changes, is_stored=is_stored, now=self.now, limits=self.limits)
        self.check()

    def _settle_record(self, offset: int, state: RecordState, *, is_stored: bool) -> None:
        if is_stored:
            self.holders.pop(offset, None)
            if state.is_final:
                self.done[offset] = state
            return
        if offset in self.holders and self.holders[offset][1] <= self.now:
            del self.holders[offset]

    def close_session(self, member: str) -> None:
        changes = self.partition.release(member, self.limits)
        self.pending.append(changes)
        self.check()

    def wait(self, seconds: float) -> None:
        self.now += seconds
        in_doubt = {
            offset
            for changes in self.pending
            for change in changes
            for offset in range(change.first_offset, change.last_offset + 1)
        }
        self._store(self.partition.expire(self.now, self.limits))
        self.partition.advance()
        for offset, (_, until) in list(self.holders.items()):
            if until <= self.now and offset not in in_doubt:
                del self.holders[offset]
        self.check()

    def delete_records(self, offset: int) -> None:
        """Move the log start offset; the share partition learns of it by its next fetch."""
        self.log_start_offset = max(self.log_start_offset, offset)
        self.extents = [
            (max(first, self.log_start_offset), last)
            for first, last in self.extents
            if last >= self.log_start_offset
        ]
        self.partition.log_starts_at(self.log_start_offset)
        for held in [each for each in self.holders if each < self.log_start_offset]:
            del self.holders[held]
        self.check()

    def restart(self) -> None:
        """Load again what is stored; acquisitions and what is pending are forgotten."""
        self.pending.clear()
        self.holders.clear()
        states = [each for each in self.stored.values() if each.first_offset >= self.stored_start]
        self.partition = SharePartition(
            StoredState(0, self.stored_start, tuple(sorted(states, key=lambda b: b.first_offset)))
        )
        self.deliveries = Counter(
            {offset: batch.delivery_count for offset, batch in self.stored.items()}
        )
        self.check()

    def _store(self, changes: list[StateBatch]) -> None:
        self.stored_start = max(self.stored_start, self.partition.start_offset)
        for change in changes:
            for offset in range(change.first_offset, change.last_offset + 1):
                self.stored[offset] = change._replace(first_offset=offset, last_offset=offset)

    # -- laws ------------------------------------------------------------------------------------

    def check(self) -> None:
        partition = self.partition
        previous_end = -1
        for first, last, delivery in partition.batches.parts():
            assert previous_end < first <= last
            previous_end = last
            if delivery.state is RecordState.ACQUIRED:
                assert delivery.member_id
                assert delivery.locked_until is not None
            elif not delivery.is_pending:
                assert not delivery.member_id
                assert delivery.locked_until is None
        skipped = [each for each in self.unfinished() if each < partition.start_offset]
        assert not skipped, f"{skipped} are below the start offset {partition.start_offset}"
        assert partition.delivery_complete_count <= max(0, partition.in_flight_count)

    def unfinished(self) -> set[int]:
        """Return the records that still have to be delivered."""
        limit = self.limits.deliveries
        self.exhausted |= {each for each, times in self.deliveries.items() if times >= limit}
        return self.records - set(self.done) - self.exhausted

    def drain(self) -> None:
        """Have one healthy member take all that is left, until there is nothing more."""
        self.pending = []
        for _ in range(4 * len(self.records) + 100):
            self.wait(self.limits.lock_seconds)
            got = self.fetch("last", 7)
            if got:
                assert self.begin("last", dict.fromkeys(got, AcknowledgeType.ACCEPT))
                self.settle(0, is_stored=True)
        left = self.unfinished()
        assert not left, f"{left} were never delivered"
