"""The lock of a loop's turns, which knows its thread (compiled: ``compiled/turn_lock.pyx``)."""

from __future__ import annotations

import threading

_thread_ident = threading.get_ident


class TurnLock:
    """A lock that says whether this thread holds it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._holder = 0

    def acquire(self, wait: bool) -> bool:
        """Take the lock; without ``wait`` only if it is free."""
        if not self._lock.acquire(wait):
            return False
        self._holder = _thread_ident()
        return True

    def release(self) -> None:
        """Release the lock."""
        self._holder = 0
        self._lock.release()

    def is_mine(self) -> bool:
        """Return whether this thread holds it. Any thread may ask."""
        return self._holder == _thread_ident()
