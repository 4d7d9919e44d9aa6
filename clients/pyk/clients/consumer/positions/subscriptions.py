"""The subscription or manual assignment of a consumer. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from enum import Enum
from typing import Any

from pyk.clients.engine.metadata import MetadataImage, TopicMetadata
from pyk.clients.engine.topic_names import checked_topics
from pyk.clients.errors import StateError
from pyk.clients.topic_partition import TopicPartition, checked_partition
from pyk.protocol.topics import is_topic_name


class SubscriptionKind(Enum):
    """The ways to choose what to read."""

    NONE = "nothing"
    TOPICS = "topics"
    PATTERN = "a pattern of topics"
    PARTITIONS = "partitions assigned by hand"


class Subscriptions:
    """The topics of a consumer, by name or by pattern, or its partitions."""

    def __init__(self, *, excludes_internal_topics: bool) -> None:
        self.kind = SubscriptionKind.NONE
        self.topics: frozenset[str] = frozenset()
        self._excludes_internal_topics = excludes_internal_topics
        self._pattern: re.Pattern[str] | None = None

    def subscribe(
        self, topics: Iterable[str] | None, pattern: str | re.Pattern[str] | None
    ) -> None:
        """Subscribe to topics by name, or to those whose whole name matches ``pattern``.

        Raises ``ValueError`` unless one of the two is given, :class:`StateError` while partitions
        are assigned by hand, and :class:`InvalidTopicError` for an invalid name.
        """
        if (topics is None) == (pattern is None):
            raise ValueError("subscribe takes either topics or a pattern")
        self._check(SubscriptionKind.PARTITIONS, "subscribe")
        if pattern is not None:
            self._pattern = compiled_pattern(pattern)
            self.kind, self.topics = SubscriptionKind.PATTERN, frozenset()
            return
        assert topics is not None
        names = named_topics(topics)
        self._pattern = None
        self.kind, self.topics = SubscriptionKind.TOPICS, names

    def assign(self) -> None:
        """Assign partitions by hand; raise :class:`StateError` if subscribed."""
        self._check(SubscriptionKind.TOPICS, "assign")
        self._check(SubscriptionKind.PATTERN, "assign")
        self.kind = SubscriptionKind.PARTITIONS

    def clear(self) -> None:
        """Read nothing."""
        self.kind, self.topics, self._pattern = SubscriptionKind.NONE, frozenset(), None

    @property
    def pattern(self) -> str | None:
        """The pattern that topics have to match, None if they are named."""
        return None if self._pattern is None else self._pattern.pattern

    @property
    def has_topics(self) -> bool:
        return self.kind in (SubscriptionKind.TOPICS, SubscriptionKind.PATTERN)

    def match(self, image: MetadataImage, gone: Collection[str] = ()) -> bool:
        """Find the topics that the pattern matches now, and return whether they changed.

        A topic that a response calls unknown is kept until it is ``gone``: a broker that has just
        started must not cause everything to be read again.
        """
        if self._pattern is None:
            return False
        matching = frozenset(
            topic.name
            for topic in image.topics.values()
            if self._matches(topic)
            and (not topic.is_missing or (topic.name in self.topics and topic.name not in gone))
        )
        has_changed = matching != self.topics
        self.topics = matching
        return has_changed

    def _matches(self, topic: TopicMetadata) -> bool:
        assert self._pattern is not None
        is_hidden = topic.is_internal and self._excludes_internal_topics
        # Metadata may contain invalid names, which must not get into later requests.
        is_match = self._pattern.fullmatch(topic.name) is not None
        return is_match and not is_hidden and is_topic_name(topic.name)

    def _check(self, other: SubscriptionKind, call: str) -> None:
        if self.kind is other:
            raise StateError(
                f"cannot {call}: the consumer reads {other.value}; call unsubscribe() first"
            )


def named_topics(topics: Iterable[str]) -> frozenset[str]:
    """Return the topics that an application named, one as a str or several.

    Raises ``TypeError`` or :class:`InvalidTopicError` for an invalid name, and ``ValueError`` for
    an empty sequence.
    """
    given: Any = topics
    if isinstance(given, bytes) or not isinstance(given, Iterable):
        raise TypeError(f"topics must be a str or several str, not {type(given).__name__}")
    names = checked_topics([topics] if isinstance(topics, str) else topics)
    if not names:
        raise ValueError("topics must name at least one topic; to read nothing, unsubscribe")
    return names


def compiled_pattern(pattern: str | re.Pattern[str]) -> re.Pattern[str]:
    """Return the compiled pattern; raise ``TypeError`` or ``ValueError`` if it is invalid."""
    if not isinstance(getattr(pattern, "pattern", pattern), str):
        raise TypeError(f"pattern must be a str or re.compile(str), not {pattern!r}")
    try:
        return re.compile(pattern)
    except re.error as error:
        raise ValueError(f"pattern {pattern!r} is not a regular expression: {error}") from error


def checked_partitions(partitions: Iterable[tuple[str, int]]) -> list[TopicPartition]:
    """Return the partitions that an application named, without duplicates; raise if one is
    invalid."""
    given: Any = partitions
    if isinstance(given, TopicPartition | str) or not isinstance(given, Iterable):
        raise TypeError(f"partitions must be a list of TopicPartition, not {given!r}")
    checked = dict.fromkeys(map(checked_partition, partitions))
    checked_topics(partition.topic for partition in checked)
    return list(checked)
