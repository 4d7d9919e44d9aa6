"""Streams groups at their coordinator: members, topologies, tasks, epochs, what is in the log."""

from __future__ import annotations

from typing import Any

import pytest

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages import streams_group_heartbeat as wire
from pyk.reference_broker.coordinator.group.streams.member import MemberState
from pyk.reference_broker.coordinator.group.streams.streams_group import (
    StreamsGroupState,
)
from support.streams_groups_of_shard import (
    COUNTING,
    GROUP,
    StreamsGroupsOfShard,
    owning,
    statuses,
    told,
)

E = ErrorCode
State = StreamsGroupState
STALE, MISSING_SOURCES, WRONG_PARTITIONS, MISSING_INTERNAL, SHUTDOWN, DELAYED = range(6)


@pytest.fixture
def groups() -> StreamsGroupsOfShard:
    return StreamsGroupsOfShard()


# -- joining -------------------------------------------------------------------------------------


def test_the_first_member_gets_all_tasks(groups: StreamsGroupsOfShard) -> None:
    answer = groups.join("a")

    assert (answer.member_epoch, told(answer), statuses(answer)) == (2, [0, 1, 2, 3], [])
    assert groups.group.state is State.STABLE


def test_a_member_hears_of_its_tasks_only_when_they_change(groups: StreamsGroupsOfShard) -> None:
    groups.join("a")

    assert told(groups.beat("a", 2)) is None


def test_a_member_gives_up_tasks_before_another_gets_them(groups: StreamsGroupsOfShard) -> None:
    groups.join("a")
    answer = groups.join("b")
    assert (answer.member_epoch, told(answer)) == (3, [])

    answer = groups.beat("a", 2, **owning([0, 1, 2, 3]))
    assert (answer.member_epoch, told(answer)) == (2, [0, 1])
    assert told(groups.beat("b", 3, **owning([]))) is None
    assert groups.beat("a", 2, **owning([0, 1])).member_epoch == 3
    assert told(groups.beat("b", 3, **owning([]))) == [2, 3]
    assert groups.group.state is State.STABLE


def test_a_member_that_joins_again_is_told_its_tasks(groups: StreamsGroupsOfShard) -> None:
    groups.join("a")

    answer = groups.join("a")

    assert (answer.member_epoch, told(answer)) == (2, [0, 1, 2, 3])
    assert groups.group.epoch == 2


def test_the_first_assignment_waits_for_more_members() -> None:
    groups = StreamsGroupsOfShard(initial_rebalance_delay_ms=3_000)
    answer = groups.join("a")
    assert (answer.member_epoch, told(answer), statuses(answer)) == (1, [], [DELAYED])
    groups.join("b")

    groups.advance(3)

    answer = groups.beat("a", 1, **owning([]))
    assert (answer.member_epoch, told(answer), statuses(answer)) == (3, [0, 2], [])
    assert told(groups.beat("b", 1, **owning([]))) == [1, 3]


def test_a_single_member_gets_its_tasks_with_the_first_heartbeat_after_the_delay() -> None:
    groups = StreamsGroupsOfShard(initial_rebalance_delay_ms=3_000)
    groups.join("a")

    groups.advance(3)

    assert told(groups.beat("a", 1, **owning([]))) == [0, 1, 2, 3]


def test_the_delay_of_a_deleted_group_is_forgotten() -> None:
    groups = StreamsGroupsOfShard(initial_rebalance_delay_ms=3_000)
    groups.join("a")
    groups.beat("a", -1)
    groups.ask(lambda shard, _: shard.delete_groups([GROUP]))
    groups.advance(2)
    groups.join("b")

    groups.advance(2)

    assert statuses(groups.beat("b", 1, **owning([]))) == [DELAYED]


def test_assignments_are_some_time_apart() -> None:
    groups = StreamsGroupsOfShard(assignment_interval_ms=1_000)
    groups.join("a")
    assert statuses(groups.join("b")) == [DELAYED]
    assert groups.group.state is State.ASSIGNING

    groups.advance(1)
    groups.settle("a", "b")

    assert (groups.held("a"), groups.held("b")) == ([0, 1], [2, 3])


def test_a_group_takes_no_more_members_than_it_may_have() -> None:
    groups = StreamsGroupsOfShard(max_size=1)
    groups.join("a")

    answer = groups.join("b")

    assert answer.error_code == E.GROUP_MAX_SIZE_REACHED


# -- requests that are refused -------------------------------------------------------------------

TOPOLOGY_WITH_PATTERN = wire.Topology(
    subtopologies=[wire.Subtopology(subtopology_id="0", source_topic_regex=["a.*"])]
)


@pytest.mark.parametrize(
    ("epoch", "more", "message"),
    [
        (0, {"instance_id": "i"}, "Static membership is not yet supported."),
        (0, {"task_offsets": []}, "TaskOffsets are not supported yet."),
        (0, {"task_end_offsets": []}, "TaskEndOffsets are not supported yet."),
        (
            0,
            {"warmup_tasks": [wire.TaskIds(subtopology_id="0", partitions=[0])]},
            "WarmupTasks are not supported yet.",
        ),
        (
            0,
            {"topology": TOPOLOGY_WITH_PATTERN},
            "Regular expressions for source topics are not supported yet.",
        ),
        (0, {"member_id": " "}, "MemberId can't be empty."),
        (0, {"group_id": ""}, "GroupId can't be empty."),
        (0, {"rack_id": ""}, "RackId can't be empty."),
        (
            0,
            {"rebalance_timeout_ms": -1},
            "RebalanceTimeoutMs must be provided in first request.",
        ),
        (0, {"active_tasks": None}, "ActiveTasks must be empty when (re-)joining."),
        (0, owning([1]), "ActiveTasks must be empty when (re-)joining."),
        (0, owning([], [1]), "StandbyTasks must be empty when (re-)joining."),
        (0, {"warmup_tasks": None}, "WarmupTasks must be empty when (re-)joining."),
        (0, {"topology": None}, "Topology must be non-null when (re-)joining."),
        (-2, {"topology": None}, "InstanceId can't be null."),
        (
            -3,
            {"topology": None},
            "MemberEpoch is -3, but must be greater than or equal to -2.",
        ),
        (
            1,
            {"topology": None, "standby_tasks": None},
            "If one task-type is non-null, all must be non-null.",
        ),
        (1, {}, "Topology can only be provided when (re-)joining."),
    ],
)
def test_a_request_that_makes_no_sense_is_refused(
    groups: StreamsGroupsOfShard, epoch: int, more: dict[str, Any], message: str
) -> None:
    answer = groups.join("a", **{"member_epoch": epoch, **more})

    assert (answer.error_code, answer.error_message) == (E.INVALID_REQUEST, message)
    assert not groups.shard.groups


@pytest.mark.parametrize("epoch", [1, -1])
def test_a_group_that_does_not_exist_has_no_members(
    groups: StreamsGroupsOfShard, epoch: int
) -> None:
    assert groups.beat("a", epoch).error_code == E.GROUP_ID_NOT_FOUND


@pytest.mark.parametrize("epoch", [1, -1])
def test_a_member_that_has_not_joined_is_unknown(groups: StreamsGroupsOfShard, epoch: int) -> None:
    groups.join("a")

    assert groups.beat("b", epoch).error_code == E.UNKNOWN_MEMBER_ID


def test_a_member_with_a_wrong_epoch_is_fenced(groups: StreamsGroupsOfShard) -> None:
    groups.join("a")

    assert groups.beat("a", 3).error_code == E.FENCED_MEMBER_EPOCH
    assert groups.beat("a", 1, **owning([])).error_code == E.FENCED_MEMBER_EPOCH


def test_a_member_that_did_not_get_the_answer_may_use_the_epoch_before(
    groups: StreamsGroupsOfShard,
) -> None:
    groups.join("a")
    groups.join("b")
    groups.beat("a", 2, **owning([0, 1, 2, 3]))
    groups.beat("a", 2, **owning([0, 1]))

    assert groups.beat("a", 2, **owning([0, 1])).member_epoch == 3
    assert groups.beat("a", 2, **owning([0, 1, 2])).error_code == E.FENCED_MEMBER_EPOCH
    assert groups.beat("a", 2).error_code == E.FENCED_MEMBER_EPOCH


def test_tasks_that_the_topology_does_not_have_are_refused(groups: StreamsGroupsOfShard) -> None:
    groups.join("a")

    answer = groups.beat("a", 2, **owning([4]))

    assert answer.error_code == E.INVALID_REQUEST
    assert "Number of tasks for this subtopology: 4" in (answer.error_message or "")


# -- topologies and topics -----------------------------------------------------------------------


def test_a_topology_cannot_change(groups: StreamsGroupsOfShard) -> None:
    groups.join("a")
    newer = wire.Topology(epoch=1, subtopologies=COUNTING.subtopologies)

    answer = groups.join("b", topology=newer)

    assert answer.error_message == "Topology updates are not supported yet."


def test_a_member_with_an_older_topology_is_told_so(groups: StreamsGroupsOfShard) -> None:
    newer = wire.Topology(epoch=1, subtopologies=COUNTING.subtopologies)
    groups.join("a", topology=newer)

    assert statuses(groups.join("b")) == [STALE]
    assert statuses(groups.beat("b", 3, **owning([]))) == [STALE]


def test_no_tasks_are_assigned_before_the_source_topics_exist(
    groups: StreamsGroupsOfShard,
) -> None:
    groups.delete_topic("text")
    answer = groups.join("a")
    assert (told(answer), statuses(answer)) == ([], [MISSING_SOURCES])
    assert groups.group.state is State.NOT_READY

    groups.add_topic("text", 4)
    answer = groups.beat("a", 2, **owning([]))

    assert (told(answer), statuses(answer)) == ([0, 1, 2, 3], [])
    assert groups.group.state is State.STABLE


def test_missing_internal_topics_are_told_to_whoever_creates_them(
    groups: StreamsGroupsOfShard,
) -> None:
    groups.delete_topic("counts")
    assert statuses(groups.join("a")) == [MISSING_INTERNAL]
    assert groups.missing == ["counts"]
    assert statuses(groups.beat("a", 2)) == [MISSING_INTERNAL]
    assert groups.missing == ["counts"]

    groups.add_topic("counts", 4)

    assert told(groups.beat("a", 2, **owning([]))) == [0, 1, 2, 3]
    assert not groups.missing


def test_an_internal_topic_with_other_partitions_is_told(groups: StreamsGroupsOfShard) -> None:
    groups.add_topic("counts", 3)

    assert statuses(groups.join("a")) == [WRONG_PARTITIONS]


def test_tasks_are_taken_away_when_a_source_topic_is_deleted(groups: StreamsGroupsOfShard) -> None:
    groups.join("a")

    groups.delete_topic("text")
    answer = groups.beat("a", 2, **owning([0, 1, 2, 3]))

    assert (told(answer), statuses(answer)) == ([], [MISSING_SOURCES])
    assert groups.group.members["a"].state is MemberState.UNREVOKED_TASKS


def test_a_topic_that_the_topology_does_not_have_changes_nothing(
    groups: StreamsGroupsOfShard,
) -> None:
    groups.join("a")
    groups.add_topic("other", 1)

    groups.settle("a")

    assert groups.group.epoch == 2


# -- settings ------------------------------------------------------------------------------------


def test_another_number_of_standbys_begins_an_epoch(groups: StreamsGroupsOfShard) -> None:
    groups.join("a")
    groups.join("b")
    groups.settle("a", "b")
    assert not groups.standby("a")

    groups.configure("streams.num.standby.replicas", "1")
    groups.settle("a", "b")

    assert groups.group.epoch == 4
    assert (groups.held("a"), groups.standby("a")) == ([0, 1], [2, 3])
    assert (groups.held("b"), groups.standby("b")) == ([2, 3], [0, 1])


def test_a_task_moves_to_its_standby_when_its_member_leaves() -> None:
    groups = StreamsGroupsOfShard(num_standby_replicas=1)
    groups.join("a")
    groups.join("b")
    groups.settle("a", "b")

    groups.beat("a", -1)
    groups.settle("b")

    assert (groups.held("b"), groups.standby("b")) == ([0, 1, 2, 3], [])


def test_a_group_has_a_session_timeout_and_an_interval_of_its_own(
    groups: StreamsGroupsOfShard,
) -> None:
    groups.configure("streams.session.timeout.ms", "60000")
    groups.configure("streams.heartbeat.interval.ms", "7000")

    assert groups.join("a").heartbeat_interval_ms == 7_000

    groups.advance(59)
    assert not groups.group.is_empty
    groups.advance(1)
    assert groups.group.is_empty


# -- leaving and deadlines -----------------------------------------------------------------------


def test_a_member_that_leaves_makes_room(groups: StreamsGroupsOfShard) -> None:
    groups.join("a")
    groups.join("b")
    groups.settle("a", "b")

    answer = groups.beat("a", -1)

    assert (answer.member_epoch, answer.status) == (-1, [])
    groups.settle("b")
    assert groups.held("b") == [0, 1, 2, 3]


def test_a_member_without_heartbeats_is_removed(groups: StreamsGroupsOfShard) -> None:
    groups.join("a")
    groups.join("b")
    groups.settle("a", "b")
    groups.advance(40)
    groups.settle("a")

    groups.advance(10)

    assert list(groups.group.members) == ["a"]


def test_a_member_that_does_not_give_up_its_tasks_is_removed(
    groups: StreamsGroupsOfShard,
) -> None:
    groups.join("a", rebalance_timeout_ms=10_000)
    groups.join("b")
    groups.beat("a", 2, **owning([0, 1, 2, 3]))
    for _ in range(5):
        groups.advance(1.9)
        groups.beat("a", 2, **owning([0, 1, 2, 3]))

    groups.advance(1)

    assert list(groups.group.members) == ["b"]


def test_a_member_that_gives_up_its_tasks_in_time_stays(groups: StreamsGroupsOfShard) -> None:
    groups.join("a", rebalance_timeout_ms=10_000)
    groups.join("b")
    groups.settle("a", "b")

    groups.advance(20)

    assert list(groups.group.members) == ["a", "b"]


def test_all_are_asked_to_shut_down_when_one_member_asks(groups: StreamsGroupsOfShard) -> None:
    groups.join("a")
    groups.join("b")

    assert statuses(groups.beat("a", 2, shutdown_application=True)) == [SHUTDOWN]

    (status,) = groups.beat("b", 3).status or ()
    assert status.status_detail == (
        "Streams group member a encountered a fatal error and requested a shutdown for the entire "
        "application."
    )
    groups.beat("a", -1)
    assert statuses(groups.beat("b", 3)) == [SHUTDOWN]
    groups.beat("b", -1)
    assert statuses(groups.join("c")) == []


def test_a_member_that_leaves_may_ask_all_others_to_shut_down(
    groups: StreamsGroupsOfShard,
) -> None:
    groups.join("a")
    groups.join("b")

    groups.beat("a", -1, shutdown_application=True)

    assert SHUTDOWN in statuses(groups.beat("b", 3))


# -- endpoints -----------------------------------------------------------------------------------


def test_members_hear_where_stores_can_be_queried(groups: StreamsGroupsOfShard) -> None:
    groups.join("a", user_endpoint=wire.Endpoint(host="left", port=1))
    groups.join("b", user_endpoint=wire.Endpoint(host="right", port=2))
    groups.settle("a", "b")

    answer = groups.beat("a", 3)

    found = {
        each.user_endpoint.host: [(one.topic, one.partitions) for one in each.active_partitions]
        for each in answer.partitions_by_user_endpoint or ()
    }
    assert found == {"left": [("text", [0, 1])], "right": [("text", [2, 3])]}
    again = groups.beat("a", 3, endpoint_information_epoch=answer.endpoint_information_epoch)
    assert again.partitions_by_user_endpoint is None


def test_without_endpoints_there_is_nothing_to_hear(groups: StreamsGroupsOfShard) -> None:
    groups.join("a")

    answer = groups.beat("a", 2)

    assert (answer.endpoint_information_epoch, answer.partitions_by_user_endpoint) == (0, None)
