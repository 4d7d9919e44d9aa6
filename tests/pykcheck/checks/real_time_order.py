"""Real-time order: a value was acknowledged before another was sent, but stands behind it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from pykcheck.anomaly import Anomaly, Facts
from pykcheck.history import NEVER, Send


def real_time_order(facts: Facts) -> Iterator[Anomaly]:
    """Find values that stand before one that was acknowledged before they were sent."""
    placed: dict[str, list[tuple[int, Send]]] = defaultdict(list)
    for send in facts.sends:
        place = facts.logs.place(send)
        if place is not None:
            placed[place[0]].append((place[1], send))
    for partition, sends in placed.items():
        sends.sort(key=lambda each: each[0], reverse=True)
        earliest, behind = NEVER, None
        for offset, send in sends:
            if behind is not None and earliest < send.invoked:
                yield Anomaly(
                    "real-time order",
                    f"{behind.value!r} was acknowledged before {send.value!r} was sent, and "
                    f"stands behind it in {partition} (@{offset})",
                )
            if send.is_ok and send.completed < earliest:
                earliest, behind = send.completed, send
