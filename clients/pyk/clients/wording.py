"""Words of messages that several modules write."""

from __future__ import annotations


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """Return ``1 record`` or ``2 records``."""
    return f"{count} {noun if count == 1 else plural or noun + 's'}"


def because(error: Exception | None) -> str:
    """Return the end of a sentence about a timeout: the last error, if there was one."""
    return f"; last error: {error}" if error is not None else ""
