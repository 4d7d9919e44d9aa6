"""``sticky`` and ``cooperative-sticky``: as balanced as possible, with as few moves as possible."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from pyk.clients.consumer.group.classic.assignors.division import divide, rightful_owners
from pyk.clients.consumer.group.classic.consumer_protocol import (
    cooperative_claims,
    encode_cooperative_user_data,
    encode_sticky_user_data,
    sticky_claims,
)
from pyk.clients.consumer.group.classic.subscription import (
    Assignment,
    RebalanceProtocol,
    Subscription,
    TopicLayout,
)
from pyk.clients.topic_partition import TopicPartition


class StickyAssignor:
    """Balance with few moves; members give up everything while they rejoin."""

    name = "sticky"
    rebalance_protocol = RebalanceProtocol.EAGER

    def user_data(self, owned: Sequence[TopicPartition], generation_id: int) -> bytes | None:
        return encode_sticky_user_data(owned, generation_id)

    def assign(
        self, topics: Mapping[str, TopicLayout], members: Sequence[Subscription]
    ) -> Assignment:
        claims = {member.member_id: sticky_claims(member) for member in members}
        return divide(topics, members, claims)


class CooperativeStickyAssignor:
    """Balance with few moves; what moves is free for one generation in between (KIP-429)."""

    name = "cooperative-sticky"
    rebalance_protocol = RebalanceProtocol.COOPERATIVE

    def user_data(self, owned: Sequence[TopicPartition], generation_id: int) -> bytes | None:
        return encode_cooperative_user_data(generation_id)

    def assign(
        self, topics: Mapping[str, TopicLayout], members: Sequence[Subscription]
    ) -> Assignment:
        claims = {member.member_id: cooperative_claims(member) for member in members}
        rightful = rightful_owners(topics, members, claims)
        divided = divide(topics, members, claims)
        claimants: dict[TopicPartition, set[str]] = defaultdict(set)
        for member in members:
            for partition in member.owned_partitions:
                claimants[partition].add(member.member_id)
        # Partitions that another member still owns are left out: it gives them up now, and the next
        # generation assigns them.
        return {
            member_id: [
                partition
                for partition in partitions
                if rightful.get(partition) == member_id or claimants[partition] <= {member_id}
            ]
            for member_id, partitions in divided.items()
        }
