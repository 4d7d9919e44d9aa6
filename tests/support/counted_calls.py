"""Count the calls of functions, for tests of how much work something is."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any


class CountedCalls:
    """How many functions were called so far, in this thread: those of Python and those of C."""

    count = 0


@contextlib.contextmanager
def counted_calls() -> Iterator[CountedCalls]:
    """Count calls until the block ends. What compiled modules call among themselves is not seen."""
    calls = CountedCalls()

    def note(_frame: Any, event: str, _argument: Any) -> None:
        if event in ("call", "c_call"):
            calls.count += 1

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        yield calls
    finally:
        sys.setprofile(before)
