"""The bell that wakes a background thread, which sleeps while callers drive.

In the compiled form, ``compiled/nap_bell.pyx``, a nap that ends and is followed by another one does
not take the lock of the interpreter, which a caller would have to wait for.
"""

from __future__ import annotations

from pyk.clients.engine.handover import Handover
from pyk.clients.engine.waiter import Waiter


class NapBell:
    """Lets one thread nap until another rings."""

    def __init__(self) -> None:
        self._waiter = Waiter()

    def ring(self) -> None:
        """End the nap, or the next one if no thread naps."""
        self._waiter.set()

    def nap(self, seconds: float | None, handover: Handover) -> None:
        """Nap for so long, None for no limit, and again as long as ``handover`` says so."""
        self._waiter.wait(seconds)
        self._waiter.clear()
