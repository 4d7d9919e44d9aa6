"""``roundrobin``: all partitions of all topics, dealt out in turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle

from pyk.clients.consumer.group.classic.subscription import (
    Assignment,
    RebalanceProtocol,
    Subscription,
    TopicLayout,
    existing_topics,
    in_group_order,
)
from pyk.clients.topic_partition import TopicPartition


class RoundRobinAssignor:
    """Deal partitions in order to members in order, passing over those that do not subscribe."""

    name = "roundrobin"
    rebalance_protocol = RebalanceProtocol.EAGER

    def user_data(self, owned: Sequence[TopicPartition], generation_id: int) -> None:
        return None

    def assign(
        self, topics: Mapping[str, TopicLayout], members: Sequence[Subscription]
    ) -> Assignment:
        assignment: Assignment = {member.member_id: [] for member in members}
        dealer = cycle(in_group_order(members))
        for topic in existing_topics(topics, members):
            for partition in range(topics[topic].partition_count):
                member = next(candidate for candidate in dealer if topic in candidate.topics)
                assignment[member.member_id].append(TopicPartition(topic, partition))
        return assignment
