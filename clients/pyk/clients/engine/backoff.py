"""Compute how long to wait before a retry. Pure."""

from __future__ import annotations

from pyk.runtime import slotted

FACTOR = 2.0
JITTER = 0.2
# Beyond this exponent every sensible maximum is reached; it keeps the power small.
MANY_FAILURES = 32


@slotted.frozen
class Backoff:
    """Waits that double with each failure up to a maximum, each with a random jitter.

    Without jitter all clients of a broker that restarted would come back at the same moment
    (KIP-580, KIP-601).
    """

    initial: float
    """Seconds after the first failure."""
    maximum: float
    """The longest wait in seconds, before jitter."""

    def delay(self, failures: int, chance: float) -> float:
        """Return the seconds to wait after that many failures in a row; 0.0 after no failure.

        ``chance`` is a number from 0 to 1, from the caller's ``random.Random``.
        """
        if failures <= 0:
            return 0.0
        exponent = min(failures - 1, MANY_FAILURES)
        wait = min(self.initial * FACTOR**exponent, self.maximum)
        return wait * (1 - JITTER + 2 * JITTER * chance)
