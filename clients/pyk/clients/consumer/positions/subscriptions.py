"""The subscription or manual assignment of a consumer. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from enum import Enum
from typing import Any

from pyk.clients.consumer.positions.topic_patterns import (
    AnyPattern,
    SubscriptionPattern,
    TopicPattern,
)
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
    REMOTE_PATTERN = "a pattern of topics that its group resolves"
    PARTITIONS = "partitions assigned by hand"


class Subscriptions:
    """The topics of a consumer, by name or by pattern, or its partitions.

    ``group_resolves`` says whether the coordinator of its group finds the topics that match a
    :class:`SubscriptionPattern`.
    """

    def __init__(self, *, excludes_internal_topics: bool, group_resolves: bool = False) -> None:
        self.kind = SubscriptionKind.NONE
        self.topics: frozenset[str] = frozenset()
        self.remote_pattern: str | None = None
        """The pattern that the group resolves, if any: then ``topics`` is empty."""
        self._excludes_internal_topics = excludes_internal_topics
        self._group_resolves = group_resolves
        self._pattern: TopicPattern | None = None

    def subscribe(self, topics: Iterable[str] | None, pattern: AnyPattern | None) -> None:
        """Subscribe to topics by name, or to those whose whole name matches ``pattern``.

        Raises ``ValueError`` unless one of the two is given, :class:`StateError` while partitions
        are assigned by hand, and :class:`InvalidTopicError` for an invalid name.
        """
        if (topics is None) == (pattern is None):
            raise ValueError("subscribe takes either topics or a pattern")
        self._check(SubscriptionKind.PARTITIONS, "subscribe")
        if topics is not None:
            names = named_topics(topics)
            self.clear()
            self.kind, self.topics = SubscriptionKind.TOPICS, names
        elif self._group_resolves and isinstance(pattern, SubscriptionPattern):
            self.clear()
            self.kind, self.remote_pattern = SubscriptionKind.REMOTE_PATTERN, pattern.pattern
        else:
            assert pattern is not None
            compiled = TopicPattern.of(pattern)
            self.clear()
            self.kind, self._pattern = SubscriptionKind.PATTERN, compiled

    def assign(self) -> None:
        """Assign partitions by hand; raise :class:`StateError` if subscribed."""
        self._check(SubscriptionKind.TOPICS, "assign")
        self._check(SubscriptionKind.PATTERN, "assign")
        self._check(SubscriptionKind.REMOTE_PATTERN, "assign")
        self.kind = SubscriptionKind.PARTITIONS

    def clear(self) -> None:
        """Read nothing."""
        self.kind, self.topics = SubscriptionKind.NONE, frozenset()
        self._pattern = self.remote_pattern = None

    @property
    def pattern(self) -> str | None:
        """The pattern that topics have to match here, None if there is none."""
        return None if self._pattern is None else self._pattern.text

    @property
    def has_topics(self) -> bool:
        """Whether ``topics`` are what is read."""
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
        return self._pattern.matches(topic.name) and not is_hidden and is_topic_name(topic.name)

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
        is_pattern = isinstance(given, re.Pattern | SubscriptionPattern)
        advice = "; give it as pattern=" if is_pattern else ""
        raise TypeError(f"topics must be a str or several str, not {type(given).__name__}{advice}")
    names = checked_topics([topics] if isinstance(topics, str) else topics)
    if not names:
        raise ValueError("topics must name at least one topic; to read nothing, unsubscribe")
    return names


def checked_partitions(partitions: Iterable[tuple[str, int]]) -> list[TopicPartition]:
    """Return the partitions that an application named, without duplicates; raise if one is
    invalid."""
    given: Any = partitions
    if isinstance(given, TopicPartition | str) or not isinstance(given, Iterable):
        raise TypeError(f"partitions must be a list of TopicPartition, not {given!r}")
    checked = dict.fromkeys(map(checked_partition, partitions))
    checked_topics(partition.topic for partition in checked)
    return list(checked)
