"""Disks that do not answer at once."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial

from pyk.reference_broker.storage.disk import Done, Work


class HeldDisk:
    """Keeps all work until the test runs it. With ``is_held`` False work runs at once."""

    def __init__(self) -> None:
        self.is_held = True
        self._waiting: deque[tuple[Work, Done]] = deque()

    def __len__(self) -> int:
        return len(self._waiting)

    def run(self, work: Work, done: Done) -> None:
        self._waiting.append((work, done))
        if not self.is_held:
            self.do_all()

    def take(self) -> Callable[[], None]:
        """Take the oldest work out, and return what runs it."""
        taken = HeldDisk()
        taken._waiting.append(self._waiting.popleft())
        return taken.do_all

    def do_one(self, error: Exception | None = None) -> None:
        """Run the oldest work, or let it fail with ``error``."""
        work, done = self._waiting.popleft()
        try:
            work()
            if error is not None:
                raise error
        except Exception as failure:
            done(failure)
        else:
            done(None)

    def do_work(self) -> Callable[[], object]:
        """Run the oldest work, and return what tells its owner that it is done."""
        work, done = self._waiting.popleft()
        work()
        return partial(done, None)

    def do_all(self) -> None:
        """Run all waiting work, and the work that follows from it."""
        while self._waiting:
            self.do_one()
