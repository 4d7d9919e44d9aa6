"""The state of share groups: what is kept, and who is fenced."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from pyk.protocol.errors import ErrorCode, MalformedMessageError
from pyk.protocol.messages.share_state_records import ShareUpdateKey
from pyk.protocol.persisted import encode_coordinator_key
from pyk.reference_broker.coordinator.share.kind import is_share_key
from pyk.reference_broker.coordinator.share.records import ShareStateRecord
from pyk.reference_broker.coordinator.share.share_partition import (
    SharePartitionKey,
    ShareState,
    ShareUpdate,
)
from support.share_states_of_shard import KEY, ORDERS, States, batches
from support.state_ranges import ranges


@pytest.fixture
def states() -> States:
    return States()


# -- keys and records ----------------------------------------------------------------------------


def test_the_key_of_a_share_partition_is_a_text_with_the_group_the_topic_id_and_the_number() -> (
    None
):
    assert str(KEY) == "workers:AAAAAAAAAAAAAAAAAAAABw:0"
    assert is_share_key(str(KEY))
    assert SharePartitionKey.parse(str(KEY)) == KEY
    assert SharePartitionKey.parse("a:b:AAAAAAAAAAAAAAAAAAAABw:3").group_id == "a:b"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "workers",
        "workers:0",
        " :AAAAAAAAAAAAAAAAAAAABw:0",
        "workers:orders:0",
        "workers:AAAA:0",
        "workers:AAAAAAAAAAAAAAAAAAAABw:zero",
    ],
)
def test_other_texts_are_not_keys(text: str) -> None:
    assert not is_share_key(text)


STATE = ShareState(
    snapshot_epoch=3,
    state_epoch=2,
    leader_epoch=5,
    start_offset=40,
    delivery_complete_count=2,
    created_ms=1,
    written_ms=2,
    batches=tuple(ranges("40-41x1k")),
)
UPDATE = ShareUpdate(
    snapshot_epoch=3,
    leader_epoch=5,
    start_offset=41,
    delivery_complete_count=1,
    batches=tuple(ranges("41-41x1k", "50-59x2a")),
)


@pytest.mark.parametrize("value", [STATE, UPDATE, None])
def test_a_record_is_read_as_it_was_written(value: Any) -> None:
    record = ShareStateRecord(KEY, value)

    key, encoded = record.encode()

    assert ShareStateRecord.decode(key or b"", encoded) == record


def test_an_update_without_a_value_is_malformed() -> None:
    key = ShareUpdateKey(group_id="workers", topic_id=ORDERS, partition=0)

    with pytest.raises(MalformedMessageError, match="has no value"):
        ShareStateRecord.decode(encode_coordinator_key(key), None)


# -- requests ------------------------------------------------------------------------------------


def test_what_is_written_is_read(states: States) -> None:
    states.initialize(start=10)
    states.write(*ranges("10-19x1k"), start=10)
    states.write(*ranges("15-24x1a"))

    answer = states.read()

    assert (answer.start_offset, answer.state_epoch) == (10, 1)
    assert batches(answer) == [tuple(each) for each in ranges("10-19x1k", "20-24x1a")]


def test_records_before_the_start_offset_are_forgotten(states: States) -> None:
    states.initialize()
    states.write(*ranges("0-9x1k", "10-12x1a"))

    states.write(start=11, complete=4)

    assert batches(states.read()) == [tuple(each) for each in ranges("11-12x1a")]
    assert states.summarize().delivery_complete_count == 4


def test_a_share_partition_must_be_initialized_first(states: States) -> None:
    assert states.write() is ErrorCode.INVALID_REQUEST
    assert states.read() is ErrorCode.INVALID_REQUEST
    assert states.summarize().start_offset == -1


def test_a_new_leader_fences_the_writes_of_the_one_before(states: States) -> None:
    states.initialize()
    states.read(leader_epoch=4)

    assert states.write(leader_epoch=3) is ErrorCode.FENCED_LEADER_EPOCH
    assert states.read(leader_epoch=3) is ErrorCode.FENCED_LEADER_EPOCH
    assert not states.write(leader_epoch=4).error_code


def test_a_leader_that_does_not_say_its_epoch_is_not_fenced(states: States) -> None:
    states.initialize()
    states.read(leader_epoch=4)

    assert not states.write(leader_epoch=-1).error_code
    assert not states.read(leader_epoch=-1).error_code


def test_the_fence_of_a_leader_survives_a_restart(states: States) -> None:
    states.initialize()
    states.read(leader_epoch=4)

    assert states.restarted().write(leader_epoch=3) is ErrorCode.FENCED_LEADER_EPOCH


def test_a_summary_tells_where_the_group_is_and_who_leads(states: States) -> None:
    states.initialize(epoch=2, start=5)
    states.read(leader_epoch=4)
    states.write(*ranges("5-9x1k"), start=10, complete=3, state_epoch=2, leader_epoch=4)

    summary = states.summarize()

    assert (summary.start_offset, summary.delivery_complete_count) == (10, 3)
    assert (summary.state_epoch, summary.leader_epoch) == (2, 4)


def test_how_much_is_complete_is_unknown_until_the_start_offset_is(states: States) -> None:
    states.initialize(start=-1)
    assert states.summarize().delivery_complete_count == -1

    states.initialize(start=0)
    assert states.summarize().delivery_complete_count == 0


def test_a_read_of_the_same_leader_writes_nothing(states: States) -> None:
    states.initialize()
    states.read(leader_epoch=4)
    states.read(leader_epoch=4)
    states.read(leader_epoch=-1)

    assert states.kinds == ["ShareState", "ShareUpdate"]


def test_a_leader_that_does_not_say_the_epoch_of_the_state_is_not_fenced(states: States) -> None:
    states.initialize(epoch=2)

    assert not states.write(state_epoch=-1).error_code


def test_the_fence_of_a_leader_is_in_snapshots_too() -> None:
    states = States(updates_per_snapshot=1, prune_interval_ms=1000)
    states.initialize()
    states.read(leader_epoch=4)
    states.write(leader_epoch=4)
    states.advance(1)
    assert states.kinds == ["ShareState", "ShareUpdate", "ShareState"]
    del states.log.entries[: states.log.dropped_before]

    again = states.restarted()

    assert again.kinds == ["ShareState"]
    assert again.write(leader_epoch=3) is ErrorCode.FENCED_LEADER_EPOCH


def test_writes_of_an_earlier_state_are_fenced(states: States) -> None:
    states.initialize(epoch=1)
    states.initialize(epoch=2, start=50)

    assert states.write(state_epoch=1) is ErrorCode.FENCED_STATE_EPOCH
    assert states.initialize(epoch=1) is ErrorCode.FENCED_STATE_EPOCH
    assert not states.write(state_epoch=2).error_code
    assert states.read().start_offset == 50


def test_initializing_again_drops_what_was_known(states: States) -> None:
    states.initialize(epoch=1)
    states.write(*ranges("0-9x1k"))

    states.initialize(epoch=2, start=5)

    assert batches(states.read()) == []
    assert [each.value.snapshot_epoch for each in states.records[::2] if each.value] == [0, 1]


def test_deleted_state_is_gone_and_can_begin_again(states: States) -> None:
    states.initialize(epoch=5)
    states.write(*ranges("0-9x1k"), state_epoch=5)

    assert not states.delete().error_code
    assert not states.delete().error_code  # there was nothing to delete
    assert states.read() is ErrorCode.INVALID_REQUEST

    assert not states.initialize(epoch=1).error_code
    assert len(states.records) == 4


@pytest.mark.parametrize("request_name", ["read", "write"])
def test_the_state_of_a_deleted_topic_is_neither_read_nor_written(
    states: States, request_name: str
) -> None:
    states.initialize()
    states.topics.clear()

    assert getattr(states, request_name)() is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize("request_name", ["initialize", "delete", "summarize"])
def test_unknown_topics_and_partitions_are_refused(states: States, request_name: str) -> None:
    ask = getattr(states, request_name)

    unknown = SharePartitionKey("workers", UUID(int=8), 0)

    assert ask(unknown) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert ask(KEY._replace(partition=2)) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert ask(KEY._replace(partition=-1)) is ErrorCode.INVALID_REQUEST
