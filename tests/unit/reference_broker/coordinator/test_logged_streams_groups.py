"""What the log keeps of streams groups, and what is forgotten: restarts, compaction, expiry."""

from __future__ import annotations

import random
from typing import Any

import pytest

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages import streams_group_heartbeat as wire
from pyk.reference_broker.coordinator.group.offsets import OffsetToCommit
from pyk.reference_broker.coordinator.group.streams.heartbeat import StreamsHeartbeat
from pyk.reference_broker.coordinator.group.streams.streams_group import (
    StreamsGroup,
    StreamsGroupState,
)
from pyk.reference_broker.coordinator.latest_records import LatestRecords
from pyk.reference_broker.coordinator.records import CoordinatorRecord
from support.streams_groups_of_shard import GROUP, StreamsGroupsOfShard, owning

E = ErrorCode
State = StreamsGroupState


@pytest.fixture
def groups() -> StreamsGroupsOfShard:
    return StreamsGroupsOfShard()


# -- restarts ------------------------------------------------------------------------------------


def test_a_group_is_the_same_after_a_restart() -> None:
    groups = StreamsGroupsOfShard(num_standby_replicas=1)
    tags = [wire.KeyValue(key="zone", value="a")]
    endpoint = wire.Endpoint(host="here", port=9)
    groups.join("a", rack_id="r", client_tags=tags, user_endpoint=endpoint)
    groups.join("b")
    groups.settle("a", "b")
    groups.join("c")
    groups.beat("a", 3, **owning([0, 1], [2, 3]))

    again = groups.restarted()

    assert again.group.members == groups.group.members
    assert again.group.targets == groups.group.targets
    assert again.group.topology == groups.group.topology
    assert again.group.owners.active == groups.group.owners.active
    assert again.group.state is groups.group.state
    again.settle("a", "b", "c")
    assert again.group.state is State.STABLE
    assert again.group.epoch == groups.group.epoch


def test_the_sessions_of_members_begin_again_after_a_restart(groups: StreamsGroupsOfShard) -> None:
    groups.join("a")

    again = groups.restarted()
    again.advance(45)

    assert again.group.is_empty


def test_a_member_that_has_to_give_up_tasks_still_has_to_after_a_restart(
    groups: StreamsGroupsOfShard,
) -> None:
    groups.join("a", rebalance_timeout_ms=10_000)
    groups.join("b")
    groups.beat("a", 2, **owning([0, 1, 2, 3]))

    again = groups.restarted()
    again.advance(10)

    assert list(again.group.members) == ["b"]


def test_a_deleted_group_is_gone_after_a_restart(groups: StreamsGroupsOfShard) -> None:
    groups.join("a")
    assert groups.ask(lambda shard, _: shard.delete_groups([GROUP])) == {GROUP: E.NON_EMPTY_GROUP}
    groups.beat("a", -1)

    assert groups.ask(lambda shard, _: shard.delete_groups([GROUP])) == {GROUP: E.NONE}

    assert not groups.shard.groups
    assert not groups.restarted().shard.groups


def test_a_group_whose_last_records_are_refused_stays_as_it_was(
    groups: StreamsGroupsOfShard,
) -> None:
    groups.join("a")
    groups.log.fails_with = E.NOT_ENOUGH_REPLICAS
    answers: list[Any] = []
    groups.runtime.ask(
        lambda shard, moment: shard.streams.heartbeat(leaving(groups)), lambda code: code
    ).when_done(answers.append)
    assert answers == [E.NOT_ENOUGH_REPLICAS]
    groups.log.fails_with = None

    assert list(groups.group.members) == ["a"]
    groups.advance(45)
    assert groups.group.is_empty


def leaving(groups: StreamsGroupsOfShard) -> Any:
    request = wire.StreamsGroupHeartbeatRequest(group_id=GROUP, member_id="a", member_epoch=-1)
    return StreamsHeartbeat(
        request=request, client_id="app", client_host="/127.0.0.1", moment=groups.moment()
    )


# -- compaction and expiry -----------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_the_records_of_a_compacted_log_may_come_in_any_order(seed: int) -> None:
    groups = StreamsGroupsOfShard(num_standby_replicas=1)
    for member_id in "abc":
        groups.join(member_id)
        groups.settle("a")
    groups.beat("c", -1)
    records = latest_records(groups)
    random.Random(seed).shuffle(records)

    found = StreamsGroup(group_id=GROUP)
    for record in records:
        found.replay(record)

    known = groups.group
    assert found.members == known.members
    assert (found.epoch, found.assignment_epoch) == (known.epoch, known.assignment_epoch)
    assert (found.targets, found.topology) == (known.targets, known.topology)
    assert (found.owners.active, found.owners.standby) == (
        known.owners.active,
        known.owners.standby,
    )


def latest_records(groups: StreamsGroupsOfShard) -> list[CoordinatorRecord]:
    """Return the records of the log that compaction leaves."""
    kept = LatestRecords()
    for entry in groups.log.entries:
        kept.add(entry)
    return [CoordinatorRecord.decode(key, value) for _, _, key, value in kept]


def test_an_empty_group_without_offsets_is_forgotten(groups: StreamsGroupsOfShard) -> None:
    groups.join("a")
    groups.advance(599)
    assert groups.group.is_empty  # its session has ended meanwhile

    groups.advance(1)

    assert not groups.shard.groups
    assert not groups.restarted().shard.groups


def test_offsets_of_topics_that_tasks_read_do_not_expire(groups: StreamsGroupsOfShard) -> None:
    groups.join("a")
    for topic in ("text", "counts"):
        offset = OffsetToCommit(topic=topic, partition=0, offset=5)
        groups.ask(
            lambda shard, moment, offset=offset: shard.offset_requests.commit(
                GROUP, ("a", None, 2), [offset], version=9, moment=moment
            )
        )

    for _ in range(8 * 24 * 60 * 2):
        groups.advance(30)
        groups.beat("a", 2)

    assert set(groups.shard.offsets.of_group(GROUP)) == {"text"}
