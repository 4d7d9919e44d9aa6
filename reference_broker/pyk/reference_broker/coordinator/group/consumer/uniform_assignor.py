"""The assignor ``uniform``: balanced first, then with as few moves as possible. Pure.

1. Every member keeps what it has of the topics that it still subscribes to.
2. Partitions without an owner go to the subscriber with the fewest.
3. While a member has two more than another one that it can reach, one partition moves. With
   different subscriptions the way may be long: a member gives a partition of one topic to a second
   member, which gives one of another topic to a third.

Members that subscribe to the same topics so end up with at most one partition more than each other.
"""

from __future__ import annotations

import heapq
from collections import deque
from uuid import UUID

from .assignment import Assignment, PartitionCounts, Subscribers, subscribers_by_topic

_Ways = dict[str, tuple[str, UUID]]
"""Who gives a member a partition, and of which topic."""


def assign_uniformly(
    members: Subscribers, partition_counts: PartitionCounts
) -> dict[str, Assignment]:
    """Return the partitions of each member; every partition of a subscribed topic has one owner."""
    balance = _Balance(members, partition_counts)
    balance.keep()
    balance.hand_out()
    balance.even_out()
    return {
        member_id: {topic_id: frozenset(held) for topic_id, held in topics.items() if held}
        for member_id, topics in balance.held.items()
    }


class _Balance:
    def __init__(self, members: Subscribers, partition_counts: PartitionCounts) -> None:
        order = sorted(members)
        self._members = members
        self._subscribers = subscribers_by_topic(members, order)
        self._load = dict.fromkeys(order, 0)
        self.held: dict[str, dict[UUID, set[int]]] = {member_id: {} for member_id in order}
        self._missing = {
            topic_id: set(range(partition_counts[topic_id])) for topic_id in self._subscribers
        }

    def keep(self) -> None:
        for member_id in self.held:
            member = self._members[member_id]
            for topic_id in member.topics & member.current.keys():
                kept = self._missing[topic_id] & member.current[topic_id]
                self._missing[topic_id] -= kept
                self.held[member_id][topic_id] = kept
                self._load[member_id] += len(kept)

    def hand_out(self) -> None:
        # Topics with few subscribers first: the others can still even out what that leaves.
        for topic_id, subscribers in sorted(
            self._subscribers.items(), key=lambda each: (len(each[1]), each[0])
        ):
            loads = [(self._load[member_id], member_id) for member_id in subscribers]
            heapq.heapify(loads)
            for partition in sorted(self._missing[topic_id]):
                load, member_id = loads[0]
                heapq.heapreplace(loads, (load + 1, member_id))
                self._load[member_id] = load + 1
                self.held[member_id].setdefault(topic_id, set()).add(partition)

    def even_out(self) -> None:
        while self._move_one():
            pass

    def _move_one(self) -> bool:
        least = min(self._load.values(), default=0)
        for giver in sorted(self._load, key=self._load.__getitem__, reverse=True):
            if self._load[giver] < least + 2:
                return False
            ways = self._ways_from(giver)
            # They are in the order of their distance, and the first of equals is taken.
            taker = min(ways, key=self._load.__getitem__, default=giver)
            if self._load[taker] + 2 <= self._load[giver]:
                self._move(giver, taker, ways)
                return True
        return False

    def _ways_from(self, begin: str) -> _Ways:
        ways: _Ways = {}
        waiting = deque([begin])
        seen: set[UUID] = set()
        while waiting:
            giver = waiting.popleft()
            for topic_id in [each for each, held in self.held[giver].items() if held]:
                if topic_id in seen:
                    continue
                seen.add(topic_id)
                for taker in self._subscribers[topic_id]:
                    if taker != begin and taker not in ways:
                        ways[taker] = giver, topic_id
                        waiting.append(taker)
        return ways

    def _move(self, giver: str, taker: str, ways: _Ways) -> None:
        self._load[giver] -= 1
        self._load[taker] += 1
        while taker != giver:
            holder, topic_id = ways[taker]
            held = self.held[holder][topic_id]
            before = self._members[holder].current.get(topic_id, frozenset())
            partition = max(held, key=lambda each: (each not in before, each))
            held.remove(partition)
            self.held[taker].setdefault(topic_id, set()).add(partition)
            taker = holder
