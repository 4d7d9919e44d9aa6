"""How often a query that idles asks its cluster. Pure.

Spark asks for the latest offset a hundred times a second while nothing happens. One question costs
a millisecond, or twenty where topics have a thousand partitions, which would keep a core busy. So a
query that idles spends a tenth of its time on asking. The answer is always a new one: whoever
produces and then waits for the query (``processAllAvailable``) must not get an old answer.
"""

from __future__ import annotations

import attrs

SHARE = 0.1
LONGEST_WAIT = 0.2
"""How many seconds records wait at most because nothing moved before they came."""


@attrs.define
class IdlePace:
    """Knows when to ask next."""

    _next_question: float = 0.0

    def wait(self, now: float) -> float:
        """Return the seconds to wait before asking."""
        return max(0.0, self._next_question - now)

    def asked(self, begun: float, now: float, *, moved: bool) -> None:
        """Note a question that was asked at ``begun`` and whether its answer brought news."""
        pause = (now - begun) * (1 / SHARE - 1)
        self._next_question = now if moved else now + min(pause, LONGEST_WAIT)
