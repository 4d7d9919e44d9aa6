"""Divide partitions as evenly as possible while moving as few as possible.

1. Ownership: each member keeps what it owned, if the topic still has that partition, the member
   still subscribes, and no member claims it from a later generation. Two claims of one generation
   cancel each other: neither member keeps it.
2. A partition without an owner goes to the subscriber with the fewest partitions, topics with few
   subscribers first. Where members and partitions have racks (KIP-881), members with a replica in
   their rack come first, up to an even share; what a member owned stays with it all the same.
3. While some member has at least two more than another that it can reach, partitions move towards
   that other, along the shortest chain of members where each may take over a partition of the one
   before. Every step lowers the sum of the squares of the loads, so it ends; where no chain is
   left, no division is more balanced (an optimal semi-matching).
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Mapping, Sequence

from pyk.clients.consumer.group.classic.subscription import (
    Assignment,
    Subscription,
    TopicLayout,
    existing_topics,
)
from pyk.clients.topic_partition import TopicPartition

Claims = Mapping[str, tuple[int, Sequence[TopicPartition]]]


def divide(
    topics: Mapping[str, TopicLayout], members: Sequence[Subscription], claims: Claims
) -> Assignment:
    """Return the partitions of each member; ``claims``: what each owned, in which generation."""
    return _Division(topics, members, claims).divide()


def rightful_owners(
    topics: Mapping[str, TopicLayout], members: Sequence[Subscription], claims: Claims
) -> dict[TopicPartition, str]:
    """Return the member that may keep each partition."""
    best: dict[TopicPartition, tuple[int, str | None]] = {}
    subscribed = {member.member_id: member.topics for member in members}
    for member_id, (generation_id, partitions) in claims.items():
        for claim in dict.fromkeys(partitions):
            if claim.topic not in subscribed[member_id] or not _exists(claim, topics):
                continue
            newest, _ = best.get(claim, (generation_id - 1, None))
            if generation_id > newest:
                best[claim] = (generation_id, member_id)
            elif generation_id == newest:
                best[claim] = (generation_id, None)
    return {claim: owner for claim, (_, owner) in sorted(best.items()) if owner is not None}


def _exists(claim: TopicPartition, topics: Mapping[str, TopicLayout]) -> bool:
    layout = topics.get(claim.topic)
    return layout is not None and 0 <= claim.partition < layout.partition_count


class _Division:
    """One run of the algorithm: the holder of each partition, by topic, while it improves."""

    def __init__(
        self, topics: Mapping[str, TopicLayout], members: Sequence[Subscription], claims: Claims
    ) -> None:
        self._topics = topics
        self._subscribers = {
            topic: [member.member_id for member in subscribers]
            for topic, subscribers in existing_topics(topics, members).items()
        }
        self._racks = {member.member_id: member.rack for member in members if member.rack}
        self._load = dict.fromkeys((member.member_id for member in members), 0)
        self._held: dict[str, dict[str, list[int]]] = {member_id: {} for member_id in self._load}
        self._kept = rightful_owners(topics, members, claims)
        self._assigned = set(self._kept)
        total = sum(topics[topic].partition_count for topic in self._subscribers)
        self._even_share = -(-total // max(1, len(members)))

    def divide(self) -> Assignment:
        for (topic, partition), member_id in self._kept.items():
            self._give(member_id, topic, partition)
        by_subscribers = sorted(self._subscribers, key=lambda name: len(self._subscribers[name]))
        for topic in by_subscribers:
            self._assign_near(topic)
        for topic in by_subscribers:
            self._assign_unowned(topic)
        self._balance()
        return {
            member_id: [
                TopicPartition(topic, partition)
                for topic, partitions in sorted(held.items())
                for partition in sorted(partitions)
            ]
            for member_id, held in self._held.items()
        }

    def _unowned(self, topic: str) -> list[int]:
        partitions = range(self._topics[topic].partition_count)
        return [p for p in partitions if TopicPartition(topic, p) not in self._assigned]

    def _assign_near(self, topic: str) -> None:
        """Give partitions to members in a rack of theirs, each up to an even share."""
        racks = self._topics[topic].racks
        everywhere = frozenset[str]().union(*racks)
        if all(each == everywhere for each in racks):
            return  # no member is nearer to one partition than to another
        by_rack: dict[str, list[tuple[int, int, str]]] = defaultdict(list)
        for rank, member_id in enumerate(self._subscribers[topic]):
            rack = self._racks.get(member_id)
            if rack is not None:
                heapq.heappush(by_rack[rack], (self._load[member_id], rank, member_id))
        for partition in self._unowned(topic):
            near = [by_rack[rack] for rack in racks[partition] if rack in by_rack]
            emptiest = min(near, key=lambda members: members[0], default=None)
            if emptiest is None or emptiest[0][0] >= self._even_share:
                continue
            load, rank, member_id = emptiest[0]
            self._give(member_id, topic, partition)
            self._assigned.add(TopicPartition(topic, partition))
            heapq.heapreplace(emptiest, (load + 1, rank, member_id))

    def _assign_unowned(self, topic: str) -> None:
        by_load = [(self._load[m], rank, m) for rank, m in enumerate(self._subscribers[topic])]
        heapq.heapify(by_load)
        for partition in self._unowned(topic):
            load, rank, member_id = by_load[0]
            self._give(member_id, topic, partition)
            heapq.heapreplace(by_load, (load + 1, rank, member_id))

    def _balance(self) -> None:
        """Shift partitions from the fullest member on until no chain of moves helps."""
        improved = True
        while improved:
            improved = False
            fullest = [(-load, member_id) for member_id, load in self._load.items()]
            heapq.heapify(fullest)
            while fullest:
                load, member_id = heapq.heappop(fullest)
                if -load != self._load[member_id]:
                    continue  # its present load is in the heap as well
                chain = self._chain_to_emptier(member_id)
                if chain:
                    self._shift(chain)
                    improved = True
                    for changed in (member_id, chain[-1][2]):
                        heapq.heappush(fullest, (-self._load[changed], changed))

    def _chain_to_emptier(self, start: str) -> list[tuple[str, str, str]]:
        """Return moves ``(giver, topic, taker)`` to some member with two fewer than ``start``.

        Breadth first, so the chain is the shortest; among its ends it takes the emptiest.
        """
        goal = self._load[start] - 2
        if goal < min(self._load.values()):
            return []
        reached: dict[str, tuple[str, str]] = {start: ("", "")}
        seen_topics: set[str] = set()
        frontier = [start]
        while frontier:
            found: list[str] = []
            for giver in frontier:
                for topic in sorted(self._held[giver].keys() - seen_topics):
                    seen_topics.add(topic)
                    for taker in self._subscribers[topic]:
                        if taker not in reached:
                            reached[taker] = (giver, topic)
                            found.append(taker)
            end = min(found, key=lambda m: (self._load[m], m), default=None)
            if end is not None and self._load[end] <= goal:
                return _trace(reached, end)
            frontier = found
        return []

    def _shift(self, chain: list[tuple[str, str, str]]) -> None:
        """Move partitions along ``chain``, never more than brings its two ends nearer.

        More than one at a time only while the giver stays above average: what it would get back
        later moves twice.
        """
        giver_load, taker_load = self._load[chain[0][0]], self._load[chain[-1][2]]
        average = -(-sum(self._load.values()) // len(self._load))
        supply = min(len(self._held[giver][topic]) for giver, topic, _ in chain)
        count = max(1, min((giver_load - taker_load) // 2, giver_load - average, supply))
        for giver, topic, taker in reversed(chain):
            for _ in range(count):
                self._give(taker, topic, self._take(giver, topic))

    def _give(self, member_id: str, topic: str, partition: int) -> None:
        self._held[member_id].setdefault(topic, []).append(partition)
        self._load[member_id] += 1

    def _take(self, member_id: str, topic: str) -> int:
        """Take the partition that it got last; those that it had before this run go last of all."""
        partitions = self._held[member_id][topic]
        partition = partitions.pop()
        if not partitions:
            del self._held[member_id][topic]
        self._load[member_id] -= 1
        return partition


def _trace(reached: Mapping[str, tuple[str, str]], end: str) -> list[tuple[str, str, str]]:
    chain = []
    while (step := reached[end])[0]:
        giver, topic = step
        chain.append((giver, topic, end))
        end = giver
    return chain[::-1]
