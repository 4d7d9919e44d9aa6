from __future__ import annotations

import pytest

from pyk.reference_broker.share.acknowledgement import (
    Acknowledgement,
    Acknowledger,
    AcknowledgeType,
    acknowledge,
)
from pyk.reference_broker.share.acquisition import AcquireRequest, acquire
from pyk.reference_broker.share.delivery import Delivery, RecordState
from pyk.reference_broker.share.in_flight import InFlightBatch, InFlightBatches
from pyk.reference_broker.share.share_partition import Limits, SharePartition, StoredState

AVAILABLE, ACQUIRED = RecordState.AVAILABLE, RecordState.ACQUIRED
ACKNOWLEDGED, ARCHIVED = RecordState.ACKNOWLEDGED, RecordState.ARCHIVED


def batch(*cuts: int, last: int = 19) -> InFlightBatch:
    """Return a split batch of the offsets from 10 to 19, with parts that begin at ``cuts``."""
    made = InFlightBatch(10, last, Delivery(AVAILABLE, 0))
    made.split()
    for cut in cuts:
        made.cut(cut, last)
    return made


def ranges(made: InFlightBatch) -> list[tuple[int, int]]:
    return [(first, last) for first, last, _ in made.parts()]


@pytest.mark.parametrize(
    ("first", "last", "cut", "all_parts"),
    [
        (10, 19, [(10, 14), (15, 19)], [(10, 14), (15, 19)]),
        (12, 13, [(12, 13)], [(10, 11), (12, 13), (14, 14), (15, 19)]),
        (15, 15, [(15, 15)], [(10, 14), (15, 15), (16, 19)]),
        (13, 16, [(13, 14), (15, 16)], [(10, 12), (13, 14), (15, 16), (17, 19)]),
        (0, 10, [(10, 10)], [(10, 10), (11, 14), (15, 19)]),
        (19, 30, [(19, 19)], [(10, 14), (15, 18), (19, 19)]),
        (0, 9, [], [(10, 14), (15, 19)]),
        (20, 30, [], [(10, 14), (15, 19)]),
        (14, 13, [], [(10, 14), (15, 19)]),
    ],
)
def test_parts_are_cut_at_both_ends(
    first: int, last: int, cut: list[tuple[int, int]], all_parts: list[tuple[int, int]]
) -> None:
    made = batch(15)

    assert [part[:2] for part in made.cut(first, last)] == cut
    assert ranges(made) == all_parts


def test_a_part_that_was_cut_off_has_a_state_of_its_own() -> None:
    made = batch()

    ((_, _, delivery),) = made.cut(12, 13)
    delivery.acquire("a", 1.0)

    states = [(first, last, part.state) for first, last, part in made.parts()]
    assert states == [(10, 11, AVAILABLE), (12, 13, ACQUIRED), (14, 19, AVAILABLE)]


@pytest.mark.parametrize(
    ("first", "last", "seen"),
    [
        (10, 19, [(10, 14), (15, 19)]),
        (12, 13, [(12, 13)]),
        (14, 15, [(14, 14), (15, 15)]),
        (0, 10, [(10, 10)]),
        (19, 30, [(19, 19)]),
        (0, 9, []),
        (20, 30, []),
    ],
)
def test_looking_at_parts_cuts_nothing(first: int, last: int, seen: list[tuple[int, int]]) -> None:
    made = batch(15)

    assert [part[:2] for part in made.parts(first, last)] == seen
    assert ranges(made) == [(10, 14), (15, 19)]


def test_a_batch_that_is_not_split_changes_as_a_whole() -> None:
    made = InFlightBatch(10, 19, Delivery(AVAILABLE, 0))

    assert [part[:2] for part in made.cut(12, 13)] == [(10, 19)]
    assert [part[:2] for part in made.parts(12, 13)] == [(10, 19)]


@pytest.mark.parametrize(
    ("first", "last", "joined"),
    [
        (10, 19, [(10, 19)]),
        (14, 15, [(10, 11), (12, 17), (18, 19)]),
        (12, 12, [(10, 15), (16, 17), (18, 19)]),
        (11, 11, [(10, 13), (14, 15), (16, 17), (18, 19)]),
    ],
)
def test_neighbours_with_the_same_state_are_joined(
    first: int, last: int, joined: list[tuple[int, int]]
) -> None:
    made = batch(12, 14, 16, 18)

    made.join(first, last)

    assert ranges(made) == joined


@pytest.mark.parametrize(
    "other",
    [
        Delivery(ARCHIVED, 1, "a", 5.0),
        Delivery(ACQUIRED, 2, "a", 5.0),
        Delivery(ACQUIRED, 1, "b", 5.0),
        Delivery(ACQUIRED, 1, "a", 6.0),
        Delivery(ACQUIRED, 1, "a", 5.0, "a"),
    ],
)
def test_a_difference_keeps_parts_apart(other: Delivery) -> None:
    one = Delivery(ACQUIRED, 1, "a", 5.0)

    assert one.is_same_as(one.copy())
    assert not one.is_same_as(other)
    assert not other.is_same_as(one)


def test_what_is_pending_is_not_joined_with_what_was_begun_by_another_request() -> None:
    one = Delivery(ACKNOWLEDGED, 1, "", 5.0, "a")

    assert not one.is_same_as(one.copy())


def test_what_is_done_before_the_start_offset_is_one_part() -> None:
    made = batch(12, 14, 16)
    for (_, _, delivery), state in zip(
        made.parts(), (ACKNOWLEDGED, ARCHIVED, ARCHIVED), strict=False
    ):
        delivery.state = state
    batches = InFlightBatches([InFlightBatch(5, 9, Delivery(ACKNOWLEDGED, 1)), made])

    batches.forget_before(15)

    assert ranges(made) == [(10, 13), (14, 15), (16, 19)]
    assert len(batches) == 1


def test_what_is_not_done_before_the_start_offset_is_kept() -> None:
    made = batch(12, 14, 16)
    made.parts()[0][2].state = ACKNOWLEDGED

    made.forget_before(16)

    assert ranges(made) == [(10, 11), (12, 13), (14, 15), (16, 19)]


def test_types_for_each_offset_are_taken_as_ranges() -> None:
    said = Acknowledgement(10, 15, (1, 1, 2, 3, 3, 3))

    assert list(said.ranges(10, 15)) == [(10, 11, 1), (12, 12, 2), (13, 15, 3)]
    assert list(said.ranges(11, 13)) == [(11, 11, 1), (12, 12, 2), (13, 13, 3)]
    assert list(Acknowledgement(10, 15, (2,)).ranges(11, 13)) == [(11, 13, 2)]


@pytest.mark.parametrize("kind", [AcknowledgeType.ACCEPT, AcknowledgeType.RENEW])
@pytest.mark.parametrize("step", [500, -500])
def test_a_large_batch_that_is_acknowledged_in_pieces_has_few_parts(
    kind: AcknowledgeType, step: int
) -> None:
    limits = Limits(records_in_flight=20_000)
    partition = SharePartition(StoredState(1, 0))
    request = AcquireRequest(
        member_id="a", fetch_offset=0, max_records=500, batch_size=500, locked_until=9.0
    )
    acquire(partition, request, [(0, 9_999)], limits)
    most = 0

    for first in range(0, 9_500, 500)[:: step // 500]:
        by = Acknowledger(member_id="a", now=1.0, limits=limits)
        said = Acknowledgement(first, first + 499, (kind,))
        changes = acknowledge(partition, by, [said])
        partition.settle(changes, is_stored=True, now=1.0, limits=limits)
        most = max(most, len(list(partition.batches.parts())))
        assert len(changes) == (kind is AcknowledgeType.ACCEPT)

    assert most <= 3


def test_parts_whose_locks_are_over_are_one_part_again() -> None:
    limits = Limits(lock_seconds=5.0)
    partition = SharePartition(StoredState(1, 0))
    request = AcquireRequest(
        member_id="a", fetch_offset=0, max_records=500, batch_size=500, locked_until=5.0
    )
    acquire(partition, request, [(0, 9)], limits)
    for now, offset in ((1.0, 3), (2.0, 6)):
        by = Acknowledger(member_id="a", now=now, limits=limits)
        acknowledge(partition, by, [Acknowledgement(offset, offset, (AcknowledgeType.RENEW,))])
    assert len(list(partition.batches.parts())) == 5

    partition.expire(9.0, limits)

    assert len(list(partition.batches.parts())) == 1
