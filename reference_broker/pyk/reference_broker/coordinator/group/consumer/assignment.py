"""Sets of partitions by topic id."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol
from uuid import UUID

from pyk.runtime import slotted

Assignment = Mapping[UUID, frozenset[int]]
"""Partitions by topic; a topic without partitions is left out."""


class TopicPartitions(Protocol):
    """Partitions of one topic, as requests and records have them."""

    topic_id: UUID
    partitions: list[int]


def assignment_of(topics: Iterable[TopicPartitions]) -> Assignment:
    """Return the partitions that a request or a record lists."""
    return {each.topic_id: frozenset(each.partitions) for each in topics if each.partitions}


@slotted.frozen(kw_only=True)
class Subscriber:
    """A member as assignors see it."""

    topics: frozenset[UUID]
    """The topics it subscribes to that exist."""
    current: Assignment = slotted.field(factory=dict)
    """Its last target assignment."""
    instance_id: str | None = None


Subscribers = Mapping[str, Subscriber]
"""Members by id."""
PartitionCounts = Mapping[UUID, int]
"""How many partitions each topic has."""


def subscribers_by_topic(members: Subscribers, order: Iterable[str]) -> dict[UUID, list[str]]:
    """Return the members that subscribe to each topic, in ``order``."""
    by_topic: dict[UUID, list[str]] = {}
    for member_id in order:
        for topic_id in sorted(members[member_id].topics):
            by_topic.setdefault(topic_id, []).append(member_id)
    return by_topic
