"""Shared offset: two values were seen at one offset of a partition."""

from __future__ import annotations

from collections.abc import Iterator

from pykcheck.anomaly import Anomaly, Facts


def shared_offset(facts: Facts) -> Iterator[Anomaly]:
    """Find offsets that processes disagree about."""
    seen: dict[tuple[str, int], str] = {}
    for value, places in facts.logs.offsets.items():
        for partition, offset in places:
            first = seen.setdefault((partition, offset), value)
            if first != value:
                yield Anomaly(
                    "shared offset", f"{partition}@{offset} was seen as {first!r} and as {value!r}"
                )
