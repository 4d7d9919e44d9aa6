"""Code that runs without the garbage collector beside it."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    """Run no finalizers and no callbacks of the garbage collector in the block.

    They would be traced with the code that a test traces (hypothesis registers a callback), and an
    exception of a signal handler in them is logged and not raised.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
