"""Reordered: two values that one process sent to a partition are in its log the other way round."""

from __future__ import annotations

from collections.abc import Iterator

from pykcheck.anomaly import Anomaly, Facts
from pykcheck.history import Send


def reordered(facts: Facts) -> Iterator[Anomaly]:
    """Find values that stand before one that their process sent earlier."""
    last: dict[tuple[str, str], tuple[int, Send]] = {}
    for send in facts.sends:
        place = facts.logs.place(send)
        if place is None:
            continue
        partition, offset = place
        before = last.get((send.process, partition))
        if before is not None and before[0] > offset:
            yield Anomaly(
                "reordered",
                f"{send.process} sent {before[1].value!r} before {send.value!r}, but they are at "
                f"{partition}@{before[0]} and @{offset}",
            )
        else:
            last[send.process, partition] = offset, send
