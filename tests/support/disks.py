"""Disks that do not answer at once."""

from __future__ import annotations

from collections import deque

from pyk.reference_broker.storage.disk import Done, Work


class HeldDisk:
    """Keeps all work until it is told to do it. ``is_held`` False lets work through at once."""

    def __init__(self) -> None:
        self.is_held = True
        self._waiting: deque[tuple[Work, Done]] = deque()

    def __len__(self) -> int:
        return len(self._waiting)

    def run(self, work: Work, done: Done) -> None:
        self._waiting.append((work, done))
        if not self.is_held:
            self.do_all()

    def do_one(self, error: OSError | None = None) -> None:
        """Do what has waited longest, or let it fail with ``error``."""
        work, done = self._waiting.popleft()
        try:
            work()
            if error is not None:
                raise error
        except OSError as failure:
            done(failure)
        else:
            done(None)

    def do_all(self) -> None:
        """Do everything that waits, and what comes of it."""
        while self._waiting:
            self.do_one()
