"""The ``simple`` assignor: every partition has a member, every member a partition. Pure.

With more members than partitions a partition is shared by several members. How many share one, and
how many a member has, differs by one at most, and what members have already they mostly keep. If
all members subscribe to the same topics, the partitions of all are dealt out together, otherwise
topic by topic.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from uuid import UUID

from pyk.reference_broker.coordinator.group.consumer.assignment import (
    Assignment,
    Subscribers,
    subscribers_by_topic,
)

Partition = tuple[UUID, int]


def assign_simply(members: Subscribers, assignable: Assignment) -> dict[str, Assignment]:
    """Return the assignment of each member, of the partitions that may be assigned."""
    held: dict[str, set[Partition]] = {member_id: set() for member_id in members}
    by_topic = subscribers_by_topic(members, sorted(members))
    are_alike = len({subscriber.topics for subscriber in members.values()}) == 1
    pools = [sorted(by_topic)] if are_alike and by_topic else [[each] for each in sorted(by_topic)]
    for topic_ids in pools:
        partitions = [
            (topic_id, number)
            for topic_id in topic_ids
            for number in sorted(assignable.get(topic_id, ()))
        ]
        sharing = by_topic[topic_ids[0]]
        before = {member_id: _partitions(members[member_id].current) for member_id in sharing}
        for member_id, dealt in _Deal(sharing, partitions, before).deal().items():
            held[member_id] |= dealt
    return {member_id: _assignment(partitions) for member_id, partitions in held.items()}


class _Deal:
    """Partitions that some members share."""

    def __init__(
        self,
        members: Sequence[str],
        partitions: Sequence[Partition],
        before: Mapping[str, set[Partition]],
    ) -> None:
        self._partitions = partitions
        # How many members a partition has, and how many partitions each member, so that it adds up.
        self._sharing = -(-len(members) // len(partitions)) if partitions else 0
        total, count = self._sharing * len(partitions), len(members)
        self._wanted = {
            member_id: -(-total * (n + 1) // count) - -(-total * n // count)
            for n, member_id in enumerate(members)
        }
        known = set(partitions)
        self._held = {member_id: before[member_id] & known for member_id in members}
        self._sharers = Counter(each for held in self._held.values() for each in held)

    def deal(self) -> dict[str, set[Partition]]:
        self._take_away_what_too_many_share()
        self._take_away_from_members_with_too_many()
        self._fill_up()
        return self._held

    def _take_away_what_too_many_share(self) -> None:
        for partition in self._partitions:
            if self._sharers[partition] <= self._sharing:
                continue
            sharers = [member_id for member_id, held in self._held.items() if partition in held]
            sharers.sort(key=self._missing)  # those with too many first
            for member_id in sharers[: self._sharers[partition] - self._sharing]:
                self._take_away(member_id, partition)

    def _take_away_from_members_with_too_many(self) -> None:
        for member_id, held in self._held.items():
            surplus = -self._missing(member_id)
            if surplus > 0:
                ordered = sorted(held, key=lambda each: (-self._sharers[each], each))
                for partition in ordered[:surplus]:
                    self._take_away(member_id, partition)

    def _fill_up(self) -> None:
        """Give each partition its members, those that miss most first.

        If all that miss some have a partition already, it stays with fewer members.
        """
        for partition in self._partitions:
            lacking = self._sharing - self._sharers[partition]
            if lacking <= 0:
                continue
            able = [
                member_id
                for member_id, held in self._held.items()
                if self._missing(member_id) > 0 and partition not in held
            ]
            able.sort(key=lambda member_id: -self._missing(member_id))
            for member_id in able[:lacking]:
                self._held[member_id].add(partition)
                self._sharers[partition] += 1

    def _missing(self, member_id: str) -> int:
        """Return how many more partitions a member should have; less than 0 if it has too many."""
        return self._wanted[member_id] - len(self._held[member_id])

    def _take_away(self, member_id: str, partition: Partition) -> None:
        self._held[member_id].discard(partition)
        self._sharers[partition] -= 1


def _partitions(assignment: Assignment) -> set[Partition]:
    return {(topic_id, number) for topic_id, numbers in assignment.items() for number in numbers}


def _assignment(partitions: Iterable[Partition]) -> Assignment:
    by_topic: dict[UUID, set[int]] = {}
    for topic_id, number in partitions:
        by_topic.setdefault(topic_id, set()).add(number)
    return {topic_id: frozenset(numbers) for topic_id, numbers in sorted(by_topic.items())}
