"""Laws of every assignor, with any claims of members: old generations, duplicates, nonsense."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from pyk.clients.consumer.group.classic.assignors import (
    Assignment,
    Assignor,
    CooperativeStickyAssignor,
    RangeAssignor,
    RoundRobinAssignor,
    StickyAssignor,
    Subscription,
    TopicLayout,
)
from pyk.clients.consumer.group.classic.consumer_protocol import cooperative_claims
from pyk.clients.topic_partition import TopicPartition

TOPICS = ("a", "b", "c", "missing")
PARTITIONS = st.builds(TopicPartition, st.sampled_from(TOPICS), st.integers(-2, 9))
RACKS = ("east", "west", "north")
LAYOUT = st.one_of(
    st.builds(TopicLayout, st.integers(0, 8)),
    st.lists(st.frozensets(st.sampled_from(RACKS)), max_size=8).map(
        lambda racks: TopicLayout(len(racks), tuple(racks))
    ),
)
LAYOUTS = st.fixed_dictionaries(dict.fromkeys(TOPICS[:3], LAYOUT))
CLAIMS = st.lists(PARTITIONS, max_size=8)
ASSIGNORS = st.sampled_from(
    [RangeAssignor(), RoundRobinAssignor(), StickyAssignor(), CooperativeStickyAssignor()]
)


@st.composite
def groups(draw: st.DrawFn) -> list[Subscription]:
    count = draw(st.integers(1, 6))
    return [
        member(f"m{number}", draw(st.frozensets(st.sampled_from(TOPICS))), draw(CLAIMS), draw)
        for number in range(count)
    ]


def member(
    member_id: str, topics: frozenset[str], claims: list[TopicPartition], draw: st.DrawFn
) -> Subscription:
    generation_id = draw(st.integers(-1, 4))
    return Subscription(
        member_id=member_id,
        topics=topics,
        owned_partitions=tuple(claims),
        generation_id=generation_id,
        rack=draw(st.sampled_from((None, *RACKS))),
        user_data=draw(
            st.one_of(
                st.none(),
                st.binary(max_size=20),
                st.just(StickyAssignor().user_data(claims, generation_id)),
            )
        ),
    )


def subscribed_partitions(
    layouts: dict[str, TopicLayout], members: list[Subscription]
) -> set[TopicPartition]:
    return {
        TopicPartition(topic, partition)
        for topic, layout in layouts.items()
        for partition in range(layout.partition_count)
        if any(topic in member.topics for member in members)
    }


@given(ASSIGNORS, LAYOUTS, groups())
def test_no_partition_has_two_owners_and_every_owner_subscribes(
    assignor: Assignor, layouts: dict[str, TopicLayout], members: list[Subscription]
) -> None:
    assignment = assignor.assign(layouts, members)

    topics = {member.member_id: member.topics for member in members}
    owners = Counter(p for partitions in assignment.values() for p in partitions)
    assert assignment.keys() == topics.keys()
    assert all(count == 1 for count in owners.values())
    assert all(
        p.topic in topics[owner] for owner, partitions in assignment.items() for p in partitions
    )
    assert owners.keys() <= subscribed_partitions(layouts, members)


@given(
    st.sampled_from([RangeAssignor(), RoundRobinAssignor(), StickyAssignor()]), LAYOUTS, groups()
)
def test_eager_assignors_assign_every_partition(
    assignor: Assignor, layouts: dict[str, TopicLayout], members: list[Subscription]
) -> None:
    assignment = assignor.assign(layouts, members)

    assigned = {p for partitions in assignment.values() for p in partitions}
    assert assigned == subscribed_partitions(layouts, members)


def claiming_the_only_partition(member_id: str, **claim: Any) -> Subscription:
    return Subscription(
        member_id=member_id,
        topics=frozenset("a"),
        owned_partitions=(TopicPartition("a", 0),),
        **claim,
    )


@given(LAYOUTS, groups())
@example(
    {"a": TopicLayout(1)},
    [
        claiming_the_only_partition("m0", generation_id=0),
        # The user data of a member of an older version names generation 1.
        claiming_the_only_partition("m1", user_data=b"\0\0\0\1"),
    ],
)
def test_a_cooperative_group_becomes_stable_and_then_owns_every_partition(
    layouts: dict[str, TopicLayout], members: list[Subscription]
) -> None:
    for generation_id in range(5, 9):
        assignment = CooperativeStickyAssignor().assign(layouts, members)
        for partition in {p for partitions in assignment.values() for p in partitions}:
            assert others_that_must_revoke_first(partition, assignment, members) == set()
        members = after_revoking(members, assignment, generation_id)

    assert CooperativeStickyAssignor().assign(layouts, members) == assignment
    assigned = {p for partitions in assignment.values() for p in partitions}
    assert assigned == subscribed_partitions(layouts, members)


@given(LAYOUTS, groups())
def test_members_of_a_stable_group_keep_their_partitions_when_one_leaves(
    layouts: dict[str, TopicLayout], members: list[Subscription]
) -> None:
    topics = frozenset(TOPICS)
    fresh = [Subscription(member_id=member.member_id, topics=topics) for member in members]
    before = CooperativeStickyAssignor().assign(layouts, fresh)
    stayed = after_revoking(fresh[1:], before, 1)

    after = CooperativeStickyAssignor().assign(layouts, stayed)

    assert all(set(before[m.member_id]) <= set(after[m.member_id]) for m in stayed)


def others_that_must_revoke_first(
    partition: TopicPartition, assignment: Assignment, members: list[Subscription]
) -> set[str]:
    """Return members that own a partition in the newest generation while another is given it.

    Members of older versions name their generation in their user data.
    """
    owner = next(m for m, partitions in assignment.items() if partition in partitions)
    claims = {
        member.member_id: cooperative_claims(member)[0]
        for member in members
        if partition in member.owned_partitions and partition.topic in member.topics
    }
    newest = max(claims.values(), default=None)
    if newest is None or claims.get(owner) == newest:
        return set()
    return {m for m, generation_id in claims.items() if generation_id == newest and m != owner}


def after_revoking(
    members: list[Subscription], assignment: Assignment, generation_id: int
) -> list[Subscription]:
    return [
        Subscription(
            member_id=member.member_id,
            topics=member.topics,
            owned_partitions=tuple(assignment[member.member_id]),
            generation_id=generation_id,
        )
        for member in members
    ]
