from __future__ import annotations

import pytest

from pyk.protocol.errors import ErrorCode
from support.groups import GROUP, Groups


def test_followers_wait_for_the_leaders_assignment() -> None:
    groups = Groups()
    (leader, first), (follower, _) = groups.join_dynamic(), groups.join_dynamic()
    groups.advance(6)
    generation = first.response.generation_id

    waiting = groups.sync(follower, generation)
    assert not waiting.is_answered
    answered = groups.sync(leader, generation, {leader: b"0", follower: b"1"})

    assert answered.response.assignment == b"0"
    assert waiting.response.assignment == b"1"
    assert groups.state == "Stable"


def test_a_member_without_partitions_gets_an_empty_assignment() -> None:
    groups = Groups()
    member_id, _ = groups.join_dynamic()
    groups.advance(3)

    synced = groups.sync(member_id, 1, {})

    assert synced.response.assignment == b""


def test_a_member_of_a_stable_group_may_ask_for_its_assignment_again() -> None:
    groups = Groups()
    _, follower = groups.stable(2)

    assert groups.sync(follower, 1).response.assignment == f"for {follower}".encode()


def test_a_sync_of_another_generation_or_member_or_protocol_is_refused() -> None:
    groups = Groups()
    (member_id,) = groups.stable()

    assert groups.sync(member_id, 7).error is ErrorCode.ILLEGAL_GENERATION
    assert groups.sync("invented", 1).error is ErrorCode.UNKNOWN_MEMBER_ID
    for other in ({"protocol_name": "sticky"}, {"protocol_type": "connect"}):
        refused = groups.sync(member_id, 1, **other)
        assert refused.error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_a_sync_during_a_rebalance_gets_rebalance_in_progress() -> None:
    groups = Groups()
    leader, follower = groups.stable(2)
    groups.join(leader)

    assert groups.sync(follower, 1).error is ErrorCode.REBALANCE_IN_PROGRESS


def test_a_rebalance_answers_followers_that_wait_for_the_assignment() -> None:
    groups = Groups()
    (leader, _), (follower, _) = groups.join_dynamic(), groups.join_dynamic()
    groups.advance(6)
    waiting = groups.sync(follower, 1)

    groups.join(leader, topics=["other"])

    assert waiting.error is ErrorCode.REBALANCE_IN_PROGRESS


def test_a_member_that_does_not_sync_in_time_is_removed() -> None:
    groups = Groups()
    joined = [groups.join_dynamic(session_s=100, rebalance_s=20) for _ in range(2)]
    groups.advance(6)
    (leader, _), (follower, _) = joined
    groups.sync(leader, 1, {leader: b"0", follower: b"1"})

    groups.advance(20)

    assert groups.heartbeat(leader, 1) is ErrorCode.REBALANCE_IN_PROGRESS
    assert groups.heartbeat(follower, 1) is ErrorCode.UNKNOWN_MEMBER_ID


def test_an_assignment_takes_effect_only_when_it_is_committed() -> None:
    groups = Groups()
    member_id, _ = groups.join_dynamic()
    groups.advance(3)
    groups.log.hold()

    synced = groups.sync(member_id, 1, {member_id: b"0"})
    assert not synced.is_answered
    groups.log.is_held = False
    groups.runtime.high_watermark_moved()

    assert synced.response.assignment == b"0"


def test_an_assignment_committed_after_the_next_rebalance_began_has_no_effect() -> None:
    groups = Groups()
    leader, _ = groups.join_dynamic()
    groups.advance(3)
    groups.log.hold()
    synced = groups.sync(leader, 1, {leader: b"0"})

    new, _ = groups.join_dynamic()
    groups.log.is_held = False
    groups.runtime.high_watermark_moved()

    assert synced.error is ErrorCode.REBALANCE_IN_PROGRESS
    assert groups.state == "PreparingRebalance"
    assert groups.join(leader).response.generation_id == 2
    assert groups.sync(new, 2).response is None


def test_an_assignment_committed_in_the_next_generation_has_no_effect() -> None:
    groups = Groups()
    leader, _ = groups.join_dynamic()
    groups.advance(3)
    groups.log.hold()
    groups.sync(leader, 1, {leader: b"0"})

    groups.join_dynamic()
    groups.join(leader)
    groups.log.is_held = False
    groups.runtime.high_watermark_moved()

    assert groups.shard.groups[GROUP].generation_id == 2
    assert groups.state == "CompletingRebalance"


def test_a_follower_that_asks_again_on_another_connection_is_answered_there() -> None:
    groups = Groups()
    (leader, _), (follower, _) = groups.join_dynamic(), groups.join_dynamic()
    groups.advance(6)

    first, second = groups.sync(follower, 1), groups.sync(follower, 1)
    groups.sync(leader, 1, {leader: b"0", follower: b"1"})

    assert first.error is ErrorCode.REBALANCE_IN_PROGRESS
    assert second.response.assignment == b"1"


@pytest.mark.parametrize(
    ("failure", "told"),
    [
        (ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.NOT_COORDINATOR),
        (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.UNKNOWN_SERVER_ERROR),
    ],
)
def test_an_assignment_that_cannot_be_stored_begins_a_rebalance(
    failure: ErrorCode, told: ErrorCode
) -> None:
    groups = Groups()
    member_id, _ = groups.join_dynamic()
    groups.advance(3)
    groups.log.fails_with = failure

    synced = groups.sync(member_id, 1, {member_id: b"0"})

    assert synced.error is told
    assert groups.state == "PreparingRebalance"


def test_heartbeats_keep_a_member_in_the_group() -> None:
    groups = Groups()
    (member_id,) = groups.stable(session_s=10)

    for _ in range(5):
        groups.advance(9)
        assert groups.heartbeat(member_id, 1) is ErrorCode.NONE


def test_a_member_without_heartbeats_is_removed() -> None:
    groups = Groups()
    leader, follower = groups.stable(2, session_s=10)

    groups.advance(5)
    groups.heartbeat(leader, 1)
    groups.advance(6)

    assert groups.heartbeat(leader, 1) is ErrorCode.REBALANCE_IN_PROGRESS
    assert follower not in groups.shard.groups[GROUP].members


def test_a_group_is_empty_when_its_last_member_has_failed() -> None:
    groups = Groups()
    groups.stable(session_s=10)

    groups.advance(11)

    assert groups.state == "Empty"
    groups.restart()
    assert groups.state == "Empty"
    assert groups.shard.groups[GROUP].generation_id == 2


def test_heartbeats_of_unknown_members_and_old_generations_are_refused() -> None:
    groups = Groups()
    assert groups.heartbeat("anybody", 1) is ErrorCode.UNKNOWN_MEMBER_ID
    (member_id,) = groups.stable()

    assert groups.heartbeat("invented", 1) is ErrorCode.UNKNOWN_MEMBER_ID
    assert groups.heartbeat(member_id, 0) is ErrorCode.ILLEGAL_GENERATION


def test_a_waiting_member_needs_no_heartbeat() -> None:
    groups = Groups()
    leader, _ = groups.stable(2, session_s=10, rebalance_s=60)
    rejoined = groups.join(leader, session_s=10, rebalance_s=60)

    groups.advance(8)
    assert not rejoined.is_answered
    groups.advance(3)

    assert rejoined.error is ErrorCode.NONE


def test_members_survive_a_restart_and_their_sessions_begin_again() -> None:
    groups = Groups()
    leader, follower = groups.stable(2, session_s=10)
    groups.advance(9)

    groups.restart()
    groups.advance(9)

    assert groups.state == "Stable"
    assert groups.heartbeat(leader, 1) is ErrorCode.NONE
    assert groups.sync(follower, 1).response.assignment == f"for {follower}".encode()
    groups.advance(9)
    assert follower not in groups.shard.groups[GROUP].members


def test_a_group_over_a_lowered_maximum_rebalances_when_it_is_loaded() -> None:
    groups = Groups()
    groups.stable(3)

    smaller = Groups(groups.log, max_size=2)

    assert smaller.state == "PreparingRebalance"


def test_waiting_members_get_not_coordinator_when_their_coordinator_moves() -> None:
    groups = Groups()
    _, (follower, _) = groups.join_dynamic(), groups.join_dynamic()
    groups.advance(6)
    synced = groups.sync(follower, 1)

    groups.runtime.unload()

    assert synced.error is ErrorCode.NOT_COORDINATOR
    assert len(groups.timers) == 0


def test_members_that_rejoin_get_not_coordinator_when_their_coordinator_moves() -> None:
    groups = Groups()
    leader, _ = groups.stable(2)
    rejoined = groups.join(leader, topics=["other"])

    groups.runtime.unload()

    assert rejoined.error is ErrorCode.NOT_COORDINATOR
    assert len(groups.timers) == 0


def test_a_group_that_is_deleted_leaves_no_deadline_behind() -> None:
    groups = Groups()
    groups.join()
    assert groups.deadlines == 1

    _, decision = groups.shard.delete_groups([GROUP])
    groups.runtime.carry_out(decision)

    assert groups.deadlines == 0


def test_a_shard_that_ends_while_an_assignment_is_written_leaves_nothing_scheduled() -> None:
    groups = Groups()
    member_id, _ = groups.join_dynamic()
    groups.advance(3)
    groups.log.hold()
    synced = groups.sync(member_id, 1, {member_id: b"0"})

    groups.runtime.unload()

    assert synced.error is ErrorCode.NOT_COORDINATOR
    assert len(groups.timers) == 0


def test_members_do_not_wait_for_an_assignment_that_a_bug_keeps_from_being_written() -> None:
    groups = Groups()
    (leader, first), (follower, _) = groups.join_dynamic(), groups.join_dynamic()
    groups.advance(6)
    generation = first.response.generation_id
    waiting = groups.sync(follower, generation)
    groups.log.has_bug = True

    groups.sync(leader, generation, {leader: b"0", follower: b"1"})

    assert waiting.error is ErrorCode.UNKNOWN_SERVER_ERROR
