"""Pace the requests of an idle query for the latest offsets. Pure.

Spark asks for the latest offset a hundred times a second while nothing happens. One request takes
a millisecond, or sixteen where topics have a thousand partitions, which would keep a core busy. So
an idle query spends a tenth of its time on requests, or more if that would need a pause that is
longer than ``LONGEST_WAIT``. It delays them, and never returns offsets that it got before: a
program that produces and then calls ``processAllAvailable`` must not get old offsets.
"""

from __future__ import annotations

import attrs

SHARE = 0.1
LONGEST_WAIT = 0.2
"""The longest delay, in seconds, that this adds before an idle query sees new records."""


@attrs.define
class IdlePace:
    """Decides when the next request is due."""

    _next_request: float = 0.0

    def wait(self, now: float) -> float:
        """Return how many seconds to wait before the next request."""
        return max(0.0, self._next_request - now)

    def answered(self, begun: float, now: float, *, moved: bool) -> None:
        """Note a request that was sent at ``begun``, and whether offsets moved since the last."""
        pause = (now - begun) * (1 / SHARE - 1)
        self._next_request = now if moved else now + min(pause, LONGEST_WAIT)
