from __future__ import annotations

import pytest

from pyk.clients.share.acquired_records import Part, disjoint
from pyk.protocol.records import CorruptRecordError
from pyk.protocol.records.record import owner_of
from support.acquired import LOCKED_UNTIL, acquired_records, parts_of
from support.record_batches import control_batch, raw_batch, record, sealed

TEN = sealed(*[b"%d" % n for n in range(10)])


def offsets(part: Part) -> list[int]:
    return [one.offset for one in part.span]


def told(parts: list[Part]) -> list[tuple[list[int], int, int]]:
    return [(offsets(part), part.first, part.last) for part in parts]


def test_only_acquired_records_are_handed_out_each_with_its_count() -> None:
    acquired = acquired_records(TEN, [(2, 4, 1), (7, 7, 3)])

    parts = parts_of(acquired)

    assert told(parts) == [([2, 3, 4], 2, 4), ([7], 7, 7)]
    assert [one.delivery_count for part in parts for one in part.span] == [1, 1, 1, 3]
    assert {owner_of(one) for part in parts for one in part.span} == {acquired}
    assert (acquired.take_gaps(), acquired.take_unread()) == ([], [])


def test_a_range_may_have_several_batches() -> None:
    data = sealed(b"a", b"b") + sealed(b"c", base_offset=2) + sealed(b"d", base_offset=3)

    parts = parts_of(acquired_records(data, [(0, 3, 1)]))

    assert told(parts) == [([0, 1], 0, 1), ([2], 2, 2), ([3], 3, 3)]


def test_a_limit_splits_a_part() -> None:
    parts = parts_of(acquired_records(TEN, [(0, 9, 1)]), max_records=4)

    assert told(parts) == [
        ([0, 1, 2, 3], 0, 3),
        ([4, 5, 6, 7], 4, 7),
        ([8, 9], 8, 9),
    ]


def test_a_part_stands_for_the_offsets_that_compaction_left_around_its_records() -> None:
    sparse = raw_batch(record(2) + record(5), 2, last_offset_delta=9)

    parts = parts_of(acquired_records(sparse, [(0, 9, 1)]))

    assert told(parts) == [([2, 5], 0, 9)]
    assert told(parts_of(acquired_records(sparse, [(0, 9, 1)]), max_records=1)) == [
        ([2], 0, 2),
        ([5], 3, 9),
    ]


def test_control_batches_and_ranges_without_a_record_are_gaps() -> None:
    sparse = raw_batch(record(0) + record(9), 2, last_offset_delta=9, base_offset=2)
    data = sealed(b"a") + control_batch(1, base_offset=1) + sparse
    acquired = acquired_records(data, [(0, 0, 1), (1, 1, 1), (4, 6, 2), (11, 11, 1)])

    parts = parts_of(acquired)

    assert told(parts) == [([0], 0, 0), ([11], 11, 11)]
    assert acquired.take_gaps() == [(1, 1), (4, 6)]
    assert acquired.take_gaps() == []


def test_records_after_a_control_batch_of_the_same_range_are_handed_out() -> None:
    data = sealed(b"a") + control_batch(1, base_offset=1) + sealed(b"b", b"c", base_offset=2)

    acquired = acquired_records(data, [(0, 3, 1)])

    assert told(parts_of(acquired)) == [([0], 0, 0), ([2, 3], 1, 3)]
    assert (acquired.take_gaps(), acquired.take_unread()) == ([], [])


def test_a_batch_whose_rest_was_not_acquired_hides_nothing_of_the_next_one() -> None:
    data = sealed(b"a", b"b", b"c") + sealed(b"d", base_offset=3)

    acquired = acquired_records(data, [(0, 0, 1), (3, 3, 1)])

    assert told(parts_of(acquired)) == [([0], 0, 0), ([3], 3, 3)]
    assert (acquired.take_gaps(), acquired.take_unread()) == ([], [])


@pytest.mark.parametrize(
    ("last_range", "gaps", "unread"),
    [
        ((5, 8), [(5, 8)], []),
        ((5, 9), [(5, 9)], []),
        ((5, 10), [(5, 9)], [(10, 10)]),
        ((5, 12), [(5, 9)], [(10, 12)]),
        ((9, 12), [(9, 9)], [(10, 12)]),
        ((10, 12), [], [(10, 12)]),
        ((11, 12), [], [(11, 12)]),
    ],
)
def test_the_end_of_the_last_batch_divides_gaps_from_what_was_not_read(
    last_range: tuple[int, int], gaps: list[tuple[int, int]], unread: list[tuple[int, int]]
) -> None:
    sparse = raw_batch(record(0), 1, last_offset_delta=9)
    acquired = acquired_records(sparse, [(0, 0, 1), (*last_range, 1)])

    assert told(parts_of(acquired)) == [([0], 0, 0)]
    assert (acquired.take_gaps(), acquired.take_unread()) == (gaps, unread)


def test_offsets_after_the_last_batch_are_not_taken_for_gaps() -> None:
    acquired = acquired_records(sealed(b"a", b"b"), [(0, 9, 1)])

    assert told(parts_of(acquired)) == [([0, 1], 0, 1)]
    assert (acquired.take_gaps(), acquired.take_unread()) == ([], [(2, 9)])


def test_nothing_is_handed_out_after_its_lock() -> None:
    acquired = acquired_records(TEN, [(0, 4, 1), (6, 6, 1)])
    assert acquired.next_part(2, LOCKED_UNTIL - 1) is not None

    assert acquired.next_part(2, LOCKED_UNTIL) is None
    assert acquired.expired == [(2, 4), (6, 6)]


def test_a_part_that_comes_back_is_handed_out_next() -> None:
    acquired = acquired_records(TEN, [(0, 9, 1)])
    first = acquired.next_part(3, 0.0)
    assert first is not None
    acquired.give_back(first.after(1, 0))

    assert told(parts_of(acquired)) == [([1, 2], 1, 2), ([3, 4, 5, 6, 7, 8, 9], 3, 9)]


def test_what_is_left_is_given_up_at_once() -> None:
    acquired = acquired_records(TEN, [(0, 4, 1), (6, 9, 1)])
    acquired.next_part(2, 0.0)

    assert sorted(acquired.give_up()) == [(2, 4), (6, 9)]
    assert parts_of(acquired) == []
    assert not acquired.has_more


def test_renewed_records_are_handed_out_again_each_once() -> None:
    acquired = acquired_records(TEN, [(0, 9, 1)])
    for part in parts_of(acquired, max_records=4):
        acquired.keep(part)
    acquired.renewed += [(2, 5, 60.0), (9, 9, 60.0)]

    again = parts_of(acquired, now=LOCKED_UNTIL + 1)

    assert told(again) == [([2, 3], 2, 3), ([4, 5], 4, 5), ([9], 9, 9)]
    for part in again:
        acquired.keep(part)
    acquired.renewed.append((3, 3, 60.0))
    assert told(parts_of(acquired)) == [([3], 3, 3)]
    assert (acquired.has_record(3), acquired.has_record(10)) == (True, False)


def test_kept_records_can_be_renewed_until_all_of_them_are_finished() -> None:
    acquired = acquired_records(TEN, [(0, 9, 1)])
    for part in parts_of(acquired):
        acquired.keep(part)

    acquired.finish(0, 8)
    assert acquired.has_record(9)
    acquired.finish(9, 9)
    assert not acquired.has_record(9)


def test_what_was_renewed_meanwhile_is_more_to_hand_out() -> None:
    acquired = acquired_records(TEN, [(0, 9, 1)])
    parts_of(acquired)
    assert not acquired.has_more

    acquired.renewed.append((2, 5, 60.0))

    assert acquired.has_more


def test_renewed_records_that_are_not_handed_out_again_are_given_up() -> None:
    acquired = acquired_records(TEN, [(0, 9, 1)])
    for part in parts_of(acquired):
        acquired.keep(part)
    acquired.renewed += [(2, 5, 60.0)]

    assert acquired.give_up() == [(2, 5)]
    assert not acquired.has_more


def test_a_batch_that_cannot_be_read_raises_each_time() -> None:
    broken = bytearray(sealed(b"b", base_offset=1))
    broken[-1] ^= 1
    acquired = acquired_records(sealed(b"a") + bytes(broken), [(0, 1, 1)])
    assert acquired.next_part(10, 0.0) is not None

    for _ in range(2):
        with pytest.raises(CorruptRecordError):
            acquired.next_part(10, 0.0)
    assert acquired.give_up() == [(1, 1)]


def test_ranges_of_a_response_that_overlap_are_told_apart() -> None:
    assert disjoint([(5, 9, 1), (0, 6, 2), (3, 4, 1), (8, 7, 1), (-3, -1, 1)]) == [
        (0, 6, 2),
        (7, 9, 1),
    ]
