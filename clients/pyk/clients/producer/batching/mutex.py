"""The lock of the accumulator; ``compiled/mutex.pyx`` is the compiled form.

The handler of a signal may raise right after ``acquire``, before whatever statement comes next. So
it is called inside the ``try`` whose ``finally`` releases it, and both are written in C: an
exception could leave a method in Python before or after its work.
"""

from __future__ import annotations

from _thread import RLock

__all__ = ["Mutex"]


class Mutex(RLock):  # type: ignore[misc]
    """A lock that one thread does not take twice: it calls :meth:`check` first."""

    def check(self) -> None:
        """Raise ``RuntimeError`` if this thread holds it: :meth:`acquire` would let it in."""
        if self._is_owned():  # type: ignore[attr-defined]
            # A finalizer that the collector ran in here, such as of a log handler that produces.
            raise RuntimeError("a producer was used in the middle of its own send")
