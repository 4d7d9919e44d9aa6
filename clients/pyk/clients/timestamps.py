"""Validate times that applications give. Pure."""

from __future__ import annotations

from datetime import datetime
from operator import index
from typing import Any

INT64_MAX = 2**63 - 1


def milliseconds(given: Any, what: str) -> int:
    """Return a time in milliseconds since 1970.

    Raises ``TypeError`` unless it is an int, ``ValueError`` if it is negative or beyond 64 bits. A
    float is an error because it nearly always holds seconds, as ``time.time()`` returns them; as
    milliseconds it would be a time in January 1970.
    """
    number = given if type(given) is int else _as_int(given, what)
    if number < 0:
        raise ValueError(f"{what} is {number}, before 1970")
    if number > INT64_MAX:
        raise ValueError(
            f"{what} is {number}, more than 64 bits hold: give milliseconds since 1970"
        )
    return number


def _as_int(given: Any, what: str) -> int:
    if not isinstance(given, bool):
        try:
            return index(given)
        except TypeError:
            pass
    given_type = type(given).__name__
    raise TypeError(
        f"{what} must be an int of milliseconds since 1970, not {given_type}{_hint(given)}"
    )


def _hint(given: Any) -> str:
    if isinstance(given, float):
        return "; convert seconds, as time.time() returns them, with int(seconds * 1000)"
    if isinstance(given, datetime):
        return "; convert a datetime with int(moment.timestamp() * 1000)"
    return ""
