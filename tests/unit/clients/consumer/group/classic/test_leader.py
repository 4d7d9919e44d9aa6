"""How the leader of a group reads the subscriptions of its members."""

from __future__ import annotations

from pyk.clients.consumer.group.classic.leader import topics_of
from pyk.clients.consumer.group.classic.subscription import Subscription


def test_invalid_topics_of_other_members_are_left_out() -> None:
    members = [
        Subscription(member_id="mine", topics=frozenset({"orders"})),
        Subscription(member_id="foreign", topics=frozenset({"payments", "x" * 300, "a b", ""})),
    ]

    assert topics_of(members) == {"orders", "payments"}
