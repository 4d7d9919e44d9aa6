"""How many partitions the internal topics of a topology need. Pure.

1. A repartition topic has as many as it says, otherwise as the largest source of what writes it.
2. Topics that are joined must have equally many: repartition topics follow the others.
3. A changelog has as many as the largest source of its subtopology: one for each task.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.streams_group_records import CopartitionGroup, Subtopology
from pyk.reference_broker.errors import ApiError

from .topology import Topology, source_names

Counts = Mapping[str, int]


class IncorrectlyPartitionedError(Exception):
    """Topics have numbers of partitions that do not go together."""


class PartitionCounts:
    """Decides on internal topics; those that exist keep what they have in what follows from it."""

    def __init__(self, topology: Topology, existing: Counts) -> None:
        self._subtopologies = list(topology.subtopologies.values())
        self._existing = existing
        self.decided = self._repartition_topics()
        self._copartition()
        self.decided.update(self._changelogs())

    def of(self, topic: str) -> int:
        """Return how many partitions a topic has, or will have."""
        count = self._existing.get(topic, self.decided.get(topic))
        if count is None:
            raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR)  # as in Kafka, without a message
        return count

    # -- 1. repartition topics -------------------------------------------------------------------

    def _repartition_topics(self) -> dict[str, int]:
        decided = {
            topic.name: topic.partitions
            for each in self._subtopologies
            for topic in each.repartition_source_topics
            if topic.partitions
        }
        # Sources may be repartition topics themselves, of which more are known each time.
        while unknown := self._unknown_sinks(decided):
            known = dict(decided)
            for subtopology, topic in unknown:
                count = self._largest_source(subtopology, decided)
                if count is not None:
                    decided.setdefault(topic, count)
            if decided == known:
                raise _invalid(
                    "Failed to compute number of partitions for all repartition topics. There may "
                    "be loops in the topology that cannot be resolved."
                )
        for each in self._subtopologies:
            if any(topic.name not in decided for topic in each.repartition_source_topics):
                raise _invalid(
                    "Failed to compute number of partitions for all repartition topics, because a "
                    "repartition source topic is never used as a sink topic."
                )
        return decided

    def _unknown_sinks(self, decided: Counts) -> list[tuple[Subtopology, str]]:
        return [
            (each, topic)
            for each in self._subtopologies
            for topic in each.repartition_sink_topics
            if topic not in decided
        ]

    def _largest_source(self, subtopology: Subtopology, decided: Counts) -> int | None:
        known = [
            decided[topic.name]
            for topic in subtopology.repartition_source_topics
            if topic.name in decided
        ]
        known += [self._existing[name] for name in subtopology.source_topics]
        return max(known, default=None)

    # -- 2. topics that are joined ---------------------------------------------------------------

    def _copartition(self) -> None:
        topics = [topic for each in self._subtopologies for topic in each.repartition_source_topics]
        fixed = {topic.name for topic in topics if topic.partitions}
        repartition = {topic.name for topic in topics}
        for each in self._subtopologies:
            for group in each.copartition_groups:
                joined = _members(each, group)
                if joined:
                    self._enforce(joined, joined & repartition, fixed)

    def _enforce(self, joined: Set[str], internal: Set[str], fixed: Set[str]) -> None:
        external = joined - internal
        if external:
            count = self._same(external, {name: self.of(name) for name in external})
        elif fixed:
            count = self._same(fixed, {name: self.of(name) for name in internal})
        else:
            count = max(map(self.of, internal))
        for name in sorted(internal):
            if name in fixed and self.of(name) != count:
                raise IncorrectlyPartitionedError(
                    f"Number of partitions [{self.of(name)}] of repartition topic [{name}] doesn't "
                    f"match number of partitions [{count}] of the source topic."
                )
        self.decided.update(dict.fromkeys(internal, count))

    def _same(self, names: Iterable[str], told: Counts) -> int:
        """Return how many partitions all of these have; raise, telling counts, if they differ."""
        found = {self.of(name) for name in names}
        if len(found) > 1:
            listed = ", ".join(f"{name}={count}" for name, count in sorted(told.items()))
            raise IncorrectlyPartitionedError(
                f"Following topics do not have the same number of partitions: [{{{listed}}}]"
            )
        return found.pop()

    # -- 3. changelogs ---------------------------------------------------------------------------

    def _changelogs(self) -> dict[str, int]:
        decided: dict[str, int] = {}
        for each in self._subtopologies:
            names = source_names(each)
            if not names:
                raise _invalid(f"No source topics found for subtopology {each.subtopology_id}")
            count = max(map(self.of, names))
            decided.update((topic.name, count) for topic in each.state_changelog_topics)
        return decided


def _members(subtopology: Subtopology, group: CopartitionGroup) -> frozenset[str]:
    """Return the topics of a group, which names them by their position."""
    external = subtopology.source_topics
    internal = [topic.name for topic in subtopology.repartition_source_topics]
    return frozenset(_at(external, group.source_topics)) | frozenset(
        _at(internal, group.repartition_source_topics)
    )


def _at(names: list[str], positions: Iterable[int]) -> list[str]:
    try:
        return [_element(names, position) for position in positions]
    except IndexError:
        raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR) from None  # as in Kafka


def _element(names: list[str], position: int) -> str:
    if position < 0:
        raise IndexError(position)
    return names[position]


def _invalid(message: str) -> ApiError:
    return ApiError(ErrorCode.STREAMS_INVALID_TOPOLOGY, message)
