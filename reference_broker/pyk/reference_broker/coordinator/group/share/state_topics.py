"""The partitions whose state a share group has at share coordinators, or is to get or lose. Pure.

A partition is assigned to members only once its state is initialized. Each step is written down
before the share coordinator is asked for it, and again when it has answered.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TypeVar
from uuid import UUID

from pyk.reference_broker.coordinator.group.consumer.assignment import Assignment
from pyk.runtime import slotted

V = TypeVar("V")


@slotted.frozen
class NamedPartitions:
    """Partitions of a topic, and its name."""

    name: str
    partitions: frozenset[int]


Partitions = Mapping[UUID, NamedPartitions]


@slotted.frozen(kw_only=True)
class StateTopics:
    """How far the group is with each topic."""

    initializing: Partitions = slotted.field(factory=dict)
    initialized: Partitions = slotted.field(factory=dict)
    deleting: Mapping[UUID, str] = slotted.field(factory=dict)
    """The names of topics whose state is being deleted."""

    @property
    def assignable(self) -> Assignment:
        """The partitions that members may have."""
        return {topic_id: each.partitions for topic_id, each in self.initialized.items()}

    @property
    def known(self) -> Partitions:
        """The partitions that have a state, or are about to get one."""
        return _union(self.initialized, self.initializing)

    @property
    def topic_ids(self) -> set[UUID]:
        return {*self.initializing, *self.initialized, *self.deleting}

    def initialize(self, topics: Partitions) -> StateTopics:
        """Return the topics when more partitions are being initialized."""
        return slotted.evolve(
            self,
            initializing=_union(self.initializing, topics),
            deleting=_without_keys(self.deleting, topics),
        )

    def end_initializing(self, done: Assignment, failed: Assignment) -> StateTopics:
        """Return the topics when share coordinators have answered.

        What is not being initialized any more, as its topic was deleted, is left out.
        """
        initialized = {
            topic_id: NamedPartitions(known.name, known.partitions & done[topic_id])
            for topic_id, known in self.initializing.items()
            if topic_id in done
        }
        left = _minus(_minus(self.initializing, done), failed)
        return slotted.evolve(
            self,
            initializing=left,
            initialized=_union(self.initialized, _not_empty(initialized)),
        )

    def begin_deleting(self, topics: Mapping[UUID, str]) -> StateTopics:
        """Return the topics when the state in some is being deleted."""
        return StateTopics(
            initializing=_without_keys(self.initializing, topics),
            initialized=_without_keys(self.initialized, topics),
            deleting={**self.deleting, **topics},
        )

    def without(self, topic_ids: Collection[UUID]) -> StateTopics:
        """Return the topics without some of which nothing is left."""
        return StateTopics(
            initializing=_without_keys(self.initializing, topic_ids),
            initialized=_without_keys(self.initialized, topic_ids),
            deleting=_without_keys(self.deleting, topic_ids),
        )


def _union(some: Partitions, others: Partitions) -> Partitions:
    together = dict(some)
    for topic_id, each in others.items():
        known = some.get(topic_id)
        before = frozenset() if known is None else known.partitions
        together[topic_id] = NamedPartitions(each.name, before | each.partitions)
    return together


def _minus(some: Partitions, others: Assignment) -> Partitions:
    nothing: frozenset[int] = frozenset()
    return _not_empty(
        {
            topic_id: NamedPartitions(each.name, each.partitions - others.get(topic_id, nothing))
            for topic_id, each in some.items()
        }
    )


def _not_empty(topics: Partitions) -> Partitions:
    return {topic_id: each for topic_id, each in topics.items() if each.partitions}


def _without_keys(some: Mapping[UUID, V], topic_ids: Collection[UUID]) -> dict[UUID, V]:
    return {topic_id: each for topic_id, each in some.items() if topic_id not in topic_ids}
