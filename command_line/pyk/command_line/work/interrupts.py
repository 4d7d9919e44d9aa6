"""Ctrl-C and SIGTERM, which wait until a step is done."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupts:
    """Raises ``KeyboardInterrupt`` for a signal: at once, or at the end of what is held.

    A second signal does not wait, because what is held may wait for the reader of a pipe.
    """

    def __init__(self) -> None:
        self._is_held = False
        self._is_pending = False

    def handle(self, *_: object) -> None:
        """Handle a signal."""
        if self._is_held and not self._is_pending:
            self._is_pending = True
            return
        raise KeyboardInterrupt

    @contextmanager
    def held(self) -> Iterator[None]:
        """Let a signal wait until the end of the block."""
        self._is_held, self._is_pending = True, False
        try:
            yield
        finally:
            self._is_held = False
        if self._is_pending:
            raise KeyboardInterrupt


@contextmanager
def interrupts() -> Iterator[Interrupts]:
    """Treat SIGTERM as Ctrl-C in the block, so that a member leaves its group.

    A signal that is ignored stays so, as in a command that a script starts in the background.
    """
    found = Interrupts()
    if threading.current_thread() is not threading.main_thread():
        yield found
        return
    before = {one: signal.getsignal(one) for one in SIGNALS}
    handled = [one for one, handler in before.items() if handler is not signal.SIG_IGN]
    for one in handled:
        signal.signal(one, found.handle)
    try:
        yield found
    finally:
        for one in handled:
            signal.signal(one, before[one])
