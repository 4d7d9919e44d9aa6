"""The assignor ``range``: each topic is cut into ranges, in the order of the members. Pure.

Topics with as many partitions and the same subscribers are cut at the same places, so that records
of the same key reach the same member, whatever the topic. Static members keep their place in the
order when they restart. What a member had before does not count, as in Kafka.
"""

from __future__ import annotations

from uuid import UUID

from .assignment import Assignment, PartitionCounts, Subscribers, subscribers_by_topic


def assign_ranges(members: Subscribers, partition_counts: PartitionCounts) -> dict[str, Assignment]:
    """Return the partitions of each member; every partition of a subscribed topic has one owner."""
    assigned: dict[str, dict[UUID, frozenset[int]]] = {member_id: {} for member_id in members}

    def order(member_id: str) -> tuple[bool, str]:
        instance_id = members[member_id].instance_id
        return instance_id is None, instance_id or member_id

    for topic_id, subscribers in subscribers_by_topic(members, sorted(members, key=order)).items():
        least, more = divmod(partition_counts[topic_id], len(subscribers))
        begin = 0
        for number, member_id in enumerate(subscribers):
            end = begin + least + (number < more)
            if end > begin:
                assigned[member_id][topic_id] = frozenset(range(begin, end))
            begin = end
    return {**assigned}
