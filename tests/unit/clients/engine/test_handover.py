"""Which thread drives the loop of a blocking client, as tables of events and what follows."""

from __future__ import annotations

import pytest

from pyk.clients.engine.handover import Driver, Handover

GRACE = 0.004
MOST_NAPS = 8
NEVER = float("inf")


def handover(driver: Driver = Driver.NOBODY, left_at: float | None = None) -> Handover:
    made = Handover(GRACE)
    if left_at is not None:
        made.caller_comes()
        made.caller_leaves(left_at)
    made.driver = driver
    return made


@pytest.mark.parametrize(
    ("driver", "may_drive"),
    [(Driver.NOBODY, True), (Driver.BACKGROUND, True), (Driver.CALLER, False)],
)
def test_a_caller_drives_unless_another_one_does(driver: Driver, may_drive: bool) -> None:
    state = handover(driver)

    assert state.caller_comes() is may_drive
    assert state.driver is Driver.CALLER


def test_no_thread_begins_to_drive_a_loop_that_ends() -> None:
    state = handover()
    state.end()

    assert not state.caller_comes()


def test_a_caller_that_leaves_wakes_no_thread() -> None:
    state = handover(Driver.CALLER)

    assert not state.caller_leaves(10)
    assert state.driver is Driver.NOBODY


@pytest.mark.parametrize(
    ("driver", "left_at", "now", "nap"),
    [
        (Driver.NOBODY, None, 10, 0.0),
        (Driver.NOBODY, 10, 10.001, 0.003),
        (Driver.NOBODY, 10, 10.005, 0.0),
        (Driver.CALLER, None, 10, GRACE),
    ],
)
def test_the_background_thread_leaves_a_loop_alone_for_a_while_after_a_caller(
    driver: Driver, left_at: float | None, now: float, nap: float
) -> None:
    state = handover(driver, left_at)

    assert state.background_looks(now, NEVER) == pytest.approx(nap)
    assert (state.driver is Driver.BACKGROUND) is (nap == 0)


def test_the_background_thread_takes_over_when_the_grace_has_just_ended() -> None:
    state = Handover(grace=0.25)
    state.caller_comes()
    state.caller_leaves(10)

    assert state.background_looks(10.25, NEVER) == 0
    assert state.driver is Driver.BACKGROUND


def test_no_grace_is_kept_when_the_loop_is_to_end() -> None:
    state = handover()
    state.caller_comes()
    state.end()

    assert state.caller_leaves(10), "the background thread may be asleep"
    assert state.background_looks(10.001, NEVER) == 0


def come_and_go(state: Handover, times: int, now: float) -> None:
    for _ in range(times):
        assert state.caller_comes()
        assert not state.caller_leaves(now)


def test_callers_that_come_and_go_need_not_wake_the_background_thread() -> None:
    state = handover()
    for now in range(10):
        state.caller_comes()
        assert state.background_looks(now, NEVER) >= GRACE
        assert not state.caller_leaves(now)


@pytest.mark.parametrize("times", [4, 5])
def test_a_nap_in_which_a_caller_came_is_followed_by_another_one(times: int) -> None:
    state = handover()
    come_and_go(state, 1, now=9.999)
    assert state.background_looks(10, NEVER) == pytest.approx(0.003)

    come_and_go(state, times, now=10.002)
    assert state.naps_again(10.003)
    assert not state.naps_again(10.007), "nobody came in the second one"
    assert state.background_looks(10.007, NEVER) == 0
    assert state.driver is Driver.BACKGROUND


def test_the_short_rest_of_a_grace_is_followed_by_a_whole_nap() -> None:
    state = handover(left_at=9.9961)
    assert state.background_looks(10, NEVER) == pytest.approx(0.0001)
    first_ends_at = state.nap_ends_at

    come_and_go(state, 1, now=10.00005)
    assert state.naps_again(10.0001)

    assert first_ends_at == pytest.approx(10.0001 + GRACE)
    assert state.nap_ends_at == pytest.approx(10.0001 + 2 * GRACE)


def naps_beside_caller(state: Handover) -> int:
    return sum(state.naps_again(0) for _ in range(100))


def test_each_caller_that_waits_for_an_answer_is_left_alone_for_some_naps() -> None:
    state = handover()
    for now in range(3):
        state.caller_comes()
        state.background_looks(now, NEVER)

        assert naps_beside_caller(state) == MOST_NAPS
        assert not state.caller_leaves(now), "it does not have to tell"


def test_a_caller_that_comes_during_the_naps_is_left_alone_as_long_as_any() -> None:
    state = handover()
    state.caller_comes()
    state.background_looks(0, NEVER)
    naps_beside_caller(state)

    state.caller_leaves(0)
    state.caller_comes()

    assert naps_beside_caller(state) == 1 + MOST_NAPS


def test_no_nap_is_added_that_would_end_after_the_next_timer() -> None:
    state = handover()
    come_and_go(state, 1, now=10)
    nap = state.background_looks(10, next_timer=10.007)

    come_and_go(state, 1, now=10.003)

    assert nap == pytest.approx(GRACE)
    assert not state.naps_again(10.004)


@pytest.mark.parametrize(
    ("next_timer", "looks_at"), [(NEVER, 10.008), (10.005, 10.005), (10.001, 10.004)]
)
def test_a_nap_ends_at_the_next_timer_or_look(next_timer: float, looks_at: float) -> None:
    state = handover()
    come_and_go(state, 1, now=10)

    state.background_looks(10, next_timer)

    assert state.nap_ends_at == pytest.approx(looks_at)


def test_a_caller_that_stays_has_to_tell_when_it_leaves() -> None:
    state = handover()
    state.caller_comes()
    assert state.background_looks(0, NEVER) == GRACE

    assert state.background_looks(GRACE, NEVER) is None
    assert state.nap_ends_at == NEVER
    assert state.caller_leaves(60)

    state.caller_comes()
    assert not state.caller_leaves(61)


def test_work_that_is_left_while_no_thread_drives_ends_the_grace() -> None:
    state = handover(left_at=10)

    assert state.is_needed()

    assert state.background_looks(10.001, NEVER) == 0
    assert state.driver is Driver.BACKGROUND
    assert state.background_looks(10.002, NEVER) == 0, "it drives until a caller comes"

    come_and_go(state, 1, now=20)
    assert state.background_looks(20.001, NEVER) > 0, "no work was left this time"


@pytest.mark.parametrize("driver", [Driver.BACKGROUND, Driver.CALLER])
def test_work_that_a_driver_finds_wakes_no_other_thread(driver: Driver) -> None:
    state = handover(driver)

    assert not state.is_needed()
    assert not state.is_urgent
