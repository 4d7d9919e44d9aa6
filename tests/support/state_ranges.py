"""Ranges of records of a share partition, written as text."""

from __future__ import annotations

from pyk.reference_broker.coordinator.share.state_batches import StateBatch

AVAILABLE, ACKNOWLEDGED, ARCHIVED = 0, 2, 4


def ranges(*given: str) -> list[StateBatch]:
    """Return ranges such as ``0-9x1a``: offsets, delivery count, a state by its first letter."""
    found = []
    for text in given:
        offsets, _, delivery = text.partition("x")
        first, _, last = offsets.partition("-")
        state = {"a": AVAILABLE, "k": ACKNOWLEDGED, "r": ARCHIVED}[delivery[-1]]
        found.append(StateBatch(int(first), int(last), int(delivery[:-1]), state))
    return found
