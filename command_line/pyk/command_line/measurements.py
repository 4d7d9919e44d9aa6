"""Summaries and histograms of measured times. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

PERCENTILES = (50, 90, 99)
BAR_WIDTH = 40


def summary(times_ms: Sequence[float]) -> dict[str, Any]:
    """Return percentiles and maximum in ms; nothing of no times."""
    if not times_ms:
        return {}
    ordered = sorted(times_ms)
    found = {f"p{one}Ms": round(percentile(ordered, one), 3) for one in PERCENTILES}
    return {**found, "maxMs": round(ordered[-1], 3)}


def percentile(ordered: Sequence[float], percent: float) -> float:
    """Return the value below or at which ``percent`` of the ordered values are."""
    index = -(-len(ordered) * percent // 100) - 1
    return ordered[max(0, int(index))]


def histogram(times_ms: Sequence[float]) -> Iterator[str]:
    """Yield a line for each power of two in ms that times fall below, with a bar."""
    counts: dict[float, int] = {}
    for time in times_ms:
        limit = 0.125
        while time >= limit:
            limit *= 2
        counts[limit] = counts.get(limit, 0) + 1
    most = max(counts.values(), default=1)
    for limit, count in sorted(counts.items()):
        yield f"< {limit:>9g} ms  {'#' * max(1, BAR_WIDTH * count // most):<{BAR_WIDTH}}  {count}"
