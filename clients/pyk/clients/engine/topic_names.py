"""Validate names of topics, and tell that one does not exist. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from pyk.clients.errors import InvalidTopicError, UnknownTopicOrPartitionError
from pyk.protocol.topics import is_topic_name

# Seconds for which brokers may not know a topic that was just created.
UNKNOWN_TOPIC_SECONDS = 2.0


def unknown_topic(name: str) -> UnknownTopicOrPartitionError:
    """Return the error for a topic that brokers have never known."""
    return UnknownTopicOrPartitionError(
        f"topic {name!r} does not exist: is its name right?", topic=name
    )


def checked_topics(names: Iterable[str]) -> frozenset[str]:
    """Return names of topics; raise :class:`InvalidTopicError`, or ``TypeError`` for a non-str.

    An invalid name must not get into a request for metadata: the response would be an error for all
    topics that are asked for together.
    """
    checked = tuple(names)
    for name in checked:
        if not isinstance(name, str):
            raise TypeError(f"topic must be a str, not {type(name).__name__}")
        if not is_topic_name(name):
            shown = name if len(name) <= 64 else f"{name[:64]}…"
            raise InvalidTopicError(
                f"{shown!r} is not a valid topic name: it has 1 to 249 letters, digits, '.', '_' "
                "and '-', and cannot be '.' or '..'"
            )
    return frozenset(checked)
