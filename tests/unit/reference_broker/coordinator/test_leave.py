from __future__ import annotations

from pyk.protocol.errors import ErrorCode
from support.groups import GROUP, Groups


def test_a_group_rebalances_when_a_member_leaves() -> None:
    groups = Groups()
    leader, follower = groups.stable(2)

    assert groups.leave((follower, None)) == [ErrorCode.NONE]

    assert groups.heartbeat(leader, 1) is ErrorCode.REBALANCE_IN_PROGRESS


def test_a_group_is_empty_when_all_have_left() -> None:
    groups = Groups()
    members = groups.stable(2)

    groups.leave(*((member_id, None) for member_id in members))

    assert groups.state == "Empty"
    groups.restart()
    assert groups.shard.groups[GROUP].members == {}


def test_each_leaver_has_its_own_result() -> None:
    groups = Groups()
    (member_id,) = groups.stable()

    left = groups.leave(("invented", None), (member_id, None))

    assert left == [ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.NONE]


def test_leaving_a_group_that_does_not_exist_is_refused() -> None:
    assert Groups().leave(("anybody", None)) == [ErrorCode.UNKNOWN_MEMBER_ID]


def test_a_removed_member_that_waits_to_join_is_answered() -> None:
    groups = Groups()
    leader, _ = groups.stable(2)
    rejoined = groups.join(leader)

    groups.leave((leader, None))

    assert rejoined.error is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_rebalance_goes_on_without_members_that_leave() -> None:
    groups = Groups()
    leader, follower = groups.stable(2)
    rejoined = groups.join(leader)

    groups.leave((follower, None))

    assert rejoined.response.generation_id == 2


def test_an_unknown_member_that_leaves_changes_nothing() -> None:
    groups = Groups()
    (member_id,) = groups.stable()

    assert groups.leave(("stranger", None)) == [ErrorCode.UNKNOWN_MEMBER_ID]

    assert groups.heartbeat(member_id, 1) is ErrorCode.NONE


def test_a_group_whose_leader_assigns_rebalances_when_a_member_leaves() -> None:
    groups = Groups()
    (leader, _), (follower, _) = groups.join_dynamic(), groups.join_dynamic()
    groups.advance(6)
    waiting = groups.sync(follower, 1)

    groups.leave((leader, None))

    assert waiting.error is ErrorCode.REBALANCE_IN_PROGRESS
    assert groups.join(follower).response.leader == follower


def test_an_id_that_was_handed_out_can_leave() -> None:
    groups = Groups()
    told = groups.join()

    assert groups.leave((told.response.member_id, None)) == [ErrorCode.NONE]
    assert groups.deadlines == 0
    assert groups.join(told.response.member_id).error is ErrorCode.UNKNOWN_MEMBER_ID


def test_no_session_of_a_member_that_left_ever_expires() -> None:
    groups = Groups()
    leader, follower = groups.stable(2)
    groups.leave((follower, None))
    groups.join(leader)
    before = groups.shard.groups[GROUP].generation_id

    groups.heartbeat(leader, before)
    groups.advance(9)

    assert groups.shard.groups[GROUP].generation_id == before
