"""Consumer groups, whatever their members and the cluster do (KIP-848).

No partition has two owners, not even for a moment, and when members only send heartbeats the group
becomes stable with every partition assigned.
"""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from support.consumer_members import ConsumerGroups, Partitions

MEMBERS = ["a", "b", "c", "d"]
member_ids = st.sampled_from(MEMBERS)
topics = st.lists(st.sampled_from(["orders", "payments"]), min_size=1, unique=True)

events = st.one_of(
    st.tuples(st.just("join"), member_ids, topics),
    st.tuples(st.just("subscribe"), member_ids, topics),
    st.tuples(st.just("leave"), member_ids),
    st.tuples(st.just("beat"), member_ids),
    st.tuples(st.just("lose the answer"), member_ids),
    st.tuples(st.just("grow"), st.integers(1, 6)),
    st.tuples(st.just("restart")),
    st.tuples(st.just("let sessions end")),
)


class Members:
    """Members that do as they are told, and give up everything when they are fenced."""

    def __init__(self) -> None:
        self.groups = ConsumerGroups()
        self.groups.create("orders", 3)
        self.groups.create("payments", 2)
        self.epochs: dict[str, int] = {}
        self.owned: dict[str, Partitions] = {}
        self.topics: dict[str, list[str]] = {}
        self.unsure: set[str] = set()
        """Members that did not get an answer: they say and are told everything the next time."""

    def do(self, event: tuple[Any, ...]) -> None:
        match event:
            case ("join", member_id, topics):
                self.topics[member_id] = topics
                self.join(member_id)
            case ("subscribe", member_id, topics) if member_id in self.epochs:
                self.topics[member_id] = topics
                self.beat(member_id, subscribed_topic_names=topics)
            case ("leave", member_id) if member_id in self.epochs:
                self.groups.leave_as(member_id)
                self.forget(member_id)
            case ("beat", member_id) if member_id in self.epochs:
                self.beat(member_id)
            case ("lose the answer", member_id) if member_id in self.epochs:
                self.send(member_id)
                self.unsure.add(member_id)
            case ("grow", count):
                self.groups.create("orders", count)
            case ("restart",):
                self.groups.restart()
            case ("let sessions end",):
                self.groups.advance(50)
        self.check()

    def join(self, member_id: str) -> None:
        self.owned[member_id] = {}
        self.take(member_id, self.groups.join_as(member_id, *self.topics[member_id]))

    def beat(self, member_id: str, **more: Any) -> None:
        self.take(member_id, self.send(member_id, **more))

    def send(self, member_id: str, **more: Any) -> Any:
        if member_id in self.unsure:
            more |= {
                "rebalance_timeout_ms": 60_000,
                "subscribed_topic_names": self.topics[member_id],
            }
        return self.groups.beat(member_id, self.epochs[member_id], self.owned[member_id], **more)

    def take(self, member_id: str, response: Any) -> None:
        self.unsure.discard(member_id)
        if response.error_code:
            self.forget(member_id)
            return
        self.epochs[member_id] = response.member_epoch
        told = self.groups.told(response)
        if told is not None:
            self.owned[member_id] = told

    def forget(self, member_id: str) -> None:
        self.epochs.pop(member_id, None)
        self.owned.pop(member_id, None)

    def check(self) -> None:
        alive = {
            member_id: owned
            for member_id, owned in self.owned.items()
            if member_id in getattr(self.groups.shard.groups.get("readers"), "members", {})
        }
        owned = [
            (topic, number)
            for of_member in alive.values()
            for topic, numbers in of_member.items()
            for number in numbers
        ]
        assert len(owned) == len(set(owned)), alive


@settings(max_examples=200)
@given(st.lists(events, max_size=25))
def test_a_partition_has_one_owner_and_every_partition_comes_to_one(
    happenings: list[tuple[Any, ...]],
) -> None:
    members = Members()
    for event in happenings:
        members.do(event)

    for member_id in MEMBERS[:2]:
        members.topics.setdefault(member_id, ["orders"])
        if member_id not in members.epochs:
            members.join(member_id)
    for _ in range(8):
        for member_id in MEMBERS:
            if member_id not in members.epochs and member_id in members.owned:
                members.forget(member_id)
            if member_id in members.epochs:
                members.beat(member_id)
            elif member_id in MEMBERS[:2]:
                members.join(member_id)
            members.check()

    described = members.groups.describe()
    assert described.group_state == "Stable"
    subscribed = {topic for each in described.members for topic in each.subscribed_topic_names}
    assigned = sorted(
        (topic.topic_name, number)
        for each in described.members
        for topic in each.assignment.topic_partitions
        for number in topic.partitions
    )
    image = members.groups.image
    assert assigned == sorted(
        (topic, number) for topic in subscribed for number in image.topics[topic].partitions
    )
