from __future__ import annotations

import sys
from typing import Any

import pytest

from pyk.runtime.checked_arguments import checked_count, checked_finite, checked_number


def test_a_count_is_an_int_from_the_lowest_on() -> None:
    assert checked_count(0, "times") == 0
    assert checked_count(1, "max_records", lowest=1) == 1


def test_a_count_below_the_lowest_is_refused() -> None:
    with pytest.raises(ValueError, match="times must be 0 or more, not -1"):
        checked_count(-1, "times")
    with pytest.raises(ValueError, match="max_records must be 1 or more, not 0"):
        checked_count(0, "max_records", lowest=1)


def test_a_count_that_is_larger_than_any_size_is_refused() -> None:
    assert checked_count(sys.maxsize, "max_records") == sys.maxsize
    with pytest.raises(ValueError, match=f"^max_records must be at most {sys.maxsize}, not "):
        checked_count(sys.maxsize + 1, "max_records")


@pytest.mark.parametrize("count", ["1", 1.0, True, None])
def test_a_count_of_another_type_is_refused(count: Any) -> None:
    with pytest.raises(TypeError, match="max_records must be an int, not "):
        checked_count(count, "max_records", lowest=1)


@pytest.mark.parametrize("number", [float("inf"), float("nan"), pytest.param(10**400, id="huge")])
def test_a_number_that_no_float_can_hold_is_refused(number: float) -> None:
    with pytest.raises(ValueError, match="latency must be a finite number from 0 on, not "):
        checked_number(number, "latency")
    with pytest.raises(ValueError, match="rate must be a finite number, not "):
        checked_finite(number, "rate")
