"""Words of messages that several modules write."""

from __future__ import annotations


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """Return ``1 record`` or ``2 records``."""
    return f"{count} {noun if count == 1 else plural or noun + 's'}"
