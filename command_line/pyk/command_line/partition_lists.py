"""Partitions as options name them: ``orders``, ``orders:0,2``. Pure."""

from __future__ import annotations


def parse_partitions(text: str) -> tuple[str, tuple[int, ...]]:
    """Return a topic and some of its partitions, none for all; raise ``ValueError``."""
    topic, found, numbers = text.partition(":")
    if not topic or (found and not numbers):
        raise ValueError(f"{text!r} must be TOPIC or TOPIC:PARTITION,…")
    try:
        return topic, tuple(int(number) for number in numbers.split(",")) if found else ()
    except ValueError:
        raise ValueError(f"{text!r} must be TOPIC or TOPIC:PARTITION,…") from None
