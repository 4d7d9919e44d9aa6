"""Which records a member of a share group acquires: the edges of each decision."""

from __future__ import annotations

import pytest

from pyk.reference_broker.share.share_partition import Limits, SharePartition
from support.share_partition import (
    ACCEPT,
    AVAILABLE,
    DEFAULTS,
    RELEASE,
    say,
    states,
    store,
    stored,
    take,
)

PATIENT = Limits(deliveries=10)
"""Records are handed out in smaller pieces from the fifth delivery on."""


def taken_by_a(*batches: tuple[int, int, int]) -> SharePartition:
    """Return a partition of which a member has acquired all; with the counts before."""
    partition = stored(*((first, last, AVAILABLE, count) for first, last, count in batches))
    taken = take(partition, (batches[0][0], batches[-1][1]))
    assert taken == [(first, last, count + 1) for first, last, count in batches]
    return partition


def release(partition: SharePartition, *ranges: tuple[int, int], limits: Limits = DEFAULTS) -> None:
    for first, last in ranges:
        store(partition, say(partition, first, last, RELEASE, limits=limits))


def accept(partition: SharePartition, *ranges: tuple[int, int]) -> None:
    for first, last in ranges:
        store(partition, say(partition, first, last, ACCEPT))


def splits(partition: SharePartition) -> list[bool]:
    return [batch.is_split for batch in partition.batches]


# -- records that nobody has seen ------------------------------------------------------------------


def test_nothing_is_acquired_where_nothing_was_read() -> None:
    assert take(stored()) == []


@pytest.mark.parametrize(
    ("max_records", "expected"),
    [(9, (0, 9, 1)), (10, (0, 9, 1)), (11, (0, 19, 1)), (20, (0, 19, 1)), (99, (0, 19, 1))],
)
def test_as_many_batches_are_acquired_as_it_takes(
    max_records: int, expected: tuple[int, int, int]
) -> None:
    assert take(stored(), (0, 9), (10, 19), max_records=max_records) == [expected]


def test_what_is_asked_for_may_end_where_the_log_has_no_records() -> None:
    partition = stored()

    assert take(partition, (0, 4), (10, 14), max_records=7) == [(0, 6, 1)]
    assert take(partition, (0, 4), (10, 14)) == [(10, 14, 1)]


def test_no_more_is_acquired_than_was_read() -> None:
    partition = stored()
    take(partition, (0, 4))

    assert take(partition, (5, 9), max_records=12) == [(5, 9, 1)]
    assert partition.end_offset == 9


@pytest.mark.parametrize(
    ("extents", "batch_size", "max_records", "expected"),
    [
        ([(0, 4), (5, 9)], 5, 500, [(0, 4), (5, 9)]),
        ([(0, 4), (5, 9)], 6, 500, [(0, 9)]),
        ([(0, 0), (1, 1), (2, 2)], 0, 500, [(0, 0), (1, 1), (2, 2)]),
        ([(0, 9), (10, 14), (15, 17), (18, 30)], 12, 500, [(0, 14), (15, 30)]),
        ([(0, 9), (10, 19), (20, 29)], 5, 5, [(0, 9)]),
        ([(0, 9), (10, 10), (11, 20)], 5, 11, [(0, 9), (10, 10)]),
    ],
)
def test_pieces_begin_with_a_batch_of_the_log_and_have_the_size_that_is_asked_for(
    extents: list[tuple[int, int]],
    batch_size: int,
    max_records: int,
    expected: list[tuple[int, int]],
) -> None:
    taken = take(stored(), *extents, batch_size=batch_size, max_records=max_records)

    assert taken == [(first, last, 1) for first, last in expected]


def test_record_mode_leaves_a_batch_whole_that_it_takes_all_of() -> None:
    partition = stored()

    assert take(partition, (0, 4), max_records=5, is_exact=True) == [(0, 4, 1)]
    assert splits(partition) == [False]
    assert partition.next_fetch_offset() == 5


# -- records in flight -----------------------------------------------------------------------------


def test_what_others_have_acquired_since_the_log_was_read_is_left_to_them() -> None:
    partition = taken_by_a((0, 9, 0))

    assert take(partition, (0, 9), member="b", offset=0) == []
    assert splits(partition) == [False]


def test_only_what_was_read_of_a_batch_is_acquired() -> None:
    partition = stored((0, 9, AVAILABLE, 1))

    assert take(partition, (0, 4)) == [(0, 4, 2)]
    assert take(partition, (5, 9)) == [(5, 9, 2)]


def test_a_batch_that_is_larger_than_what_is_asked_for_is_acquired_whole() -> None:
    partition = stored((0, 9, AVAILABLE, 1))

    assert take(partition, (0, 9), max_records=3) == [(0, 9, 2)]
    assert splits(partition) == [False]


def test_all_that_is_free_of_a_batch_is_acquired_whatever_is_asked_for() -> None:
    partition = taken_by_a((0, 9, 0))
    release(partition, (2, 9))

    assert take(partition, (0, 9), max_records=1) == [(2, 9, 2)]


def test_one_record_is_acquired_behind_those_that_are_free_again() -> None:
    partition = taken_by_a((0, 9, 0))
    release(partition, (2, 4))

    taken = take(partition, (0, 9), (10, 14), max_records=4, is_exact=True)

    assert taken == [(2, 4, 2), (10, 10, 1)]


def test_record_mode_takes_no_more_than_is_asked_for_where_there_is_no_room() -> None:
    partition, limits = stored(), Limits(records_in_flight=5)
    take(partition, (0, 4), limits=limits)
    release(partition, (2, 4))

    taken = take(partition, (0, 4), (5, 9), max_records=2, is_exact=True, limits=limits)

    assert taken == [(2, 3, 2)]


def test_nothing_new_is_acquired_without_room_where_the_log_lost_what_was_to_be_read() -> None:
    partition, limits = stored(), Limits(records_in_flight=5)
    take(partition, (0, 4), limits=limits)
    release(partition, (0, 4))

    assert take(partition, (10, 19), limits=limits) == []
    assert take(partition, (10, 14), (15, 19), limits=limits) == [(10, 14, 1)]


def test_compaction_archives_up_to_the_first_record_that_was_read() -> None:
    partition = stored((0, 9, AVAILABLE, 1))

    assert take(partition, (5, 9)) == [(5, 9, 2)]
    assert partition.start_offset == 5


# -- gaps ------------------------------------------------------------------------------------------


def test_a_gap_behind_the_last_record_that_is_asked_for_waits() -> None:
    partition = stored((0, 1, AVAILABLE, 1), (5, 6, AVAILABLE, 1))

    assert take(partition, (0, 6), max_records=2) == [(0, 1, 2)]
    assert take(partition, (0, 6), max_records=2) == [(2, 4, 1)]


def test_a_gap_without_records_is_not_read_again() -> None:
    partition = stored((3, 5, AVAILABLE, 1), (8, 9, AVAILABLE, 1))

    assert take(partition, (3, 5), max_records=3) == [(3, 5, 2)]

    assert partition.next_fetch_offset() == 6


def test_a_gap_is_read_on_after_the_records_that_it_had() -> None:
    partition = stored((8, 9, AVAILABLE, 1))

    assert take(partition, (5, 6)) == [(5, 6, 1)]

    assert partition.next_fetch_offset() == 7


# -- records that were delivered often -------------------------------------------------------------


def test_the_last_delivery_of_a_large_batch_is_of_one_record() -> None:
    partition = stored((0, 9, AVAILABLE, 4))

    assert take(partition, (0, 9)) == [(0, 0, 5)]


def test_the_smallest_piece_is_one_record() -> None:
    partition = stored((0, 1, AVAILABLE, 8))

    assert take(partition, (0, 9), limits=PATIENT) == [(0, 0, 9)]


@pytest.mark.parametrize(
    ("last", "accepted", "free", "expected"),
    [
        (7, [(2, 2), (5, 5)], [(0, 1), (3, 4), (6, 7)], [(0, 1), (3, 4)]),
        (7, [(2, 2)], [(0, 1), (3, 7)], [(0, 1), (3, 4)]),
        (15, [(2, 2), (5, 5), (8, 15)], [(0, 1), (3, 4), (6, 7)], [(0, 1), (3, 4), (6, 7)]),
    ],
)
def test_a_piece_is_counted_over_all_that_is_free_of_its_batch(
    last: int,
    accepted: list[tuple[int, int]],
    free: list[tuple[int, int]],
    expected: list[tuple[int, int]],
) -> None:
    partition = taken_by_a((0, last, 2))
    accept(partition, *accepted)
    release(partition, *free)

    taken = take(partition, (0, last), member="b")

    assert taken == [(first, last, 4) for first, last in expected]


def test_the_first_record_that_was_delivered_often_says_how_large_a_piece_is() -> None:
    partition = stored((0, 7, AVAILABLE, 5))
    assert take(partition, (2, 3), offset=2, limits=PATIENT) == [(2, 3, 6)]
    release(partition, (2, 3), limits=PATIENT)
    assert states(partition)[:2] == [(0, 1, AVAILABLE, 5), (2, 3, AVAILABLE, 6)]

    assert take(partition, (0, 7), limits=PATIENT) == [(0, 1, 6), (2, 3, 7)]


def test_a_batch_with_records_that_were_delivered_often_comes_alone() -> None:
    partition = taken_by_a((0, 7, 2), (8, 9, 1))
    accept(partition, (7, 7))
    release(partition, (0, 6), (8, 9))

    assert take(partition, (0, 9), member="b") == [(0, 3, 4)]


def test_such_a_batch_ends_what_is_acquired_also_if_another_member_has_it() -> None:
    partition = taken_by_a((0, 4, 1), (5, 9, 2), (10, 14, 1))
    release(partition, (0, 4), (10, 14))

    assert take(partition, (0, 14), member="b") == [(0, 4, 3)]


def test_records_of_such_a_batch_that_others_have_end_nothing() -> None:
    partition = taken_by_a((0, 4, 0), (5, 9, 2), (10, 14, 0))
    accept(partition, (6, 9))
    release(partition, (0, 4), (10, 14))

    assert take(partition, (0, 14), member="b") == [(0, 4, 2), (10, 14, 2)]


def test_such_a_batch_of_which_nothing_is_free_ends_nothing() -> None:
    partition = taken_by_a((0, 1, 2), (2, 5, 0))
    release(partition, (2, 5))
    for offset in (0, 1):
        say(partition, offset, offset, RELEASE)  # not stored yet

    assert take(partition, (0, 5), member="b", offset=0) == [(2, 5, 2)]


def test_a_record_before_its_last_delivery_comes_without_the_others_of_its_batch() -> None:
    partition = stored((0, 9, AVAILABLE, 1))
    for count in (2, 3, 4):
        assert take(partition, (0, 9), max_records=1, is_exact=True) == [(0, 0, count)]
        release(partition, (0, 0))
    assert states(partition) == [(0, 0, AVAILABLE, 4), (1, 9, AVAILABLE, 1)]

    assert take(partition, (0, 9)) == [(0, 0, 5)]
    assert take(partition, (0, 9)) == [(1, 9, 2)]
