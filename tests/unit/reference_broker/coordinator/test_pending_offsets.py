"""Offsets that open transactions have committed: what markers apply, and what is forgotten."""

from __future__ import annotations

from pyk.reference_broker.coordinator.group.pending_offsets import AppliedOffset, PendingOffsets
from pyk.reference_broker.coordinator.group.records import CommittedOffset

GROUP, PARTITION = "billing", ("orders", 0)
FIRST, SECOND = 7, 8


def committed(offset: int) -> CommittedOffset:
    return CommittedOffset(offset=offset, commit_timestamp_ms=0)


def applied(offset: int) -> AppliedOffset:
    return AppliedOffset(GROUP, *PARTITION, committed(offset))


def pending_of(*producer_ids: int) -> PendingOffsets:
    """Return pending offsets of producers for one partition: 1 for the first, then 2."""
    pending = PendingOffsets()
    for offset, producer_id in enumerate(producer_ids, start=1):
        pending.put(producer_id, GROUP, PARTITION, committed(offset))
    return pending


def test_nothing_is_left_of_what_a_marker_ends() -> None:
    pending = pending_of(FIRST)

    assert pending.end(FIRST, is_commit=True) == [applied(1)]

    assert not pending
    assert not pending.of_group(GROUP)
    assert pending.end(FIRST, is_commit=True) == []


def test_nothing_is_left_of_an_offset_that_is_deleted() -> None:
    pending = pending_of(FIRST, SECOND)

    pending.remove(GROUP, PARTITION)

    assert not pending
    assert pending._of_producers == {}
    assert pending.end(SECOND, is_commit=True) == []


def test_a_superseded_offset_is_not_applied_and_not_listed_and_still_unstable() -> None:
    pending = pending_of(FIRST)

    pending.supersede(GROUP, PARTITION)

    assert list(pending) == []
    assert list(pending.of_group(GROUP)) == [PARTITION]
    assert pending.end(FIRST, is_commit=True) == []


def test_an_earlier_offset_is_not_applied_after_a_later_one() -> None:
    pending = pending_of(FIRST, SECOND)

    assert pending.end(SECOND, is_commit=True) == [applied(2)]
    assert pending.end(FIRST, is_commit=True) == []


def test_a_later_offset_is_applied_after_an_earlier_one() -> None:
    pending = pending_of(FIRST, SECOND)

    assert pending.end(FIRST, is_commit=True) == [applied(1)]
    assert list(pending) == [applied(2)]
    assert pending.end(SECOND, is_commit=True) == [applied(2)]


def test_an_aborted_offset_supersedes_nothing() -> None:
    pending = pending_of(FIRST, SECOND)

    assert pending.end(SECOND, is_commit=False) == []
    assert pending.end(FIRST, is_commit=True) == [applied(1)]
