"""The interface of assignors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Protocol

from pyk.clients.topic_partition import TopicPartition
from pyk.runtime import slotted

Assignment = dict[str, list[TopicPartition]]


class RebalanceProtocol(Enum):
    """The protocol by which members give up partitions while a group rebalances."""

    EAGER = "eager"
    """Give up everything before joining."""
    COOPERATIVE = "cooperative"
    """Keep everything while joining, then give up only what goes to another member (KIP-429)."""


@slotted.frozen(kw_only=True)
class Subscription:
    """The subscription of one member: its topics, and its partitions with their generation."""

    member_id: str
    topics: frozenset[str]
    owned_partitions: tuple[TopicPartition, ...] = ()
    generation_id: int = -1
    group_instance_id: str | None = None
    rack: str | None = None
    user_data: bytes | None = None


@slotted.frozen
class TopicLayout:
    """The number of partitions of a topic, and the racks that hold a replica of each."""

    partition_count: int
    racks: tuple[frozenset[str], ...] = ()


class Assignor(Protocol):
    """Divides partitions among the members of a group.

    ``assign`` runs in the one member that leads the group. It must give every partition of a
    subscribed topic to exactly one member that subscribes to it, and name every member in its
    answer.
    """

    @property
    def name(self) -> str:
        """Return the name all members of the group must share, as Kafka spells it."""

    @property
    def rebalance_protocol(self) -> RebalanceProtocol:
        """Return whether members keep their partitions while they rejoin."""

    def user_data(self, owned: Sequence[TopicPartition], generation_id: int) -> bytes | None:
        """Return the user data that this member adds to its subscription, for the leader's
        assignor."""

    def assign(
        self, topics: Mapping[str, TopicLayout], members: Sequence[Subscription]
    ) -> Assignment:
        """Return the partitions of each member; ``topics`` lacks those that do not exist."""


def in_group_order(members: Sequence[Subscription]) -> list[Subscription]:
    """Return ``members`` as every client of Kafka sorts them: static ones first, by instance id."""
    return sorted(
        members,
        key=lambda member: (
            (0, member.group_instance_id, member.member_id)
            if member.group_instance_id is not None
            else (1, member.member_id, "")
        ),
    )


def existing_topics(
    topics: Mapping[str, TopicLayout], members: Sequence[Subscription]
) -> dict[str, list[Subscription]]:
    """Return the sorted subscribers of each topic that exists and has partitions."""
    subscribers: dict[str, list[Subscription]] = {}
    for member in in_group_order(members):
        for topic in member.topics:
            if topic in topics and topics[topic].partition_count > 0:
                subscribers.setdefault(topic, []).append(member)
    return dict(sorted(subscribers.items()))
