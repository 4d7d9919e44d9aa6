"""Members with an instance id keep their place while they are away (KIP-345)."""

from __future__ import annotations

from pyk.protocol.errors import ErrorCode
from support.groups import GROUP, Groups, Waiting


def stable_static(groups: Groups, *instances: str) -> dict[str, str]:
    """Bring together static members; return their ids by instance."""
    joined = {instance: groups.join(instance=instance) for instance in instances}
    groups.advance(3 * (len(instances) + 1))
    groups.settle([(each.response.member_id, each) for each in joined.values()])
    return {instance: each.response.member_id for instance, each in joined.items()}


def leader_and_follower(groups: Groups) -> tuple[str, str]:
    """Return the instance ids of two static members of a stable group."""
    ids = stable_static(groups, "one", "two")
    leads = groups.shard.groups[GROUP].leader_id == ids["one"]
    return ("one", "two") if leads else ("two", "one")


def comes_back(groups: Groups, instance: str, version: int = 9) -> Waiting:
    return groups.join(instance=instance, version=version)


def test_a_restarted_follower_is_back_without_a_rebalance() -> None:
    groups = Groups()
    _, follower = leader_and_follower(groups)

    back = comes_back(groups, follower)

    assert groups.state == "Stable"
    assert back.response.generation_id == 1
    assert not back.response.skip_assignment
    assert groups.sync(back.response.member_id, 1, group_instance_id=follower).response.assignment


def test_a_restarted_leader_gets_the_members_but_need_not_assign() -> None:
    groups = Groups()
    leader, _ = leader_and_follower(groups)

    back = comes_back(groups, leader)

    assert back.response.skip_assignment
    assert back.response.leader == back.response.member_id
    assert len(back.response.members) == 2


def test_a_restarted_leader_of_an_old_client_does_not_know_that_it_leads() -> None:
    groups = Groups()
    leader, _ = leader_and_follower(groups)
    before = groups.shard.groups[GROUP].leader_id

    back = comes_back(groups, leader, version=8)

    assert back.response.leader == before
    assert back.response.leader != back.response.member_id
    assert back.response.members == []


def test_the_old_id_is_fenced() -> None:
    groups = Groups()
    ids = stable_static(groups, "one")
    comes_back(groups, "one")

    assert groups.heartbeat(ids["one"], 1, instance="one") is ErrorCode.FENCED_INSTANCE_ID
    assert groups.join(ids["one"], instance="one").error is ErrorCode.FENCED_INSTANCE_ID
    synced = groups.sync(ids["one"], 1, group_instance_id="one")
    assert synced.error is ErrorCode.FENCED_INSTANCE_ID


def test_a_duplicate_that_waits_is_fenced_at_once() -> None:
    groups = Groups()
    first = groups.join(instance="one")

    groups.join(instance="one")

    assert first.error is ErrorCode.FENCED_INSTANCE_ID


def test_a_returned_static_member_without_heartbeats_is_removed() -> None:
    groups = Groups()
    stable_static(groups, "one")

    back = comes_back(groups, "one")
    groups.advance(9.9)
    assert back.response.member_id in groups.shard.groups[GROUP].members
    groups.advance(0.2)

    assert groups.state == "Empty"


def test_a_static_member_whose_new_id_cannot_be_stored_gets_an_error() -> None:
    groups = Groups()
    stable_static(groups, "one")
    groups.log.fails_with = ErrorCode.NOT_ENOUGH_REPLICAS

    assert comes_back(groups, "one").error is ErrorCode.COORDINATOR_NOT_AVAILABLE


def test_no_session_of_an_id_that_was_replaced_is_left() -> None:
    groups = Groups()
    stable_static(groups, "one")
    before = len(groups.timers)

    comes_back(groups, "one")

    assert len(groups.timers) == before


def test_a_new_id_is_in_the_log() -> None:
    groups = Groups()
    stable_static(groups, "one")
    back = comes_back(groups, "one")

    groups.restart()

    assert groups.heartbeat(back.response.member_id, 1, instance="one") is ErrorCode.NONE


def test_coming_back_while_the_leader_assigns_begins_a_rebalance() -> None:
    groups = Groups()
    joined = groups.join(instance="one")
    groups.join(instance="two")
    groups.advance(9)
    assert joined.is_answered

    comes_back(groups, "two")

    assert groups.state == "PreparingRebalance"


def test_a_change_of_the_protocol_begins_a_rebalance() -> None:
    groups = Groups()
    one = groups.join(instance="one", protocols=["range", "sticky"])
    groups.advance(6)
    groups.settle([(one.response.member_id, one)])

    groups.join(instance="one", protocols=["sticky"])

    assert groups.state == "CompletingRebalance"
    assert groups.shard.groups[GROUP].protocol_name == "sticky"


def test_a_static_member_that_does_not_rejoin_stays_a_member() -> None:
    groups = Groups()
    one = groups.join(instance="one", session_s=100, rebalance_s=20)
    two = groups.join(instance="two", session_s=100, rebalance_s=20)
    groups.advance(9)
    groups.settle([(one.response.member_id, one), (two.response.member_id, two)])

    rejoined = groups.join(one.response.member_id, instance="one", topics=["x"], rebalance_s=20)
    groups.advance(20)

    assert rejoined.response.generation_id == 2
    assert set(groups.shard.groups[GROUP].static_members) == {"one", "two"}


def test_a_static_member_that_waited_for_its_assignment_still_has_a_session() -> None:
    groups = Groups()
    one = groups.join(instance="one", session_s=6, rebalance_s=20)
    two = groups.join(instance="two", session_s=6, rebalance_s=20)
    groups.advance(9)
    follower = two if one.response.leader == one.response.member_id else one
    waiting = groups.sync(follower.response.member_id, 1)
    leader = one if follower is two else two
    for _ in range(6):  # the follower waits longer than its session; the leader does not assign
        groups.heartbeat(leader.response.member_id, 1)
        groups.advance(3)

    assert waiting.error is ErrorCode.REBALANCE_IN_PROGRESS
    groups.advance(30)  # it was dead all the time

    assert groups.shard.groups[GROUP].static_members == {}


def test_an_administrator_removes_a_static_member_by_its_instance_id() -> None:
    groups = Groups()
    stable_static(groups, "one", "two")

    assert groups.leave(("", "one")) == [ErrorCode.NONE]
    assert groups.leave(("", "nobody")) == [ErrorCode.UNKNOWN_MEMBER_ID]

    assert list(groups.shard.groups[GROUP].static_members) == ["two"]
    assert groups.state == "PreparingRebalance"


def test_an_unknown_instance_is_an_unknown_member() -> None:
    groups = Groups()
    ids = stable_static(groups, "one")

    assert groups.heartbeat(ids["one"], 1, instance="other") is ErrorCode.UNKNOWN_MEMBER_ID
