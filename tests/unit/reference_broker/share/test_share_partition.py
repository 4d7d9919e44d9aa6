"""The records of one partition of a share group: table of cases."""

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
from pyk.reference_broker.share.acquisition import AcquireRequest, Extent, acquire
from pyk.reference_broker.share.delivery import RecordState
from pyk.reference_broker.share.share_partition import (
    Limits,
    SharePartition,
    StoredState,
)

ACCEPT, RELEASE, REJECT = AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE, AcknowledgeType.REJECT
GAP, RENEW = AcknowledgeType.GAP, AcknowledgeType.RENEW
AVAILABLE, ACQUIRED = RecordState.AVAILABLE, RecordState.ACQUIRED
ACKNOWLEDGED, ARCHIVED = RecordState.ACKNOWLEDGED, RecordState.ARCHIVED
LOCK = 30.0
DEFAULTS = Limits()


def stored(*batches: tuple[int, int, RecordState, int], start: int = 0) -> SharePartition:
    stored_batches = [
        StateBatch(first, last, count, state) for first, last, state, count in batches
    ]
    return SharePartition(StoredState(0, start, tuple(stored_batches)))


def take(
    partition: SharePartition,
    *extents: Extent,
    member: str = "a",
    now: float = 0.0,
    max_records: int = 500,
    batch_size: int = 500,
    is_exact: bool = False,
    limits: Limits = DEFAULTS,
) -> list[tuple[int, int, int]]:
    offset = partition.next_fetch_offset()
    extents = tuple(extent for extent in extents if extent[1] >= offset)
    request = AcquireRequest(
        member_id=member,
        fetch_offset=offset,
        max_records=max_records,
        batch_size=batch_size,
        is_exact=is_exact,
        locked_until=now + limits.lock_seconds,
    )
    found = acquire(partition, request, extents, limits)
    return [(each.first_offset, each.last_offset, each.delivery_count) for each in found]


def say(
    partition: SharePartition,
    first: int,
    last: int,
    *types: int,
    member: str = "a",
    now: float = 0.0,
    limits: Limits = DEFAULTS,
) -> list[StateBatch]:
    by = Acknowledger(member_id=member, now=now, limits=limits)
    return acknowledge(partition, by, [Acknowledgement(first, last, types)])


def store(partition: SharePartition, changes: list[StateBatch], *, is_stored: bool = True) -> None:
    partition.settle(changes, is_stored=is_stored, now=0.0, limits=Limits())


def states(partition: SharePartition) -> list[tuple[int, int, RecordState, int]]:
    return [
        (first, last, delivery.state, delivery.count)
        for first, last, delivery in partition.batches.parts()
    ]


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


def test_records_below_the_start_offset_are_not_acquired_again() -> None:
    assert take(stored(start=5), (0, 9)) == [(5, 9, 1)]


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
    assert states(partition) == [(offset, offset, ACQUIRED, 1) for offset in range(3)]


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


def test_a_record_is_free_when_its_lock_is_over() -> None:
    partition = stored()
    take(partition, (0, 9))

    assert partition.next_expiry() == LOCK
    assert partition.expire(LOCK - 1, Limits()) == []
    assert partition.expire(LOCK, Limits()) == [StateBatch(0, 9, 1, AVAILABLE)]
    assert take(partition, (0, 9), member="b") == [(0, 9, 2)]


def test_a_renewed_lock_ends_later() -> None:
    partition = stored()
    take(partition, (0, 9))

    assert say(partition, 0, 4, RENEW, now=20.0) == []

    assert partition.expire(LOCK, Limits()) == [StateBatch(5, 9, 1, AVAILABLE)]
    assert partition.next_expiry() == 20.0 + LOCK


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


# -- the log ---------------------------------------------------------------------------------------


def test_records_that_the_log_has_deleted_are_forgotten() -> None:
    partition = stored()
    take(partition, (0, 9))

    partition.log_starts_at(5)

    assert partition.start_offset == 5
    assert say(partition, 0, 4, ACCEPT) == []
    store(partition, say(partition, 0, 9, ACCEPT))
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
