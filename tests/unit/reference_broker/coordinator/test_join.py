from __future__ import annotations

import pytest

from pyk.protocol.errors import ErrorCode
from support.groups import GROUP, Groups


def test_a_new_member_gets_an_id_and_has_to_join_again_with_it() -> None:
    groups = Groups()

    told = groups.join(client_id="app")

    assert told.error is ErrorCode.MEMBER_ID_REQUIRED
    assert told.response.member_id.startswith("app-")
    assert groups.shard.groups[GROUP].members == {}


def test_a_new_member_of_an_old_client_joins_at_once() -> None:
    groups = Groups()

    joined = groups.join(version=3)

    assert not joined.is_answered
    assert len(groups.shard.groups[GROUP].members) == 1


def test_a_static_member_joins_at_once() -> None:
    groups = Groups()

    groups.join(instance="one")

    assert list(groups.shard.groups[GROUP].static_members) == ["one"]


def test_the_first_member_leads_when_the_initial_delay_is_over() -> None:
    groups = Groups()

    member_id, joined = groups.join_dynamic()
    groups.advance(2.9)
    assert not joined.is_answered
    groups.advance(0.2)

    assert joined.error is ErrorCode.NONE
    assert joined.response.generation_id == 1
    assert joined.response.leader == member_id
    assert [member.member_id for member in joined.response.members] == [member_id]
    assert joined.response.protocol_name == "range"


def test_each_new_member_prolongs_the_initial_delay_up_to_the_rebalance_timeout() -> None:
    groups = Groups()
    _, first = groups.join_dynamic(rebalance_s=10)
    for _ in range(4):
        groups.advance(2)
        groups.join_dynamic(rebalance_s=10)

    groups.advance(1.9)
    assert not first.is_answered
    groups.advance(0.2)

    assert len(first.response.members) == 5


def test_only_the_leader_gets_the_members() -> None:
    groups = Groups()
    _, first = groups.join_dynamic()
    _, second = groups.join_dynamic()

    groups.advance(6)

    assert len(first.response.members) == 2
    assert second.response.members == []
    assert second.response.leader == first.response.leader


def test_a_join_after_the_first_generation_begins_a_rebalance_without_delay() -> None:
    groups = Groups()
    (old,) = groups.stable()

    new, joined = groups.join_dynamic()
    assert groups.heartbeat(old, 1) is ErrorCode.REBALANCE_IN_PROGRESS
    rejoined = groups.join(old)

    assert joined.response.generation_id == rejoined.response.generation_id == 2
    assert {member.member_id for member in rejoined.response.members} == {old, new}


def test_a_follower_that_rejoins_with_nothing_new_gets_the_generation_it_knows() -> None:
    groups = Groups()
    _, follower = groups.stable(2)

    rejoined = groups.join(follower)

    assert rejoined.response.generation_id == 1
    assert groups.state == "Stable"


def test_a_leader_that_rejoins_begins_a_rebalance() -> None:
    groups = Groups()
    leader, follower = groups.stable(2)

    rejoined = groups.join(leader)

    assert not rejoined.is_answered
    assert groups.heartbeat(follower, 1) is ErrorCode.REBALANCE_IN_PROGRESS


def test_a_follower_with_other_topics_begins_a_rebalance() -> None:
    groups = Groups()
    _, follower = groups.stable(2)

    groups.join(follower, topics=["orders", "payments"])

    assert groups.state == "PreparingRebalance"


def test_a_member_that_lost_its_response_gets_it_again() -> None:
    groups = Groups()
    member_id, _ = groups.join_dynamic()
    groups.advance(3)

    again = groups.join(member_id)

    assert again.response.generation_id == 1
    assert len(again.response.members) == 1


def test_a_member_that_does_not_rejoin_in_time_is_removed() -> None:
    groups = Groups()
    leader, follower = groups.stable(2, session_s=100, rebalance_s=30)

    rejoined = groups.join(leader, session_s=100, rebalance_s=30)
    groups.advance(30)

    assert [member.member_id for member in rejoined.response.members] == [leader]
    assert groups.heartbeat(follower, 2) is ErrorCode.UNKNOWN_MEMBER_ID


def test_another_member_leads_when_the_leader_does_not_rejoin() -> None:
    groups = Groups()
    _, follower = groups.stable(2, session_s=100, rebalance_s=30)

    rejoined = groups.join(follower, topics=["other"], session_s=100, rebalance_s=30)
    groups.advance(30)

    assert rejoined.response.leader == follower


def test_a_rebalance_waits_for_ids_that_were_handed_out() -> None:
    groups = Groups()
    (old,) = groups.stable(session_s=20)
    told = groups.join(session_s=6)

    rejoined = groups.join(old, session_s=20)
    assert not rejoined.is_answered
    groups.advance(6)

    assert rejoined.response.generation_id == 2
    assert groups.join(told.response.member_id).error is ErrorCode.UNKNOWN_MEMBER_ID


def test_an_unknown_member_id_is_refused() -> None:
    groups = Groups()
    assert groups.join("invented").error is ErrorCode.UNKNOWN_MEMBER_ID
    assert groups.shard.groups == {}

    groups.stable()

    assert groups.join("invented").error is ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize("session_s", [5.9, 1801])
def test_a_session_timeout_out_of_range_is_refused(session_s: float) -> None:
    assert Groups().join(session_s=session_s).error is ErrorCode.INVALID_SESSION_TIMEOUT


@pytest.mark.parametrize("session_s", [6, 1800])
def test_the_least_and_the_longest_session_timeout_are_accepted(session_s: float) -> None:
    assert Groups().join(session_s=session_s).error is ErrorCode.MEMBER_ID_REQUIRED


def test_an_id_that_was_handed_out_is_not_a_static_members() -> None:
    groups = Groups()
    told = groups.join()

    refused = groups.join(told.response.member_id, instance="one")

    assert refused.error is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_member_without_a_protocol_in_common_is_refused() -> None:
    groups = Groups()
    groups.stable(protocols=["range"])

    assert groups.join(protocols=["sticky"]).error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert groups.join(protocols=[]).error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_the_protocol_with_most_votes_among_the_common_ones_is_chosen() -> None:
    groups = Groups()
    _, joined = groups.join_dynamic(protocols=["range", "roundrobin"])
    groups.join_dynamic(protocols=["roundrobin", "range"])
    groups.join_dynamic(protocols=["sticky", "roundrobin", "range"])

    groups.advance(9)

    assert joined.response.protocol_name == "roundrobin"


def test_a_full_group_refuses_new_members() -> None:
    groups = Groups(max_size=2)
    leader, _ = groups.stable(2)

    refused = groups.join()

    assert refused.error is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert groups.heartbeat(leader, 1) is ErrorCode.NONE


def test_a_member_of_a_full_group_may_rejoin() -> None:
    groups = Groups(max_size=2)
    _, follower = groups.stable(2)

    rejoined = groups.join(follower, topics=["payments"])

    assert not rejoined.is_answered
    assert groups.state == "PreparingRebalance"


def test_the_last_to_rejoin_is_refused_after_the_maximum_was_lowered() -> None:
    before = Groups()
    first, second, third = before.stable(3, session_s=100)
    groups = Groups(before.log, max_size=2)

    once, other, again = groups.join(first), groups.join(second), groups.join(first)
    refused = groups.join(third)

    assert once.error is ErrorCode.REBALANCE_IN_PROGRESS  # asked again on another connection
    assert refused.error is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert refused.response.member_id == ""
    assert groups.heartbeat(third, 1) is ErrorCode.UNKNOWN_MEMBER_ID
    groups.advance(60)
    assert again.response.generation_id == other.response.generation_id == 2


def test_a_member_that_joined_later_does_not_prolong_the_delay_of_a_new_start() -> None:
    groups = Groups()
    (old,) = groups.stable()
    new = [groups.join_dynamic()[0] for _ in range(2)]
    groups.join(old)
    groups.leave((old, None), *((member_id, None) for member_id in new))
    assert groups.state == "Empty"

    _, joined = groups.join_dynamic()
    groups.advance(3)

    assert joined.is_answered


def test_a_follower_that_lost_its_response_does_not_get_the_members() -> None:
    groups = Groups()
    (leader, _), (follower, _) = groups.join_dynamic(), groups.join_dynamic()
    groups.advance(6)
    assert groups.state == "CompletingRebalance"

    assert len(groups.join(leader).response.members) == 2
    assert groups.join(follower).response.members == []


def test_a_member_that_rejoins_may_change_its_timeouts() -> None:
    groups = Groups()
    leader, follower = groups.stable(2, session_s=100, rebalance_s=30)

    rejoined = groups.join(leader, session_s=200, rebalance_s=50)
    groups.advance(49)
    assert not rejoined.is_answered
    groups.advance(1)

    assert groups.heartbeat(follower, 2) is ErrorCode.UNKNOWN_MEMBER_ID
    groups.sync(leader, 2, {leader: b"all"})
    groups.advance(199)
    assert groups.heartbeat(leader, 2) is ErrorCode.NONE


def test_the_session_timeout_limits_the_rebalance_of_a_client_that_names_no_other() -> None:
    groups = Groups()
    leader, follower = groups.stable(2, session_s=20, rebalance_s=-0.001)  # as version 0

    rejoined = groups.join(leader, session_s=20, rebalance_s=-0.001)
    groups.advance(19)
    groups.heartbeat(follower, 1)
    assert not rejoined.is_answered
    groups.advance(1)

    assert [member.member_id for member in rejoined.response.members] == [leader]


def test_a_member_that_asks_again_on_another_connection_is_answered_there() -> None:
    groups = Groups()
    member_id, first = groups.join_dynamic()

    second = groups.join(member_id)
    groups.advance(3)

    assert first.error is ErrorCode.REBALANCE_IN_PROGRESS
    assert second.response.generation_id == 1


def test_a_new_group_is_in_the_log_before_its_first_generation() -> None:
    groups = Groups()
    groups.join()

    groups.restart()

    assert groups.state == "Empty"
