"""Classic members that share four partitions, before and after their group is a consumer group."""

from __future__ import annotations

from pyk.protocol.messages.consumer_protocol import (
    ConsumerProtocolAssignment,
    TopicPartition,
)
from pyk.protocol.persisted import decode_versioned, encode_versioned
from support.consumer_members import ConsumerGroups


def assigned(partitions: list[int]) -> bytes:
    topics = [TopicPartition(topic="orders", partitions=partitions)]
    return encode_versioned(ConsumerProtocolAssignment(assigned_partitions=topics), 1)


def stable(groups: ConsumerGroups, count: int = 2) -> tuple[int, list[str]]:
    """Bring classic members together, each with its share of the four partitions."""
    joined = [groups.join_dynamic() for _ in range(count)]
    groups.advance(3 * (count + 1))
    generation = joined[0][1].response.generation_id
    leader = joined[0][1].response.leader
    members = sorted((each for each, _ in joined), key=lambda each: each != leader)
    size = 4 // count
    shares = {each: list(range(i * size, i * size + size)) for i, each in enumerate(members)}
    for member_id in members[1:]:
        groups.sync(member_id, generation)
    groups.sync(leader, generation, {each: assigned(share) for each, share in shares.items()})
    return generation, members


def rejoin(groups: ConsumerGroups, member_id: str, owned: list[int] | None = None) -> int:
    """Let a classic member join and sync in a consumer group; return its generation."""
    answer = groups.join_owning(member_id, owned or []).response
    assert not answer.error_code, answer
    assert not groups.sync(member_id, answer.generation_id).error
    generation: int = answer.generation_id
    return generation


def synced(groups: ConsumerGroups, member_id: str, generation: int) -> list[int]:
    answer = groups.sync(member_id, generation).response
    found = decode_versioned(ConsumerProtocolAssignment, answer.assignment)
    return [n for each in found.assigned_partitions for n in each.partitions]
