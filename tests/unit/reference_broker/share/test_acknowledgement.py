"""What members say of the records of a share partition, and how long they hold them."""

from __future__ import annotations

import pytest

from pyk.protocol.errors import ErrorCode
from pyk.reference_broker.coordinator.share.state_batches import StateBatch
from pyk.reference_broker.errors import ApiError
from pyk.reference_broker.share.acknowledgement import (
    Acknowledgement,
    Acknowledger,
    AcknowledgeType,
    acknowledge,
)
from pyk.reference_broker.share.delivery import RecordState
from pyk.reference_broker.share.share_partition import (
    Limits,
)
from support.share_partition import (
    ACCEPT,
    ACKNOWLEDGED,
    ACQUIRED,
    ARCHIVED,
    AVAILABLE,
    GAP,
    LOCK,
    REJECT,
    RELEASE,
    RENEW,
    say,
    states,
    store,
    stored,
    take,
)

# -- acknowledging ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "state"),
    [(ACCEPT, ACKNOWLEDGED), (RELEASE, AVAILABLE), (REJECT, ARCHIVED), (GAP, ARCHIVED)],
)
def test_what_is_said_of_a_batch_is_stored(kind: AcknowledgeType, state: RecordState) -> None:
    partition = stored()
    take(partition, (0, 9))

    assert say(partition, 0, 9, kind) == [StateBatch(0, 9, 1, state)]


def test_nothing_counts_before_it_is_stored() -> None:
    partition = stored()
    take(partition, (0, 9))
    changes = say(partition, 0, 9, RELEASE)

    assert take(partition, (0, 9), member="b") == []
    assert partition.start_offset == 0
    store(partition, changes)
    assert take(partition, (0, 9), member="b") == [(0, 9, 2)]


def test_what_could_not_be_stored_is_acquired_as_before() -> None:
    partition = stored()
    take(partition, (0, 9))
    store(partition, say(partition, 0, 4, ACCEPT), is_stored=False)

    store(partition, say(partition, 0, 9, ACCEPT))

    assert partition.start_offset == 10


def test_what_could_not_be_stored_is_free_if_its_lock_is_over() -> None:
    partition = stored()
    take(partition, (0, 9))
    changes = say(partition, 0, 9, ACCEPT)

    partition.settle(changes, is_stored=False, now=LOCK, limits=Limits())

    assert take(partition, (0, 9), member="b") == [(0, 9, 2)]


def test_a_type_for_each_record_splits_the_batch() -> None:
    partition = stored()
    take(partition, (0, 2))

    store(partition, say(partition, 0, 2, ACCEPT, RELEASE, REJECT))

    assert partition.start_offset == 1
    assert states(partition)[1:] == [(1, 1, AVAILABLE, 1), (2, 2, ARCHIVED, 1)]


def test_the_start_offset_moves_past_what_is_done_in_any_order() -> None:
    partition = stored()
    take(partition, (0, 4))
    take(partition, (5, 9))

    store(partition, say(partition, 5, 9, ACCEPT))
    assert partition.start_offset == 0
    store(partition, say(partition, 0, 4, REJECT))
    assert (partition.start_offset, partition.end_offset) == (10, 10)
    assert len(partition.batches) == 0


def test_acknowledging_again_what_is_below_the_start_offset_changes_nothing() -> None:
    partition = stored()
    take(partition, (0, 9))
    store(partition, say(partition, 0, 9, ACCEPT))

    assert say(partition, 0, 9, ACCEPT) == []


@pytest.mark.parametrize(
    ("first", "last", "member", "code"),
    [
        (0, 4, "b", ErrorCode.INVALID_RECORD_STATE),
        (2, 3, "b", ErrorCode.INVALID_RECORD_STATE),
        (0, 10, "a", ErrorCode.INVALID_REQUEST),
        (10, 12, "a", ErrorCode.INVALID_REQUEST),
    ],
)
def test_records_that_a_member_does_not_hold_are_refused(
    first: int, last: int, member: str, code: ErrorCode
) -> None:
    partition = stored()
    take(partition, (0, 4))
    take(partition, (5, 9))

    with pytest.raises(ApiError) as refused:
        say(partition, first, last, ACCEPT, member=member)

    assert refused.value.code == code
    assert states(partition) == [(0, 4, ACQUIRED, 1), (5, 9, ACQUIRED, 1)]


def test_offsets_before_all_batches_are_refused() -> None:
    partition = stored((10, 19, AVAILABLE, 1), start=5)

    with pytest.raises(ApiError) as refused:
        say(partition, 6, 7, ACCEPT)

    assert refused.value.code == ErrorCode.INVALID_RECORD_STATE


def test_a_record_is_acknowledged_once_at_a_time() -> None:
    partition = stored()
    take(partition, (0, 9))
    say(partition, 0, 9, ACCEPT)

    with pytest.raises(ApiError):
        say(partition, 0, 9, REJECT)


def test_a_record_of_a_split_batch_has_an_owner_of_its_own() -> None:
    partition = stored()
    take(partition, (0, 2), max_records=1, is_exact=True)
    take(partition, (0, 2), member="b")

    with pytest.raises(ApiError) as refused:
        say(partition, 0, 1, ACCEPT)

    assert refused.value.message == "Member is not the owner of offset"
    assert states(partition) == [(0, 0, ACQUIRED, 1), (1, 2, ACQUIRED, 1)]


def test_all_of_a_request_counts_or_nothing() -> None:
    partition = stored()
    take(partition, (0, 4))
    take(partition, (5, 9), member="b")
    by = Acknowledger(member_id="a", now=0.0, limits=Limits())

    with pytest.raises(ApiError):
        acknowledge(
            partition, by, [Acknowledgement(0, 4, (ACCEPT,)), Acknowledgement(5, 9, (ACCEPT,))]
        )

    assert states(partition) == [(0, 4, ACQUIRED, 1), (5, 9, ACQUIRED, 1)]


# -- locks, sessions and limits --------------------------------------------------------------------


def test_a_record_can_be_accepted_on_its_last_delivery() -> None:
    partition, limits = stored(), Limits(deliveries=1)
    take(partition, (0, 9), limits=limits)

    changes = say(partition, 0, 9, ACCEPT, limits=limits)

    assert changes == [StateBatch(0, 9, 1, ACKNOWLEDGED)]


def test_a_record_is_free_when_its_lock_is_over() -> None:
    partition = stored()
    take(partition, (0, 9))

    assert partition.next_expiry(0.0) == LOCK
    assert partition.expire(LOCK - 1, Limits()) == []
    assert partition.expire(LOCK, Limits()) == [StateBatch(0, 9, 1, AVAILABLE)]
    assert take(partition, (0, 9), member="b") == [(0, 9, 2)]


def test_a_renewed_lock_ends_later() -> None:
    partition = stored()
    take(partition, (0, 9))

    assert say(partition, 0, 4, RENEW, now=20.0) == []

    assert partition.expire(LOCK, Limits()) == [StateBatch(5, 9, 1, AVAILABLE)]
    assert partition.next_expiry(0.0) == 20.0 + LOCK


def test_a_group_may_forbid_to_renew() -> None:
    partition = stored()
    take(partition, (0, 9))

    with pytest.raises(ApiError) as refused:
        say(partition, 0, 9, RENEW, limits=Limits(may_renew=False))

    assert refused.value.code == ErrorCode.INVALID_RECORD_STATE


@pytest.mark.parametrize("kind", [RELEASE, None])
def test_a_record_is_archived_instead_of_delivered_once_more_than_the_limit(
    kind: AcknowledgeType | None,
) -> None:
    partition, limits = stored((0, 0, AVAILABLE, 4)), Limits(deliveries=5)
    take(partition, (0, 0), limits=limits)

    if kind is None:
        partition.expire(LOCK, limits)
        partition.advance()
    else:
        store(partition, say(partition, 0, 0, kind, limits=limits))

    assert partition.start_offset == 1


def test_a_session_that_ends_releases_records() -> None:
    partition = stored()
    take(partition, (0, 4))
    take(partition, (5, 9), member="b")

    store(partition, partition.release("a", Limits()))

    assert states(partition) == [(0, 4, AVAILABLE, 1), (5, 9, ACQUIRED, 1)]


def test_a_session_releases_also_what_lies_behind_records_of_others() -> None:
    partition = stored()
    take(partition, (0, 2), max_records=1, is_exact=True, member="b")
    take(partition, (0, 2))

    released = partition.release("a", Limits())

    assert [(change.first_offset, change.last_offset) for change in released] == [(1, 2)]


# -- the bounds of ranges --------------------------------------------------------------------------


def test_what_is_said_from_before_the_start_offset_counts_from_there_on() -> None:
    partition = stored(start=10)
    take(partition, (10, 19))

    assert say(partition, 5, 12, ACCEPT) == [StateBatch(10, 12, 1, ACKNOWLEDGED)]


def test_what_is_said_of_forgotten_records_too_counts_for_the_others() -> None:
    partition = stored()
    take(partition, (0, 9))
    take(partition, (10, 19))
    store(partition, say(partition, 0, 9, ACCEPT))

    assert say(partition, 0, 12, ACCEPT) == [StateBatch(10, 12, 1, ACKNOWLEDGED)]


@pytest.mark.parametrize("kind", [ACCEPT, RELEASE, REJECT])
@pytest.mark.parametrize(
    ("first", "last", "message"),
    [
        (10, 19, "The batch cannot be acknowledged. The batch is not in the acquired state."),
        (13, 15, "The offset cannot be acknowledged. The offset is not acquired."),
    ],
)
def test_a_refusal_says_whether_a_batch_or_an_offset_is_not_acquired(
    kind: AcknowledgeType, first: int, last: int, message: str
) -> None:
    partition = stored()
    take(partition, (0, 9), (10, 19), batch_size=1)
    store(partition, say(partition, first, last, kind))

    with pytest.raises(ApiError) as refusal:
        say(partition, last, last, ACCEPT)

    assert refusal.value.message == message


@pytest.mark.parametrize(
    ("first", "last", "message"),
    [
        (20, 22, "Batch record not found. The first offset in request is past acquired records."),
        (15, 20, "Batch record not found. The last offset in request is past acquired records."),
    ],
)
def test_a_refusal_says_which_end_is_past_what_was_acquired(
    first: int, last: int, message: str
) -> None:
    partition = stored()
    take(partition, (0, 19))

    with pytest.raises(ApiError) as refusal:
        say(partition, first, last, ACCEPT)

    assert refusal.value.message == message


@pytest.mark.parametrize("said", [(0, 3), (1, 1), (2, 5), (0, 9)])
@pytest.mark.parametrize("has_type_for_each", [False, True])
def test_an_acknowledgement_that_is_refused_leaves_records_as_they_were(
    said: tuple[int, int], has_type_for_each: bool
) -> None:
    partition = stored()
    take(partition, (0, 9))
    store(partition, say(partition, 0, 5, RELEASE))
    before = states(partition)
    first, last = said
    types = (ACCEPT, REJECT) * 5 if has_type_for_each else (ACCEPT,)

    with pytest.raises(ApiError):
        say(partition, first, last, *types[: last - first + 1])

    assert states(partition) == before == [(0, 5, AVAILABLE, 1), (6, 9, ACQUIRED, 1)]
    assert take(partition, (0, 9), member="b") == [(0, 5, 2)]
