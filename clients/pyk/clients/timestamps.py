"""Times that applications give. Pure."""

from __future__ import annotations

from datetime import datetime
from operator import index
from typing import Any


def milliseconds(given: Any, what: str) -> int:
    """Return a time in milliseconds since 1970; raise ``TypeError`` for what is no int.

    A float is never taken: it is in seconds nearly always, as ``time.time()`` is, and would be read
    as a moment in January 1970.
    """
    if type(given) is int:
        return given
    if not isinstance(given, bool):
        try:
            return index(given)
        except TypeError:
            pass
    raise TypeError(
        f"{what} must be an int, milliseconds since 1970, not {type(given).__name__}{_hint(given)}"
    )


def _hint(given: Any) -> str:
    if isinstance(given, float):
        return "; of seconds, as time.time() returns them, make int(seconds * 1000)"
    if isinstance(given, datetime):
        return "; of a datetime, make int(moment.timestamp() * 1000)"
    return ""
