"""The interface for work that waits for a disk."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

Work = Callable[[], object]
Done = Callable[[BaseException | None], object]


class Disk(Protocol):
    """Runs work that waits for the disk."""

    def run(self, work: Work, done: Done) -> None:
        """Run ``work`` somewhere, then ``done`` on the broker's loop: its error, None if none."""


class InlineDisk:
    """Runs work at once."""

    def run(self, work: Work, done: Done) -> None:
        """Run ``work``, then ``done``."""
        try:
            work()
        except Exception as error:
            done(error)
        else:
            done(None)


def run_all(disk: Disk, works: list[Work], done: Callable[[list[BaseException]], object]) -> None:
    """Run all of ``works``, then ``done`` with the errors of those that failed."""
    left = len(works)
    errors: list[BaseException] = []

    def one_done(error: BaseException | None) -> None:
        nonlocal left
        left -= 1
        if error is not None:
            errors.append(error)
        if left == 0:
            done(errors)

    for work in works:
        disk.run(work, one_done)
    if not works:
        done(errors)
