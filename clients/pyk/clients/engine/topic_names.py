"""Validate names of topics. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

from pyk.clients.errors import InvalidTopicError

# Kafka's rule, the same on every broker. A name that breaks it must not get into a request for
# metadata: the answer would be about all topics that are asked for together.
NAME = re.compile(r"(?!\.{1,2}$)[a-zA-Z0-9._-]{1,249}")


def checked_topics(names: Iterable[str]) -> frozenset[str]:
    """Return names of topics; raise :class:`InvalidTopicError`, or ``TypeError`` for a non-str."""
    checked = frozenset(names)
    for name in checked:
        if not isinstance(name, str):
            raise TypeError(f"topic must be a str, not {type(name).__name__}")
        if not is_topic_name(name):
            shown = name if len(name) <= 64 else f"{name[:64]}…"
            raise InvalidTopicError(
                f"{shown!r} is not a valid topic name: it has 1 to 249 letters, digits, '.', '_' "
                "and '-', and cannot be '.' or '..'"
            )
    return checked


def is_topic_name(name: str) -> bool:
    """Return whether a topic may have this name."""
    return NAME.fullmatch(name) is not None
