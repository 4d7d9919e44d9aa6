"""Classic members of consumer groups: how long they have, and what they share without others."""

from __future__ import annotations

import logging

import pytest

from pyk.protocol.errors import ErrorCode
from pyk.reference_broker.coordinator.group.consumer.classic_metadata import must_join_again
from pyk.reference_broker.coordinator.group.consumer.member import MemberState
from pyk.reference_broker.coordinator.group.consumer.migration import MigrationPolicy
from pyk.runtime import slotted
from support.classic_members import rejoin, stable, synced
from support.consumer_members import ConsumerGroups, configured

E = ErrorCode


# -- timing --------------------------------------------------------------------------------------


def test_a_classic_member_has_the_session_timeout_that_it_asked_for(
    groups: ConsumerGroups,
) -> None:
    groups.join_as("x", "orders")
    a, joined = groups.join_dynamic(session_s=20)
    groups.sync(a, joined.response.generation_id)
    groups.advance(19)
    assert not groups.heartbeat(a, joined.response.generation_id)
    groups.advance(19)
    groups.beat("x", 2)
    assert a in groups.group.members

    groups.advance(1)

    assert list(groups.group.members) == ["x"]


def test_a_classic_member_that_does_not_rejoin_in_time_is_removed(
    groups: ConsumerGroups, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    generation, (a,) = stable(groups, 1)
    groups.join_as("x", "orders")
    for _ in range(12):
        assert groups.heartbeat(a, generation) is E.REBALANCE_IN_PROGRESS
        groups.beat("x", groups.group.members["x"].epoch)
        groups.advance(5)

    assert groups.heartbeat(a, generation) is E.UNKNOWN_MEMBER_ID
    assert list(groups.group.members) == ["x"]
    assert any(text.endswith("it has not joined again in time") for text in caplog.messages)


def test_a_classic_member_that_does_not_sync_in_time_is_removed(
    groups: ConsumerGroups, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    groups.join_as("x", "orders")
    a, joined = groups.join_dynamic()
    for _ in range(12):
        assert a in groups.group.members
        groups.heartbeat(a, joined.response.generation_id)
        groups.beat("x", groups.group.members["x"].epoch, groups.assigned("x"))
        groups.advance(5)

    assert list(groups.group.members) == ["x"]
    assert any(text.endswith("it has not sent SyncGroup in time") for text in caplog.messages)


def test_a_classic_member_that_has_joined_again_in_time_stays(groups: ConsumerGroups) -> None:
    generation, (a,) = stable(groups, 1)
    groups.join_as("x", "orders")
    assert groups.heartbeat(a, generation) is E.REBALANCE_IN_PROGRESS
    groups.advance(5)
    generation = rejoin(groups, a, [0, 1, 2, 3])
    generation = rejoin(groups, a, groups.assigned(a)["orders"])

    for _ in range(14):
        groups.heartbeat(a, generation)
        groups.beat("x", groups.group.members["x"].epoch, groups.assigned("x"))
        groups.advance(5)

    assert sorted(groups.group.members) == sorted([a, "x"])


def test_the_session_of_a_classic_member_begins_when_it_joins(groups: ConsumerGroups) -> None:
    groups.join_as("x", "orders")
    a, _ = groups.join_dynamic(session_s=20)
    groups.advance(19)
    assert a in groups.group.members

    groups.advance(1)  # long before it would have to sync

    assert list(groups.group.members) == ["x"]


def test_the_session_of_a_classic_member_begins_again_when_it_syncs(
    groups: ConsumerGroups, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    groups.join_as("x", "orders")
    a, joined = groups.join_dynamic(session_s=20)
    groups.advance(15)
    groups.sync(a, joined.response.generation_id)
    groups.advance(19)
    assert a in groups.group.members

    groups.advance(1)

    assert list(groups.group.members) == ["x"]
    assert caplog.messages[-2].endswith("is removed: its session has ended")


def test_a_classic_member_has_no_deadline_for_giving_up_but_that_of_joining(
    groups: ConsumerGroups,
) -> None:
    _, (a,) = stable(groups, 1)
    groups.join_as("x", "orders")

    rejoin(groups, a, [0, 1, 2, 3])

    assert groups.group.members[a].state.name == "UNREVOKED_PARTITIONS"
    assert groups.deadlines == 2  # two sessions


def test_the_timers_of_members_end_with_them(groups: ConsumerGroups) -> None:
    groups.join_as("x", "orders")
    a, joined = groups.join_dynamic()
    groups.heartbeat(a, joined.response.generation_id)

    groups.leave((a, None))
    groups.leave_as("x")

    assert groups.deadlines == 0


# -- without members of the consumer protocol ----------------------------------------------------


def test_classic_members_alone_in_a_consumer_group_share_what_others_leave(
    groups: ConsumerGroups,
) -> None:
    configured(groups, migration_policy=MigrationPolicy.UPGRADE)
    groups.join_as("x", "orders")
    a, _ = groups.join_dynamic()
    generation = rejoin(groups, a)

    groups.leave_as("x")

    assert groups.heartbeat(a, generation) is E.REBALANCE_IN_PROGRESS
    generation = rejoin(groups, a)
    assert sorted(synced(groups, a, generation)) == [0, 1, 2, 3]


def test_classic_members_alone_in_a_consumer_group_learn_of_new_partitions(
    groups: ConsumerGroups,
) -> None:
    configured(groups, migration_policy=MigrationPolicy.UPGRADE)
    groups.join_as("x", "orders")
    a, _ = groups.join_dynamic()
    groups.leave_as("x")
    generation = rejoin(groups, a)
    assert not groups.heartbeat(a, generation)

    groups.create("orders", 5)

    assert groups.heartbeat(a, generation) is E.REBALANCE_IN_PROGRESS
    assert 4 in synced(groups, a, rejoin(groups, a, [0, 1, 2, 3]))


def test_a_classic_member_that_has_to_give_up_joins_again_also_in_its_epoch(
    groups: ConsumerGroups,
) -> None:
    groups.join_as("x", "orders")
    a, _ = groups.join_dynamic()
    member = groups.group.members[a]

    needs = {
        state: must_join_again(groups.group, slotted.evolve(member, state=state))
        for state in MemberState
    }

    assert member.epoch == groups.group.assignment_epoch
    assert needs == {
        MemberState.STABLE: False,
        MemberState.UNREVOKED_PARTITIONS: True,
        MemberState.UNRELEASED_PARTITIONS: False,
        MemberState.UNKNOWN: False,
    }


def test_a_classic_member_that_goes_on_with_heartbeats_has_to_give_up_in_time(
    groups: ConsumerGroups,
) -> None:
    generation, (a,) = stable(groups, 1)
    groups.join_as("x", "orders")
    rejoin(groups, a, [0, 1, 2, 3])
    before = groups.deadlines

    groups.beat(a, generation, {"orders": [0, 1, 2, 3]})

    assert groups.deadlines == before + 1
