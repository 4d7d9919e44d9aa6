"""The state of a record in a share group: what each move leaves behind."""

from __future__ import annotations

import pytest

from pyk.reference_broker.share.acquisition import AcquireRequest, acquire
from pyk.reference_broker.share.delivery import NO_MEMBER, Delivery, RecordState
from pyk.reference_broker.share.share_partition import Limits, SharePartition, StoredState

LIMIT = 5


def acquired(count: int = 0) -> Delivery:
    delivery = Delivery(RecordState.AVAILABLE, count)
    delivery.acquire("a", 30.0)
    return delivery


@pytest.mark.parametrize(
    ("count", "state"), [(0, RecordState.AVAILABLE), (LIMIT - 1, RecordState.ARCHIVED)]
)
def test_a_lock_that_is_over_leaves_neither_owner_nor_deadline(
    count: int, state: RecordState
) -> None:
    delivery = acquired(count)

    delivery.expire(LIMIT)

    assert (delivery.state, delivery.member_id, delivery.locked_until) == (state, NO_MEMBER, None)


def test_a_release_that_is_stored_leaves_neither_owner_nor_deadline() -> None:
    delivery = acquired()

    delivery.begin(RecordState.AVAILABLE, LIMIT)
    assert (delivery.member_id, delivery.acquired_by, delivery.locked_until) == (
        NO_MEMBER,
        "a",
        30.0,
    )
    delivery.settle(is_stored=True, now=1.0, limit=LIMIT)

    assert (delivery.acquired_by, delivery.locked_until) == (None, None)
    assert delivery.can_be_acquired


def test_a_copy_changes_independently_and_is_the_same_otherwise() -> None:
    delivery = acquired(2)
    delivery.begin(RecordState.ACKNOWLEDGED, LIMIT)

    copy = delivery.copy()
    delivery.settle(is_stored=False, now=1.0, limit=LIMIT)

    assert (copy.state, copy.count, copy.member_id, copy.locked_until, copy.acquired_by) == (
        RecordState.ACKNOWLEDGED,
        3,
        NO_MEMBER,
        30.0,
        "a",
    )
    assert delivery.state is RecordState.ACQUIRED


def test_what_nobody_was_told_of_is_no_delivery() -> None:
    delivery = acquired(2)

    delivery.give_back()

    assert (delivery.state, delivery.count) == (RecordState.AVAILABLE, 2)
    assert (delivery.member_id, delivery.locked_until) == (NO_MEMBER, None)


def test_moves_that_are_not_legal_are_bugs() -> None:
    delivery = acquired()

    with pytest.raises(AssertionError, match="cannot become ACQUIRED"):
        delivery.acquire("b", 60.0)
    delivery.begin(RecordState.ACKNOWLEDGED, LIMIT)
    with pytest.raises(AssertionError, match="cannot become AVAILABLE"):
        delivery.expire(LIMIT)


def test_a_partition_takes_back_what_a_member_was_not_told_of() -> None:
    partition = SharePartition(StoredState(1, 0, ()))
    request = AcquireRequest(
        member_id="a", fetch_offset=0, max_records=5, batch_size=5, locked_until=30.0
    )
    acquire(partition, request, [(0, 4)], Limits())
    assert partition.next_fetch_offset() == 5

    partition.give_back("b", [(0, 4)])
    assert partition.next_fetch_offset() == 5
    partition.give_back("a", [(0, 4)])

    assert partition.next_fetch_offset() == 0
    (again,) = acquire(partition, request, [(0, 4)], Limits())
    assert (again.first_offset, again.last_offset, again.delivery_count) == (0, 4, 1)
