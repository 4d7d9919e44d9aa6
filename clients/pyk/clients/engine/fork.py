"""Notice that this process was forked off after a client was made.

The child has the client's memory, but not its thread, and no right to its connections: what it
wrote would be mixed into the parent's requests.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable

from pyk.clients.errors import ForkedClientError

_guards: weakref.WeakSet[ForkGuard] = weakref.WeakSet()


class ForkGuard:
    """Belongs to one client; hot paths look at ``is_forked``, which costs nothing."""

    __slots__ = ("__weakref__", "is_forked", "on_fork", "owner")

    def __init__(self, owner: str) -> None:
        self.owner = owner
        self.is_forked = False
        self.on_fork: Callable[[ForkedClientError], object] | None = None
        """Called in the child, where locks may be held by threads that do not exist there."""
        _guards.add(self)

    def check(self) -> None:
        """Raise :class:`ForkedClientError` in a process that was forked off since."""
        if self.is_forked:
            raise self._error()

    def mark(self) -> None:
        """Record that this is the child."""
        self.is_forked = True
        if self.on_fork is not None:
            self.on_fork(self._error())

    def _error(self) -> ForkedClientError:
        return ForkedClientError(
            f"this {self.owner} was made before the process was forked, and belongs to the "
            f"parent; make a new {self.owner} in the child (gunicorn: post_fork, Celery: "
            "worker_process_init, multiprocessing: initializer=)"
        )


def _mark_guards() -> None:
    for guard in _guards:
        guard.mark()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_mark_guards)
