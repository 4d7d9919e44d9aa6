"""The side of a consumer's buffer that the application waits at, whatever it holds.

Two words are shared without a lock:

* ``attention``: reasons for the application to leave the fast path. It looks before each record.
* ``is_waiting``: the application writes it before it looks for records, the loop reads it after it
  has added some, so that one of them sees the other.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

# Reasons to leave the fast path. CLOSED and FORKED never go away; PROCESS_ENDS: a handler failed.
EVENT, WAKEUP, CLOSED, FORKED, PROCESS_ENDS = 1, 2, 4, 8, 16


class ReadBuffer:
    """What the application may read: ``queue`` has what it takes next.

    ``partitions`` are those that are read now. ``on_data`` is called on the loop when the
    application waits and there is something for it, ``on_room`` in the application's thread when it
    has made room for more.
    """

    def __init__(self, on_data: Callable[[], object], on_room: Callable[[], object]) -> None:
        self.partitions: dict[Any, Any] = {}
        self.attention = 0
        self.is_waiting = False
        self.queue: deque[Any] = deque()
        self.on_room = on_room
        self._on_data = on_data

    @property
    def has_work(self) -> bool:
        """Return whether the application may have something to do: records, an error, an event."""
        return bool(self.queue) or self.attention != 0

    def tell_if_waiting(self) -> None:
        """Wake the application if it waits and there is something for it."""
        if self.is_waiting and self.queue:
            self._on_data()

    def call_attention(self, reason: int) -> None:
        """Make the application look for something other than records, and wake it if it waits.

        It takes no lock, so that a signal handler may call it at any point.
        """
        self.attention |= reason
        if self.is_waiting:
            self._on_data()

    def clear_attention(self, reason: int) -> None:
        """Take note that the application attends to a reason."""
        self.attention &= ~reason
