"""Who drives the loop of a blocking client, as a table of what comes and what follows."""

from __future__ import annotations

import pytest

from pyk.clients.engine.baton import LONGEST_NAP_SECONDS, Baton, Driver

GRACE = 0.004
NEVER = float("inf")


def baton(driver: Driver = Driver.NOBODY, left_at: float | None = None) -> Baton:
    made = Baton(GRACE)
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
    state = baton(driver)

    assert state.caller_comes() is may_drive
    assert state.driver is Driver.CALLER


def test_nobody_begins_to_drive_a_loop_that_ends() -> None:
    state = baton()
    state.end()

    assert not state.caller_comes()


def test_a_caller_that_leaves_wakes_nobody() -> None:
    state = baton(Driver.CALLER)

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
    state = baton(driver, left_at)

    assert state.background_looks(now, NEVER) == pytest.approx(nap)
    assert (state.driver is Driver.BACKGROUND) is (nap == 0)


def come_and_go(state: Baton, times: int, now: float) -> None:
    for _ in range(times):
        assert state.caller_comes()
        assert not state.caller_leaves(now)


def busy_baton() -> Baton:
    """Return a baton whose background thread is in a nap of eight times the grace."""
    state = baton()
    for nap in (1, 2, 4, 8):
        come_and_go(state, 3 * nap, now=nap)
        assert state.background_looks(nap, NEVER) >= GRACE
    return state


def test_callers_that_come_and_go_are_not_to_tell_the_background_thread() -> None:
    state = baton()
    for now in range(10):
        state.caller_comes()
        assert state.background_looks(now, NEVER) >= GRACE
        assert not state.caller_leaves(now)


def test_naps_get_longer_as_long_as_callers_come_back() -> None:
    state = baton()
    naps = []
    for now in range(8):
        come_and_go(state, 1000, now)
        naps.append(state.background_looks(now, NEVER))

    assert naps[:3] == [2 * GRACE, 4 * GRACE, 8 * GRACE]
    assert naps[-1] == LONGEST_NAP_SECONDS
    assert naps[-1] <= 10 * GRACE, "an answer that nobody waits for may come at its beginning"


def test_a_nap_in_which_few_callers_came_is_followed_by_a_short_one() -> None:
    state = busy_baton()
    come_and_go(state, 1, now=10)

    assert state.background_looks(10.001, NEVER) == pytest.approx(0.003)


def test_a_long_nap_after_which_nobody_came_back_is_the_last() -> None:
    state = busy_baton()

    assert state.background_looks(9, NEVER) == 0
    assert state.driver is Driver.BACKGROUND


def test_a_nap_ends_before_the_next_timer_but_not_at_once() -> None:
    state = busy_baton()
    come_and_go(state, 1000, now=10)
    assert state.background_looks(10, next_timer=10.007) == pytest.approx(0.007)

    come_and_go(state, 1000, now=11)
    assert state.background_looks(11, next_timer=11.001) == pytest.approx(GRACE)


def test_work_that_nobody_waits_for_ends_a_long_nap_once() -> None:
    state = busy_baton()
    come_and_go(state, 1, now=20)

    assert state.leaves_work()
    assert not state.leaves_work()
    assert state.background_looks(20.001, NEVER) == pytest.approx(0.003)
    assert state.background_looks(20.004, NEVER) == 0


@pytest.mark.parametrize("driver", list(Driver))
def test_work_that_nobody_waits_for_wakes_nobody_who_drives_or_naps_shortly(
    driver: Driver,
) -> None:
    assert not baton(driver).leaves_work()


def test_a_caller_that_stays_has_to_tell_when_it_leaves() -> None:
    state = baton()
    state.caller_comes()
    assert state.background_looks(0, NEVER) == GRACE

    assert state.background_looks(GRACE, NEVER) is None
    assert state.caller_leaves(60)

    state.caller_comes()
    assert not state.caller_leaves(61)


def test_work_that_is_left_while_nobody_drives_ends_the_grace() -> None:
    state = baton(left_at=10)

    assert state.is_needed()

    assert state.background_looks(10.001, NEVER) == 0
    assert state.driver is Driver.BACKGROUND
    assert state.background_looks(10.002, NEVER) == 0, "it drives until a caller comes"


@pytest.mark.parametrize("driver", [Driver.BACKGROUND, Driver.CALLER])
def test_work_that_a_driver_finds_needs_nobody_else(driver: Driver) -> None:
    state = baton(driver)

    assert not state.is_needed()
    assert not state.is_urgent
