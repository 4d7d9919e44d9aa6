from __future__ import annotations

import pytest

from pyk.clients.consumer.positions.progress import HELD_SECONDS, STALL_SECONDS, Progress

LATE = STALL_SECONDS + 1


def test_a_partition_without_a_response_is_overdue_after_ten_seconds() -> None:
    progress = Progress(now=0.0)

    assert not progress.is_overdue(STALL_SECONDS, is_behind=False)
    assert progress.is_overdue(LATE, is_behind=False)


@pytest.mark.parametrize("is_behind", [True, False])
def test_answers_without_records_are_overdue_only_if_the_leader_has_records(
    is_behind: bool,
) -> None:
    progress = Progress(now=0.0)
    progress.note_turns(1, answers=0, partition_count=1)
    progress.note_turns(1, answers=4, partition_count=1)
    progress.answered_at = LATE

    assert progress.is_overdue(LATE, is_behind=is_behind) == is_behind


def test_a_partition_that_stalled_is_given_as_much_time_as_before() -> None:
    progress = Progress(now=0.0)

    progress.stalled(LATE)

    assert progress.stalls == 1
    assert not progress.is_overdue(LATE + STALL_SECONDS, is_behind=True)


def test_new_records_end_a_series_of_stalls() -> None:
    progress = Progress(now=0.0)
    progress.stalled(LATE)

    progress.made(LATE + 1)

    assert progress.stalls == 0


def test_an_application_may_hold_up_a_rebalance_for_thirty_seconds() -> None:
    progress = Progress(now=0.0)
    assert not progress.is_held_for_long(2 * HELD_SECONDS)

    progress.held_since = 0.0

    assert not progress.is_held_for_long(HELD_SECONDS)
    assert progress.is_held_for_long(HELD_SECONDS + 1)


def test_an_application_may_hold_up_a_late_rebalance_just_as_long() -> None:
    progress = Progress(now=0.0)

    progress.held_since = HELD_SECONDS / 2

    assert not progress.is_held_for_long(HELD_SECONDS + 1)


def test_a_partition_has_missed_its_turn_after_three_rounds_of_all_partitions_of_its_node() -> None:
    progress = Progress(now=0.0)
    progress.note_turns(1, answers=10, partition_count=2)
    progress.answered_at = LATE

    progress.note_turns(1, answers=16, partition_count=2)
    assert not progress.is_overdue(LATE, is_behind=True)

    progress.note_turns(1, answers=17, partition_count=2)
    assert progress.is_overdue(LATE, is_behind=True)


def behind(now: float) -> Progress:
    """Return the progress of a partition that has missed its turns, and is answered."""
    progress = Progress(now)
    progress.note_turns(1, answers=0, partition_count=1)
    progress.note_turns(1, answers=4, partition_count=1)
    progress.answered_at = now + 10 * LATE
    return progress


def test_a_partition_that_missed_its_turns_has_ten_seconds_since_its_last_records() -> None:
    progress = behind(5.0)

    assert not progress.is_overdue(5.0 + STALL_SECONDS, is_behind=True)
    assert progress.is_overdue(5.0 + LATE, is_behind=True)


def test_new_records_begin_the_time_and_the_turns_again() -> None:
    progress = behind(0.0)
    progress.made(5.0)
    assert not progress.is_overdue(5.0 + LATE, is_behind=True)

    progress.note_turns(1, answers=5, partition_count=1)
    progress.note_turns(1, answers=9, partition_count=1)

    assert not progress.is_overdue(5.0 + STALL_SECONDS, is_behind=True)
    assert progress.is_overdue(5.0 + LATE, is_behind=True)


def test_a_stall_begins_the_turns_again() -> None:
    progress = behind(0.0)

    progress.stalled(5.0)
    progress.answered_at = 10 * LATE

    assert not progress.is_overdue(5.0 + LATE, is_behind=True)
