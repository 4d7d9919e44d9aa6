"""Groups that change between the classic and the consumer protocol while they have members."""

from __future__ import annotations

from typing import Any

import pytest

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.consumer_protocol import (
    ConsumerProtocolSubscription,
)
from pyk.reference_broker.coordinator.group.downgrade import Downgrade
from support.classic_members import assigned, rejoin, stable
from support.consumer_members import ConsumerGroups, configured, error_of
from support.groups import GROUP, offset

E = ErrorCode


@pytest.mark.parametrize("restart", [False, True], ids=["at once", "after a restart"])
def test_an_upgraded_group_has_the_members_assignments_and_offsets_of_before(
    groups: ConsumerGroups, restart: bool
) -> None:
    generation, (a, b) = stable(groups)
    groups.commit(offset(7), member=(a, None, generation))

    groups.join_as("x", "orders")
    if restart:
        groups.restart()

    group = groups.group
    assert (group.epoch, group.assignment_epoch) == (generation + 1, generation + 1)
    assert {each: groups.assigned(each) for each in (a, b)} == {
        a: {"orders": [0, 1]},
        b: {"orders": [2, 3]},
    }
    assert groups.assigned("x") == {}
    assert [group.members[each].is_classic for each in (a, b, "x")] == [True, True, False]
    assert groups.committed() == 7
    assert groups.heartbeat(a, generation) is E.REBALANCE_IN_PROGRESS
    kept = [*groups.group.targets[a].values()]
    assert rejoin(groups, a, sorted(kept[0])) == generation + 1


@pytest.mark.parametrize("restart", [False, True], ids=["at once", "after a restart"])
def test_a_downgraded_group_rebalances_with_the_members_and_offsets_of_before(
    groups: ConsumerGroups, restart: bool
) -> None:
    groups.join_as("x", "orders")
    a, joined = groups.join_dynamic()
    assert joined.response.generation_id == 3
    groups.commit(offset(7), member=("x", None, 2), version=9)

    groups.leave_as("x")
    if restart:
        groups.restart()

    group = groups.shard.groups[GROUP]
    assert (list(group.members), group.generation_id) == ([a], 3)
    assert groups.state == "PreparingRebalance"
    assert groups.committed() == 7
    again = groups.join(a)
    assert again.response.generation_id == 4
    assert again.response.leader == a


def test_upgrade_and_downgrade_leave_no_record_of_the_other_type(groups: ConsumerGroups) -> None:
    stable(groups)
    groups.join_as("x", "orders")
    groups.leave_as("x")

    latest = {key: value for batch in groups.log.batches for key, value in batch}

    kinds = [int.from_bytes(key[:2], "big") for key, value in latest.items() if value is not None]
    assert kinds == [2]
    assert groups.deadlines == 3  # the sessions of two classic members, the end of the join phase


def test_members_that_wait_are_sent_back_when_the_group_is_upgraded(
    groups: ConsumerGroups,
) -> None:
    generation, (a, b) = stable(groups)
    joining = groups.join(a)
    assert not joining.is_answered

    groups.join_as("x", "orders")

    assert (joining.error, joining.response.member_id) == (E.REBALANCE_IN_PROGRESS, a)
    assert groups.heartbeat(b, generation) is E.REBALANCE_IN_PROGRESS


def test_members_that_wait_for_their_assignment_are_sent_back_too(groups: ConsumerGroups) -> None:
    joined = [groups.join_dynamic() for _ in range(2)]
    groups.advance(9)
    leader = joined[0][1].response.leader
    (follower,) = [each for each, _ in joined if each != leader]
    syncing = groups.sync(follower, 1)

    groups.join_as("x", "orders")

    assert syncing.error is E.REBALANCE_IN_PROGRESS
    assert groups.heartbeat(follower, 1) is E.REBALANCE_IN_PROGRESS


def test_a_group_in_its_first_join_phase_can_be_upgraded(groups: ConsumerGroups) -> None:
    member_id, waiting = groups.join_dynamic()
    assert groups.state == "PreparingRebalance"

    groups.join_as("x", "orders")

    assert waiting.error is E.REBALANCE_IN_PROGRESS
    assert rejoin(groups, member_id) == groups.group.epoch
    assert set(groups.group.members) == {member_id, "x"}


def test_a_member_that_was_told_an_id_may_use_it_after_the_upgrade(groups: ConsumerGroups) -> None:
    stable(groups, 1)
    told = groups.join().response.member_id

    groups.join_as("x", "orders")

    assert rejoin(groups, told) == groups.group.epoch


def test_a_member_of_a_downgraded_group_has_what_it_held_and_not_its_target(
    groups: ConsumerGroups,
) -> None:
    """Otherwise others could be given what it still reads, if the group is upgraded at once."""
    _, (a,) = stable(groups, 1)
    groups.join_as("x", "orders")
    rejoin(groups, a, [0, 1, 2, 3])  # it was told to keep two, and has not given up the others

    groups.leave_as("x")
    groups.join_as("y", "orders")

    assert groups.assigned(a) == {"orders": [0, 1, 2, 3]}
    assert groups.assigned("y") == {}


def test_a_static_member_that_turns_a_group_back_rebalances_it_unless_all_is_assigned(
    groups: ConsumerGroups,
) -> None:
    generation, (a,) = stable(groups, 1)
    groups.join_as("x", "orders", instance_id="one")
    assert groups.group.state.value == "Reconciling"

    groups.join(instance="one")

    assert groups.state == "PreparingRebalance"
    assert groups.heartbeat(a, generation) is E.ILLEGAL_GENERATION


@pytest.mark.parametrize("knows", [False, True], ids=["not yet told", "told"])
def test_what_a_member_has_is_not_free_before_it_knows_that_it_has_lost_it(
    groups: ConsumerGroups, knows: bool
) -> None:
    _, (a, b) = stable(groups)
    joined = groups.join_owning(a, [0, 1])
    groups.join_owning(b, [2, 3])
    generation = joined.response.generation_id
    groups.sync(a, generation, {a: assigned([0, 1]), b: assigned([3])})
    if knows:
        groups.sync(b, generation)
    assert groups.state == "Stable"

    groups.join_as("x", "orders")

    assert groups.assigned(b) == {"orders": [3] if knows else [2, 3]}


def test_a_group_that_is_too_large_for_a_classic_one_stays(groups: ConsumerGroups) -> None:
    small = ConsumerGroups(max_size_of_classic_groups=1)
    small.create("orders", 4)
    small.join_as("x", "orders")
    for _ in range(2):
        small.join_dynamic()

    small.leave_as("x")

    assert len(small.group.members) == 2
    assert small.group.state.value == "Assigning"


def test_a_group_that_is_too_large_for_a_consumer_group_is_not_upgraded(
    groups: ConsumerGroups,
) -> None:
    configured(groups, max_size=1)
    stable(groups)

    assert "exceeds the consumer group maximum size" in str(
        groups.join_as("x", "orders").error_message
    )


# -- writes that fail ----------------------------------------------------------------------------


def test_an_upgrade_that_cannot_be_written_changes_nothing(groups: ConsumerGroups) -> None:
    generation, (a, b) = stable(groups)
    groups.log.fails_with = E.NOT_ENOUGH_REPLICAS

    assert error_of(groups.join_as("x", "orders")) is E.COORDINATOR_NOT_AVAILABLE

    groups.log.fails_with = None
    assert groups.state == "Stable"
    assert [groups.heartbeat(each, generation) for each in (a, b)] == [E.NONE, E.NONE]
    groups.advance(60)
    assert error_of(groups.join_as("x", "orders")) is E.NONE


def test_a_downgrade_that_cannot_be_written_changes_nothing(groups: ConsumerGroups) -> None:
    groups.join_as("x", "orders")
    a, _ = groups.join_dynamic()
    groups.sync(a, 3)
    groups.log.fails_with = E.NOT_ENOUGH_REPLICAS

    assert error_of(groups.leave_as("x")) is E.COORDINATOR_NOT_AVAILABLE

    groups.log.fails_with = None
    assert groups.heartbeat(a, 3) is E.NONE
    assert not groups.beat("x", 2).error_code
    assert groups.deadlines == 3  # two sessions, and that x gives up
    groups.advance(9)
    groups.heartbeat(a, 3)
    groups.leave_as("x")
    assert groups.state == "PreparingRebalance"


def test_a_join_that_cannot_be_written_is_refused(groups: ConsumerGroups) -> None:
    groups.join_as("x", "orders")
    told = groups.join().response.member_id
    groups.log.fails_with = E.NOT_ENOUGH_REPLICAS

    assert groups.join(told).error is E.COORDINATOR_NOT_AVAILABLE
    assert groups.join(instance="one").error is E.COORDINATOR_NOT_AVAILABLE

    groups.log.fails_with = None
    assert list(groups.group.members) == ["x"]
    groups.leave_as("x")
    assert groups.deadlines == 0


def test_a_downgrade_by_a_static_member_that_cannot_be_written_changes_nothing(
    groups: ConsumerGroups,
) -> None:
    groups.join_as("x", "orders", instance_id="one")
    groups.log.fails_with = E.NOT_ENOUGH_REPLICAS

    assert groups.join(instance="one").error is E.COORDINATOR_NOT_AVAILABLE

    groups.log.fails_with = None
    assert list(groups.group.members) == ["x"]
    assert groups.join(instance="one").response.generation_id == 2


def test_what_cannot_be_read_again_has_an_error_of_its_own(groups: ConsumerGroups) -> None:
    groups.join_as("x", "orders")

    assert groups.join("s", metadata=b"\0").error is E.UNKNOWN_SERVER_ERROR


def test_the_version_of_an_assignment_is_that_of_the_metadata(groups: ConsumerGroups) -> None:
    groups.join_as("x", "orders")
    versions = []
    for version in (0, 3, 9):
        subscription = ConsumerProtocolSubscription(topics=["orders"])
        metadata = version.to_bytes(2, "big") + subscription.encode(min(version, 3))
        a, joined = groups.join_dynamic(metadata=metadata)
        told: Any = groups.sync(a, joined.response.generation_id).response
        versions.append(int.from_bytes(told.assignment[:2], "big"))

    assert versions == [0, 3, 3]


def test_downgrades_are_decided_by_who_stays(groups: ConsumerGroups) -> None:
    groups.join_as("x", "orders")
    groups.join_as("y", "orders")
    a, _ = groups.join_dynamic()
    downgrade: Downgrade = groups.shard.consumers._downgrade

    due = {
        leaving: downgrade.is_due(groups.group, leaving)
        for leaving in [("x",), ("x", "y"), (a,), ("x", "y", a)]
    }

    assert due == {("x",): False, ("x", "y"): True, (a,): False, ("x", "y", a): False}


def test_a_classic_member_in_the_place_of_one_of_several_others_turns_nothing_back(
    groups: ConsumerGroups,
) -> None:
    groups.join_as("x", "orders", instance_id="one")
    groups.join_as("y", "orders")

    groups.join(instance="one")

    assert groups.group.epoch == 3
    assert sorted(member.is_classic for member in groups.group.members.values()) == [False, True]


def test_a_classic_member_in_the_place_of_a_static_one_drops_its_pattern(
    groups: ConsumerGroups,
) -> None:
    groups.join_as("x", subscribed_topic_regex="ord.*", instance_id="one")
    groups.join_as("y", "orders")
    assert list(groups.group.patterns) == ["ord.*"]

    back = groups.join(instance="one").response.member_id

    assert groups.group.members[back].pattern == ""
    assert groups.group.patterns == {}


def test_a_static_member_that_is_back_may_commit_whatever_it_had_before(
    groups: ConsumerGroups,
) -> None:
    groups.join_as("x", "orders", instance_id="one")

    groups.leave_as("x", -2, instance_id="one")

    (epochs,) = groups.group.members["x"].assigned.values()
    assert epochs == dict.fromkeys(range(4), 0)
