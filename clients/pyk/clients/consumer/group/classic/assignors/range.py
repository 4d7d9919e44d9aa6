"""``range``: consecutive partitions of each topic, topics with equal subscribers side by side.

Members that subscribe to the same topics get the same partition numbers of each, which is what
joins need. Where members and partitions have racks (KIP-881), members first get partitions with a
replica in their rack, as many as their share allows; what is left is divided without regard to
racks.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from pyk.clients.consumer.group.classic.subscription import (
    Assignment,
    RebalanceProtocol,
    Subscription,
    TopicLayout,
    existing_topics,
)
from pyk.clients.topic_partition import TopicPartition


class RangeAssignor:
    """Divide each topic on its own into ranges, one a member."""

    name = "range"
    rebalance_protocol = RebalanceProtocol.EAGER

    def user_data(self, owned: Sequence[TopicPartition], generation_id: int) -> None:
        return None

    def assign(
        self, topics: Mapping[str, TopicLayout], members: Sequence[Subscription]
    ) -> Assignment:
        shares = [
            _TopicShares(topic, topics[topic], subscribers)
            for topic, subscribers in existing_topics(topics, members).items()
        ]
        if any(share.racks_matter for share in shares):
            _assign_by_rack(shares)
        assignment: Assignment = {member.member_id: [] for member in members}
        for share in shares:
            share.assign_ranges(lambda member, partition: True)
            for member_id, partitions in share.assigned.items():
                assignment[member_id] += [
                    TopicPartition(share.topic, partition) for partition in sorted(partitions)
                ]
        return assignment


class _TopicShares:
    """One topic while it is divided: what is unassigned, and what each member may still take."""

    def __init__(self, topic: str, layout: TopicLayout, subscribers: list[Subscription]) -> None:
        self.topic = topic
        self.subscribers = subscribers
        self.partition_count = layout.partition_count
        self.racks = layout.racks or (frozenset[str](),) * layout.partition_count
        self.unassigned = list(range(layout.partition_count))
        self.assigned: dict[str, list[int]] = {member.member_id: [] for member in subscribers}
        self._quota, self._extras = divmod(layout.partition_count, len(subscribers))

    @property
    def racks_matter(self) -> bool:
        """Return whether some member could be nearer to one partition than to another."""
        member_racks = {member.rack for member in self.subscribers if member.rack is not None}
        all_racks = frozenset[str]().union(*self.racks)
        return bool(member_racks & all_racks) and any(racks != all_racks for racks in self.racks)

    def is_near(self, member: Subscription, partition: int) -> bool:
        return member.rack is None or member.rack in self.racks[partition]

    def room(self, member: Subscription) -> int:
        """Return how many more partitions ``member`` may take."""
        limit = self._quota + (1 if self._extras > 0 else 0)
        return max(0, limit - len(self.assigned[member.member_id]))

    def assign_ranges(self, may_take: Callable[[Subscription, int], bool]) -> None:
        """Give each member, in order, the first partitions that it may take."""
        for member in self.subscribers:
            if not self.unassigned:
                return
            suitable = [p for p in self.unassigned if may_take(member, p)]
            self.take(member, suitable[: self.room(member)])

    def take(self, member: Subscription, partitions: Iterable[int]) -> None:
        taken = set(partitions)
        if not taken:
            return
        self.assigned[member.member_id] += taken
        self.unassigned = [p for p in self.unassigned if p not in taken]
        if len(self.assigned[member.member_id]) > self._quota:
            self._extras -= 1


def _assign_by_rack(shares: list[_TopicShares]) -> None:
    """Give members the partitions in their racks; co-partitioned topics only number by number."""
    alike: dict[tuple[tuple[str, ...], int], list[_TopicShares]] = defaultdict(list)
    for share in shares:
        member_ids = tuple(member.member_id for member in share.subscribers)
        alike[member_ids, share.partition_count].append(share)
    for group in alike.values():
        if len(group) > 1:
            _assign_together_by_rack(group)
        elif group[0].racks_matter:
            group[0].assign_ranges(group[0].is_near)


def _assign_together_by_rack(group: list[_TopicShares]) -> None:
    remaining = list(group[0].subscribers)
    for partition in range(group[0].partition_count):
        near = (
            member
            for member in remaining
            if all(share.is_near(member, partition) and share.room(member) for share in group)
        )
        member = next(near, None)
        if member is None:
            continue
        for share in group:
            share.take(member, (partition,))
        if not any(share.room(member) for share in group):
            remaining.remove(member)
