"""Refuse what a client cannot do while the interpreter shuts down.

Then its daemon threads stand still, maybe with a lock; no thread begins, and nothing is imported.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cached_property, wraps
from typing import Any, TypeVar

from pyk.clients.errors import ClosedError

T = TypeVar("T")


def too_late(what: str) -> ClosedError:
    """Return the error of what a program does in a finalizer at its end."""
    return ClosedError(
        f"{what} while the interpreter shuts down: use and close clients before the program ends, "
        "not in a finalizer such as __del__"
    )


def check_interpreter(what: str) -> None:
    """Raise :class:`ClosedError` while the interpreter shuts down; ``what`` cannot be done then."""
    if sys.is_finalizing():
        raise too_late(what)


def imported_when_used(part: Callable[[Any], T]) -> cached_property[T]:
    """Return a property of a client that imports what it needs when it is first used."""

    @wraps(part)
    def load(client: Any) -> T:
        check_interpreter("a client cannot be used")
        return part(client)

    return cached_property(load)
