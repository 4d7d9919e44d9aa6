"""Validate what a test asks of a cluster and its fault rules. Pure.

A rule that never matches would test nothing, and what a broker stumbles over later is hard to find.
"""

from __future__ import annotations

import math


def checked_count(given: object, what: str, lowest: int = 0) -> int:
    """Return an int from ``lowest`` on; raise ``TypeError`` or ``ValueError`` for anything else."""
    if isinstance(given, bool) or not isinstance(given, int):
        raise TypeError(f"{what} must be an int, not {given!r}")
    if given < lowest:
        raise ValueError(f"{what} must be {lowest} or more, not {given}")
    return given


def check_is_number(given: object, what: str) -> None:
    """Raise ``TypeError`` for what is not a number."""
    if isinstance(given, bool) or not isinstance(given, int | float):
        raise TypeError(f"{what} must be a number, not {given!r}")


def checked_number(given: float, what: str) -> float:
    """Return a finite number from 0 on; raise ``TypeError`` or ``ValueError`` otherwise."""
    check_is_number(given, what)
    if not math.isfinite(given) or given < 0:
        raise ValueError(f"{what} must be a finite number from 0 on, not {given}")
    return given


def check_criteria(names: dict[str, object], numbers: dict[str, object]) -> None:
    """Raise for what no request has: ``names`` are str, ``numbers`` ints, None if not given."""
    for what, name in names.items():
        if not isinstance(name, str | None):
            raise TypeError(f"{what} must be a str, not {name!r}")
    for what, number in numbers.items():
        if number is not None:
            checked_count(number, what)
