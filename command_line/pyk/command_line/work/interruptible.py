"""Run the parts of a command that end in order when a signal comes."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any

from pyk.command_line.interrupts import Interrupts, installed

SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def interrupts() -> Iterator[Interrupts]:
    """Treat SIGTERM as Ctrl-C in the block, so that a member leaves its group.

    A signal that is ignored stays so, as in a command that a script starts in the background.
    """
    found = installed() or Interrupts()
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


def run_async(coroutine: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine that Ctrl-C cancels, which asyncio sees to where Python handles it."""
    if installed():
        signal.signal(signal.SIGINT, signal.default_int_handler)
    asyncio.run(coroutine)
