"""The records of one partition of a share group are acquired, and kept: table of cases."""

from __future__ import annotations

import pytest

from pyk.reference_broker.share.share_partition import (
    Limits,
)
from support.share_partition import (
    ACCEPT,
    ACKNOWLEDGED,
    ACQUIRED,
    ARCHIVED,
    AVAILABLE,
    LOCK,
    RELEASE,
    say,
    states,
    store,
    stored,
    take,
)

# -- acquiring -------------------------------------------------------------------------------------


def test_batches_of_the_log_are_acquired_as_one_batch() -> None:
    partition = stored()

    assert take(partition, (0, 9), (10, 19)) == [(0, 19, 1)]
    assert states(partition) == [(0, 19, ACQUIRED, 1)]
    assert (partition.start_offset, partition.end_offset) == (0, 19)


def test_they_are_listed_in_pieces_of_the_batch_size() -> None:
    assert take(stored(), (0, 9), (10, 14), (15, 30), batch_size=12) == [(0, 14, 1), (15, 30, 1)]


@pytest.mark.parametrize("batch_size", [0, -1])
def test_a_batch_size_without_sense_lists_each_batch_of_the_log(batch_size: int) -> None:
    assert take(stored(), (0, 4), (5, 9), batch_size=batch_size) == [(0, 4, 1), (5, 9, 1)]


def test_a_batch_of_the_log_is_not_divided_by_the_number_that_a_member_asks_for() -> None:
    assert take(stored(), (0, 9), (10, 19), max_records=3) == [(0, 9, 1)]


def test_in_record_mode_it_is_and_what_is_left_is_available() -> None:
    partition = stored()

    assert take(partition, (0, 9), max_records=3, is_exact=True) == [(0, 2, 1)]
    assert partition.next_fetch_offset() == 3
    taken = take(partition, (0, 9), member="b", max_records=2, is_exact=True)
    assert taken == [(3, 4, 1)]


@pytest.mark.parametrize("max_records", [0, -1])
def test_nothing_is_acquired_if_no_record_is_asked_for(max_records: int) -> None:
    assert take(stored(), (0, 9), max_records=max_records) == []


def test_records_of_another_member_are_passed_over() -> None:
    partition = stored()
    take(partition, (0, 4))

    assert take(partition, (0, 4), (5, 9), member="b") == [(5, 9, 1)]


def test_no_more_are_acquired_than_may_be_in_flight() -> None:
    partition, limits = stored(), Limits(records_in_flight=10)
    take(partition, (0, 9), limits=limits)

    assert not partition.can_acquire(limits)
    assert take(partition, (10, 19), limits=limits) == []


def test_a_released_record_is_acquired_also_where_there_is_no_room() -> None:
    partition, limits = stored(), Limits(records_in_flight=10)
    take(partition, (0, 9), limits=limits)
    store(partition, say(partition, 4, 4, RELEASE))

    assert partition.can_acquire(limits)
    assert take(partition, (0, 9), (10, 19), member="b", limits=limits) == [(4, 4, 2)]


def test_a_record_on_its_last_delivery_is_delivered_alone() -> None:
    partition = stored((0, 3, AVAILABLE, 4))

    assert take(partition, (0, 9)) == [(0, 0, 5)]
    assert take(partition, (0, 9)) == [(1, 1, 5)]


def test_records_that_were_delivered_often_are_delivered_in_smaller_pieces() -> None:
    partition = stored((0, 7, AVAILABLE, 3))

    assert take(partition, (0, 9)) == [(0, 3, 4)]


@pytest.mark.parametrize(
    ("limit", "careful_from"), [(2, 2), (3, 2), (4, 2), (5, 3), (6, 3), (7, 4), (10, 5)]
)
def test_care_begins_at_half_of_the_deliveries_and_not_before_the_second(
    limit: int, careful_from: int
) -> None:
    assert Limits(deliveries=limit).careful_from == careful_from


def test_a_record_before_its_last_delivery_is_left_for_later() -> None:
    partition = stored((0, 0, AVAILABLE, 1), (1, 1, AVAILABLE, 4), (2, 2, AVAILABLE, 1))

    assert take(partition, (0, 2)) == [(0, 0, 2)]
    assert take(partition, (0, 2)) == [(1, 1, 5)]
    assert take(partition, (0, 2)) == [(2, 2, 2)]


def test_a_record_before_its_last_delivery_ends_what_is_acquired_of_its_batch() -> None:
    partition, limits = stored(), Limits(deliveries=3)
    take(partition, (0, 2), limits=limits)
    store(partition, say(partition, 1, 1, RELEASE, limits=limits))
    take(partition, (0, 2), limits=limits)
    store(partition, say(partition, 0, 1, RELEASE, limits=limits))

    assert take(partition, (0, 2), limits=limits) == [(0, 0, 2)]
    assert take(partition, (0, 2), limits=limits) == [(1, 1, 3)]


def test_records_that_compaction_removed_are_archived() -> None:
    partition = stored((0, 9, AVAILABLE, 1))

    assert take(partition, (15, 19)) == [(15, 19, 1)]
    assert partition.start_offset == 15


@pytest.mark.parametrize(("first", "last"), [(0, 9), (0, 5), (4, 9)])
def test_acquired_records_are_not_archived_for_what_the_log_lacks_around_them(
    first: int, last: int
) -> None:
    partition = stored()
    take(partition, (0, 9))
    store(partition, say(partition, 4, 5, RELEASE))

    partition.missing_from_log(first, last)

    assert states(partition) == [(0, 3, ACQUIRED, 1), (4, 5, ARCHIVED, 1), (6, 9, ACQUIRED, 1)]


def test_a_batch_that_is_acquired_whole_stays_so_whatever_the_log_lacks() -> None:
    partition = stored()
    take(partition, (0, 9))

    partition.missing_from_log(0, 4)

    assert [batch.is_split for batch in partition.batches] == [False]


def test_what_is_archived_piece_by_piece_is_kept_as_one() -> None:
    partition = stored((0, 9, AVAILABLE, 1))

    partition.missing_from_log(2, 3)
    partition.missing_from_log(4, 5)

    assert states(partition) == [(0, 1, AVAILABLE, 1), (2, 5, ARCHIVED, 1), (6, 9, AVAILABLE, 1)]


def test_records_below_the_start_offset_are_not_acquired_again() -> None:
    assert take(stored(start=5), (0, 9)) == [(5, 9, 1)]


# -- the log ---------------------------------------------------------------------------------------


def test_records_that_the_log_has_deleted_are_forgotten() -> None:
    partition = stored()
    take(partition, (0, 9))

    partition.log_starts_at(5)

    assert partition.start_offset == 5
    assert say(partition, 0, 4, ACCEPT) == []
    store(partition, say(partition, 0, 9, ACCEPT))
    assert partition.start_offset == 10


def test_deleted_records_hold_nothing_up_while_what_is_said_of_them_is_stored() -> None:
    partition = stored()
    take(partition, (0, 9))
    say(partition, 0, 4, ACCEPT)
    changes = say(partition, 5, 9, ACCEPT)
    partition.log_starts_at(5)

    store(partition, changes)

    assert partition.start_offset == 10


def test_a_log_that_starts_after_all_records_begins_again_there() -> None:
    partition = stored()
    take(partition, (0, 9))

    partition.log_starts_at(50)

    assert (partition.start_offset, partition.next_fetch_offset()) == (50, 50)


def test_what_a_failing_disk_undoes_stays_deleted() -> None:
    partition = stored()
    take(partition, (0, 9))
    changes = say(partition, 0, 9, ACCEPT)
    partition.log_starts_at(5)

    partition.settle(changes, is_stored=False, now=LOCK, limits=Limits())

    assert partition.next_fetch_offset() == 5


def test_aborted_records_are_archived() -> None:
    partition = stored()
    take(partition, (0, 9))

    partition.archive_aborted([(0, 4)])

    assert partition.start_offset == 5
    store(partition, say(partition, 5, 9, ACCEPT))
    assert partition.start_offset == 10


# -- after a restart -------------------------------------------------------------------------------


def test_gaps_of_the_stored_state_are_read_again() -> None:
    partition = stored((3, 5, ACKNOWLEDGED, 1), (8, 9, AVAILABLE, 2))

    assert partition.next_fetch_offset() == 0
    assert take(partition, (0, 4), (5, 9), (10, 14)) == [
        (0, 2, 1),
        (6, 7, 1),
        (8, 9, 3),
        (10, 14, 1),
    ]
    assert partition.end_offset == 14


def test_records_between_two_gaps_that_are_done_are_not_read_again() -> None:
    partition = stored((4, 5, ACKNOWLEDGED, 1), (8, 9, AVAILABLE, 1))

    assert take(partition, (0, 3)) == [(0, 3, 1)]

    assert partition.next_fetch_offset() == 6


def test_offsets_that_the_log_lacked_between_batches_are_no_gap_to_read_again() -> None:
    partition = stored()
    take(partition, (0, 4))
    take(partition, (8, 12))
    store(partition, say(partition, 0, 4, RELEASE))
    store(partition, say(partition, 8, 12, RELEASE))

    assert take(partition, (0, 4), (8, 12)) == [(0, 4, 2), (8, 12, 2)]


def test_a_gap_is_acquired_no_further_than_it_goes() -> None:
    partition = stored((5, 9, AVAILABLE, 1))

    assert take(partition, (0, 9), max_records=1) == [(0, 4, 1)]
    assert take(partition, (0, 9), max_records=1) == [(5, 9, 2)]


def test_a_gap_that_the_log_has_deleted_is_not_read() -> None:
    partition = stored((0, 1, ACKNOWLEDGED, 1), (8, 9, AVAILABLE, 1))

    partition.log_starts_at(5)

    assert (partition.start_offset, partition.next_fetch_offset()) == (5, 5)


def test_stored_records_that_are_done_are_passed() -> None:
    partition = stored((0, 3, ACKNOWLEDGED, 1), (4, 5, ARCHIVED, 5), (6, 6, AVAILABLE, 1))

    assert (partition.start_offset, partition.next_fetch_offset()) == (6, 6)


def test_a_gap_at_the_start_offset_keeps_it_there() -> None:
    partition = stored((5, 9, ACKNOWLEDGED, 1))

    assert (partition.start_offset, partition.next_fetch_offset()) == (0, 0)


def test_stored_records_below_the_start_offset_are_left_out() -> None:
    partition = stored((0, 3, AVAILABLE, 1), (4, 9, AVAILABLE, 1), start=6)

    assert states(partition) == [(6, 9, AVAILABLE, 1)]


def test_the_records_that_are_done_are_counted() -> None:
    partition = stored((0, 3, AVAILABLE, 1), (4, 9, ACKNOWLEDGED, 1), (10, 11, ARCHIVED, 5))

    assert partition.delivery_complete_count == 8


def test_what_is_free_again_is_listed_by_its_deliveries_and_before_a_single_new_record() -> None:
    partition = stored()
    take(partition, (0, 9))
    store(partition, say(partition, 2, 3, RELEASE))
    store(partition, say(partition, 5, 6, RELEASE))

    assert take(partition, (0, 9), (10, 10), max_records=50) == [(2, 3, 2), (5, 6, 2), (10, 10, 1)]


def test_record_mode_takes_the_rest_of_a_batch_and_no_more_than_is_asked_for() -> None:
    partition = stored()
    take(partition, (0, 9))
    store(partition, say(partition, 0, 9, RELEASE))

    taken = [
        take(partition, (0, 9), (10, 14), max_records=4, is_exact=True, member=member)
        for member in ("a", "b", "c", "d")
    ]

    assert taken == [[(0, 3, 2)], [(4, 7, 2)], [(8, 9, 2), (10, 11, 1)], [(12, 14, 1)]]


def test_a_batch_as_large_as_what_is_asked_for_is_acquired_whole() -> None:
    partition = stored((0, 3, AVAILABLE, 1), (4, 7, AVAILABLE, 1))

    assert take(partition, (0, 7), max_records=4, is_exact=True) == [(0, 3, 2)]
    assert [batch.is_split for batch in partition.batches] == [False, False]


def test_a_batch_larger_than_what_is_asked_for_by_one_record_is_divided() -> None:
    partition = stored((0, 4, AVAILABLE, 1))

    assert take(partition, (0, 4), max_records=4, is_exact=True) == [(0, 3, 2)]


def test_locks_are_looked_at_when_the_next_one_is_over() -> None:
    partition = stored()
    take(partition, (0, 4), now=10)
    take(partition, (5, 9), now=0)

    moments = [partition.next_expiry(now) for now in (0, LOCK, LOCK + 10)]

    assert moments == [LOCK, LOCK + 10, None]


def test_room_is_counted_to_the_last_record() -> None:
    limits = Limits(records_in_flight=10)
    partition = stored()

    assert take(partition, (0, 4), limits=limits) == [(0, 4, 1)]
    assert take(partition, (5, 5), (6, 9), (10, 10), limits=limits) == [(5, 9, 1)]
    assert take(partition, (10, 10), limits=limits) == []
    store(partition, say(partition, 0, 0, ACCEPT))
    assert take(partition, (10, 10), (11, 11), limits=limits) == [(10, 10, 1)]


@pytest.mark.parametrize(
    ("first", "last", "found"),
    [
        (9, 9, [0]),
        (10, 10, [10]),
        (9, 10, [0, 10]),
        (10, 20, [10, 20]),
        (31, 40, []),
        (29, 40, [20]),
    ],
)
def test_batches_are_found_by_their_offsets(first: int, last: int, found: list[int]) -> None:
    partition = stored((0, 9, AVAILABLE, 1), (10, 19, AVAILABLE, 1), (20, 29, AVAILABLE, 1))

    batches = partition.batches.overlapping(first, last)

    assert [batch.first_offset for batch in batches] == found


@pytest.mark.parametrize(
    ("offset", "straddles"), [(10, False), (11, True), (19, True), (20, False)]
)
def test_a_batch_straddles_the_offsets_after_its_first(offset: int, straddles: bool) -> None:
    (batch,) = stored((10, 19, AVAILABLE, 1)).batches

    assert batch.straddles(offset) is straddles


def test_the_count_of_what_is_done_begins_with_the_start_offset() -> None:
    partition = stored((0, 0, AVAILABLE, 1), (1, 5, ACKNOWLEDGED, 1), (6, 9, AVAILABLE, 1))

    counts = [partition.batches.count_final(offset) for offset in (0, 1, 2, 5, 6)]

    assert counts == [5, 5, 4, 1, 0]


def test_a_log_that_starts_inside_a_batch_leaves_its_last_record() -> None:
    partition = stored()
    take(partition, (0, 9))
    store(partition, say(partition, 0, 9, RELEASE))

    partition.log_starts_at(9)

    assert partition.start_offset == 9
    assert take(partition, (0, 9), member="b") == [(9, 9, 2)]


def test_a_log_that_starts_between_batches_lets_reading_go_on_there() -> None:
    partition = stored((0, 4, AVAILABLE, 1), (5, 9, AVAILABLE, 1))

    partition.log_starts_at(5)

    assert (partition.start_offset, partition.next_fetch_offset()) == (5, 5)
    assert take(partition, (5, 9)) == [(5, 9, 2)]


def test_a_gap_is_divided_by_the_limit_of_a_member_that_wants_no_more() -> None:
    partition = stored((5, 9, AVAILABLE, 1))

    assert take(partition, (0, 4), (5, 9), max_records=3, is_exact=True) == [(0, 2, 1)]
    assert take(partition, (0, 4), (5, 9), max_records=3, is_exact=True) == [(3, 4, 1), (5, 5, 2)]


def test_records_that_are_free_again_are_acquired_where_there_is_room_for_no_others() -> None:
    partition, limits = stored(), Limits(records_in_flight=5)
    take(partition, (0, 4), limits=limits)
    assert take(partition, (5, 9), limits=limits) == []
    store(partition, say(partition, 2, 4, RELEASE))

    found = take(partition, (0, 4), (5, 9), max_records=10, is_exact=True, limits=limits)

    assert found == [(2, 4, 2)]


def test_with_two_deliveries_the_last_one_is_no_smaller() -> None:
    partition, limits = stored(), Limits(deliveries=2)
    take(partition, (0, 4), limits=limits)
    store(partition, say(partition, 0, 0, RELEASE, limits=limits))
    store(partition, say(partition, 1, 1, ACCEPT, limits=limits))
    store(partition, say(partition, 2, 4, RELEASE))

    assert take(partition, (0, 4), limits=limits) == [(0, 0, 2), (2, 4, 2)]
