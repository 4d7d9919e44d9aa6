"""Validate numbers, names and flags. Pure.

What a program stumbles over later is hard to find, and a fault that never happens tests nothing.
"""

from __future__ import annotations

import sys

HIGHEST = sys.float_info.max
"""An int may be higher, and then cannot be calculated with as times are."""


def checked_int(given: object, what: str) -> int:
    """Return an int; raise ``TypeError`` for anything else."""
    if isinstance(given, bool) or not isinstance(given, int):
        raise TypeError(f"{what} must be an int, not {given!r}")
    return given


def checked_count(given: object, what: str, lowest: int = 0) -> int:
    """Return an int from ``lowest`` on; raise ``TypeError`` or ``ValueError`` for anything else."""
    count = checked_int(given, what)
    if count < lowest:
        raise ValueError(f"{what} must be {lowest} or more, not {count}")
    if count > sys.maxsize:
        raise ValueError(f"{what} must be at most {sys.maxsize}, not {count}")
    return count


def check_is_number(given: object, what: str) -> None:
    """Raise ``TypeError`` for what is not a number."""
    if isinstance(given, bool) or not isinstance(given, int | float):
        raise TypeError(f"{what} must be a number, not {given!r}")


def checked_number(given: float, what: str) -> float:
    """Return a finite number from 0 on; raise ``TypeError`` or ``ValueError`` otherwise."""
    check_is_number(given, what)
    if not 0 <= given <= HIGHEST:
        raise ValueError(f"{what} must be a finite number from 0 on, not {given}")
    return given


def checked_finite(given: float, what: str) -> float:
    """Return a finite number; raise ``TypeError`` or ``ValueError`` otherwise."""
    check_is_number(given, what)
    if not -HIGHEST <= given <= HIGHEST:
        raise ValueError(f"{what} must be a finite number, not {given}")
    return given


def checked_text(given: object, what: str) -> str:
    """Return a str; raise ``TypeError`` for anything else."""
    if not isinstance(given, str):
        raise TypeError(f"{what} must be a str, not {given!r}")
    return given


def checked_flag(given: object, what: str) -> bool:
    """Return a bool; raise ``TypeError`` for anything else."""
    if not isinstance(given, bool):
        raise TypeError(f"{what} must be True or False, not {given!r}")
    return given
