"""Validate arguments that several calls take. Pure."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from pyk.runtime.checked_arguments import HIGHEST

INT32_MAX = 2**31 - 1
LONGEST_TIMEOUT = 1e9
"""30 years stand for more, as callers give who mean for ever: locks take no more than 292."""


def checked_timeout(timeout: Any) -> float | None:
    """Return a timeout in seconds, at most 30 years, or None.

    Raises ``TypeError`` or ``ValueError`` if it is invalid. Call it before the first side effect:
    an invalid timeout must leave nothing half done.
    """
    if timeout is None:
        return None
    if isinstance(timeout, timedelta):
        raise TypeError(
            f"timeout must be a number of seconds, not {timeout!r}: use its total_seconds()"
        )
    if isinstance(timeout, bool) or not isinstance(timeout, int | float):
        raise TypeError(f"timeout must be a number of seconds, not {timeout!r}")
    if not 0 <= timeout < math.inf:
        raise ValueError(f"timeout must be None or a finite number from 0 on, not {timeout!r}")
    return min(timeout, LONGEST_TIMEOUT)


def checked_seconds(seconds: Any, what: str, *, above_zero: bool = False) -> float:
    """Return a number of seconds; raise ``TypeError`` or ``ValueError`` for anything else."""
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        raise TypeError(f"{what} must be a number of seconds, not {seconds!r}")
    if not 0 <= seconds <= HIGHEST or (above_zero and not seconds):
        least = "above 0" if above_zero else "from 0 on"
        raise ValueError(f"{what} must be a number of seconds {least}, and finite, not {seconds!r}")
    return seconds


def checked_choice(choice: Any, name: str) -> bool | None:
    """Return True, False or None; raise ``TypeError`` for anything else."""
    if choice is not None and not isinstance(choice, bool):
        raise TypeError(f"{name} must be True, False or None, not {choice!r}")
    return choice


def check_commit_callback(callback: object) -> None:
    """Raise ``TypeError`` for what cannot be called with the offsets and the error of a commit."""
    if not callable(callback):
        raise TypeError(f"callback must be callable, not {type(callback).__name__}")
    check_call(callback, "callback", "offsets", "error")


def check_call(function: Callable[..., object], name: str, *arguments: str) -> None:
    """Raise ``TypeError`` for a function that cannot be called with so many arguments.

    ``name`` is that of the option, ``arguments`` are the names to tell of.
    """
    try:
        inspect.signature(function).bind(*arguments)
    except TypeError as cause:
        call = f"{name}({', '.join(arguments)})"
        raise TypeError(f"{name} is called as {call}: {cause}") from None
    except ValueError:
        return  # a callable of an extension that does not tell its arguments
