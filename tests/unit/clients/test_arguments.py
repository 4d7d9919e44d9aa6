from __future__ import annotations

import sys
import threading
from datetime import timedelta
from typing import Any

import pytest

from pyk.clients.arguments import (
    LONGEST_TIMEOUT,
    checked_choice,
    checked_seconds,
    checked_timeout,
)


@pytest.mark.parametrize("timeout", [None, 0, 0.5, 60])
def test_seconds_and_no_limit_are_timeouts(timeout: float | None) -> None:
    assert checked_timeout(timeout) == timeout


@pytest.mark.parametrize("timeout", [1e300, sys.maxsize, pytest.param(10**400, id="huge")])
def test_a_timeout_that_means_for_ever_is_one_that_locks_and_milliseconds_can_hold(
    timeout: float,
) -> None:
    assert checked_timeout(timeout) == LONGEST_TIMEOUT < threading.TIMEOUT_MAX


@pytest.mark.parametrize("timeout", ["1", b"1", True, [1], timedelta(seconds=1)])
def test_a_timeout_of_another_type_is_refused(timeout: Any) -> None:
    with pytest.raises(TypeError, match="timeout must be a number of seconds, not "):
        checked_timeout(timeout)


def test_the_error_for_a_timedelta_says_what_to_write() -> None:
    with pytest.raises(TypeError, match=r"total_seconds\(\)"):
        checked_timeout(timedelta(seconds=1))


@pytest.mark.parametrize("timeout", [-1, -0.1, float("nan"), float("inf")])
def test_a_number_that_is_not_a_timeout_is_refused(timeout: float) -> None:
    with pytest.raises(ValueError, match="None or a finite number from 0 on, not "):
        checked_timeout(timeout)


def test_seconds_are_numbers_from_0_on() -> None:
    assert checked_seconds(0, "backoff") == 0
    assert checked_seconds(0.5, "deadline", above_zero=True) == 0.5
    with pytest.raises(ValueError, match="deadline must be a number of seconds above 0, and fin"):
        checked_seconds(0, "deadline", above_zero=True)


@pytest.mark.parametrize("seconds", ["1", True, None, timedelta(seconds=1)])
def test_seconds_of_another_type_are_refused(seconds: Any) -> None:
    with pytest.raises(TypeError, match="backoff must be a number of seconds, not "):
        checked_seconds(seconds, "backoff")


@pytest.mark.parametrize(
    "seconds", [-1, float("nan"), float("inf"), pytest.param(10**400, id="huge")]
)
def test_seconds_out_of_range_are_refused(seconds: float) -> None:
    with pytest.raises(ValueError, match="backoff must be a number of seconds from 0 on, and fin"):
        checked_seconds(seconds, "backoff")


@pytest.mark.parametrize("choice", [True, False, None])
def test_a_choice_is_true_false_or_none(choice: bool | None) -> None:
    assert checked_choice(choice, "leave_group") is choice


@pytest.mark.parametrize("choice", ["no", 0, 1])
def test_a_choice_of_another_type_is_refused(choice: Any) -> None:
    with pytest.raises(TypeError, match="leave_group must be True, False or None, not "):
        checked_choice(choice, "leave_group")
