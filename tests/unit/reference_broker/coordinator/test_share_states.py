"""The state of share groups: what is kept, who is fenced, and which records are needed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

from pyk.protocol.errors import ErrorCode, MalformedMessageError
from pyk.protocol.messages import (
    delete_share_group_state,
    initialize_share_group_state,
    read_share_group_state,
    read_share_group_state_summary,
    write_share_group_state,
)
from pyk.protocol.messages.share_state_records import ShareUpdateKey
from pyk.protocol.persisted import encode_coordinator_key
from pyk.reference_broker.controller.image import TopicImage
from pyk.reference_broker.coordinator.runtime import ShardRuntime
from pyk.reference_broker.coordinator.share.kind import is_share_key
from pyk.reference_broker.coordinator.share.records import ShareStateRecord
from pyk.reference_broker.coordinator.share.shard import ShareStateConfig, ShareStateShard
from pyk.reference_broker.coordinator.share.share_partition import (
    SharePartitionKey,
    ShareState,
    ShareUpdate,
)
from pyk.reference_broker.coordinator.share.state_batches import StateBatch
from support.groups import MemoryShardLog
from support.shard_time import ShardTime
from support.state_ranges import ranges

ORDERS = UUID(int=7)
KEY = SharePartitionKey("workers", ORDERS, 0)
OTHER = SharePartitionKey("workers", ORDERS, 1)


class States(ShardTime):
    """A share coordinator over a log, and those who ask it."""

    def __init__(self, log: MemoryShardLog | None = None, **config: int) -> None:
        super().__init__()
        self.log = log or MemoryShardLog()
        self.topics: dict[UUID, Any] = {}
        self.add_topic()
        self.runtime: ShardRuntime[ShareStateShard] = ShardRuntime(
            "__share_group_state-0",
            self.log,
            self.timers,
            self.moment,
            lambda timers: ShareStateShard(ShareStateConfig(**config), timers, self.topics),
        )
        list(self.runtime.load())

    def add_topic(self) -> None:
        topic = TopicImage(name="orders", topic_id=ORDERS)
        topic.partitions = dict.fromkeys(range(2))  # type: ignore[assignment]
        self.topics[ORDERS] = topic

    def ask(self, event: Callable[..., Any], key: SharePartitionKey, asked: Any) -> Any:
        answers: list[Any] = []

        def decide(shard: ShareStateShard, moment: Any) -> Any:
            return event(shard, key, asked, moment)

        self.runtime.ask(decide, lambda code: code).when_done(answers.append)
        (answer,) = answers
        return answer

    def initialize(self, key: SharePartitionKey = KEY, *, epoch: int = 1, start: int = 0) -> Any:
        asked = initialize_share_group_state.PartitionData(state_epoch=epoch, start_offset=start)
        return self.ask(ShareStateShard.initialize, key, asked)

    def write(
        self,
        *batches: StateBatch,
        key: SharePartitionKey = KEY,
        start: int = -1,
        complete: int = 0,
        **epochs: int,
    ) -> Any:
        asked = write_share_group_state.PartitionData(
            start_offset=start,
            delivery_complete_count=complete,
            state_batches=[
                write_share_group_state.StateBatch(
                    first_offset=each.first_offset,
                    last_offset=each.last_offset,
                    delivery_count=each.delivery_count,
                    delivery_state=each.delivery_state,
                )
                for each in batches
            ],
            **{"state_epoch": 1, "leader_epoch": 0, **epochs},
        )
        return self.ask(ShareStateShard.write, key, asked)

    def read(self, key: SharePartitionKey = KEY, leader_epoch: int = 0) -> Any:
        asked = read_share_group_state.PartitionData(leader_epoch=leader_epoch)
        return self.ask(ShareStateShard.read, key, asked)

    def delete(self, key: SharePartitionKey = KEY) -> Any:
        return self.ask(ShareStateShard.delete, key, delete_share_group_state.PartitionData())

    def summarize(self, key: SharePartitionKey = KEY) -> Any:
        asked = read_share_group_state_summary.PartitionData(leader_epoch=0)
        return self.ask(ShareStateShard.summarize, key, asked)

    def restarted(self) -> States:
        """Return a coordinator that has loaded the same log."""
        return States(self.log)

    @property
    def records(self) -> list[ShareStateRecord]:
        return [
            ShareStateRecord.decode(key or b"", value)
            for batch in self.log.batches
            for key, value in batch
        ]

    @property
    def kinds(self) -> list[str]:
        return [type(record.value).__name__ for record in self.records]


@pytest.fixture
def states() -> States:
    return States()


def batches(answer: Any) -> list[tuple[int, int, int, int]]:
    return [
        (each.first_offset, each.last_offset, each.delivery_count, each.delivery_state)
        for each in answer.state_batches
    ]


# -- keys and records ----------------------------------------------------------------------------


def test_the_key_of_a_share_partition_is_a_text_with_the_group_the_topic_id_and_the_number() -> (
    None
):
    assert str(KEY) == "workers:AAAAAAAAAAAAAAAAAAAABw:0"
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


# -- the log -------------------------------------------------------------------------------------


def test_a_snapshot_follows_so_many_updates() -> None:
    states = States(updates_per_snapshot=2)
    states.initialize()

    for offset in range(4):
        states.write(*ranges(f"{offset}-{offset}x1k"))

    assert states.kinds == [
        "ShareState", "ShareUpdate", "ShareUpdate", "ShareState", "ShareUpdate"
    ]  # fmt: skip
    snapshot = states.records[3].value
    assert isinstance(snapshot, ShareState)
    assert (snapshot.snapshot_epoch, snapshot.batches) == (1, tuple(ranges("0-2x1k")))
    assert batches(states.read()) == [tuple(each) for each in ranges("0-3x1k")]


@pytest.mark.parametrize("limit", [0, 1, 2, 500])
def test_a_restart_finds_the_same_state_whatever_the_distance_of_snapshots(limit: int) -> None:
    states = States(updates_per_snapshot=limit)
    states.initialize()
    for offset in range(7):
        states.write(*ranges(f"{offset}-{offset}x1k", "3-12x2a"), start=offset // 2)

    again = states.restarted()

    assert batches(again.read()) == batches(states.read())
    assert again.read().start_offset == states.read().start_offset == 3


def test_records_that_snapshots_replace_are_removed() -> None:
    states = States(updates_per_snapshot=1, prune_interval_ms=1000, cold_interval_ms=9999)
    states.initialize()
    states.initialize(OTHER)
    for _ in range(3):
        states.write()
    states.advance(1)
    assert states.log.dropped_before == 1  # the snapshot of the other one

    states.initialize(OTHER, epoch=2)
    states.advance(1)

    assert states.kinds[3] == "ShareState"
    assert states.log.dropped_before == 3


def test_what_was_removed_is_not_missed() -> None:
    states = States(updates_per_snapshot=1, prune_interval_ms=1000)
    states.initialize()
    for offset in range(6):
        states.write(*ranges(f"{offset}-{offset}x1k"))
    states.advance(1)
    expected = batches(states.read())
    del states.log.entries[: states.log.dropped_before]

    assert batches(states.restarted().read()) == expected


def test_a_share_partition_at_rest_gets_a_snapshot_so_that_others_can_be_removed() -> None:
    states = States(updates_per_snapshot=1, prune_interval_ms=1_500, cold_interval_ms=1_000)
    states.initialize(OTHER)
    states.advance(0.5)
    states.initialize()
    states.write()

    states.advance(1)

    assert states.records[-1].key == OTHER
    snapshot = states.records[-1].value
    assert isinstance(snapshot, ShareState)
    assert snapshot.snapshot_epoch == 1
    assert states.log.dropped_before == 1


def test_share_partitions_at_rest_get_snapshots_again_and_again() -> None:
    states = States(updates_per_snapshot=1, cold_interval_ms=1_000)
    states.initialize(OTHER)

    for _ in range(3):
        states.initialize(epoch=len(states.records))
        states.advance(1.1)

    assert [each.key for each in states.records].count(OTHER) == 4


def test_a_snapshot_of_a_share_partition_at_rest_counts_as_none_of_an_update() -> None:
    states = States(updates_per_snapshot=2, cold_interval_ms=1_000)
    states.initialize()
    states.write()
    states.advance(1)
    states.write()
    states.write()

    assert states.kinds == ["ShareState", "ShareUpdate", "ShareState", "ShareUpdate", "ShareState"]


def test_without_share_partitions_only_the_last_record_is_kept() -> None:
    states = States(prune_interval_ms=1000)
    states.initialize()
    states.initialize(OTHER)
    states.delete()
    states.delete(OTHER)

    states.advance(1)

    assert states.log.dropped_before == 3


def test_updates_without_their_snapshot_are_read_as_far_as_they_tell() -> None:
    states = States()
    states.initialize(start=10)
    states.write(*ranges("10-12x1k"), start=10)
    del states.log.entries[0]

    again = states.restarted()

    assert batches(again.read()) == [tuple(each) for each in ranges("10-12x1k")]


def test_nothing_is_written_while_all_share_partitions_are_at_rest() -> None:
    states = States(cold_interval_ms=1_000)
    states.initialize()
    states.advance(1)
    assert len(states.records) == 2

    states.advance(10)

    assert len(states.records) == 2


def test_the_state_in_deleted_topics_is_forgotten(states: States) -> None:
    states.initialize()
    states.topics.clear()

    states.runtime.tell(lambda shard, _: shard.forget_deleted_topics(lambda _: None))

    states.add_topic()
    assert states.read() is ErrorCode.INVALID_REQUEST
    assert states.restarted().read() is ErrorCode.INVALID_REQUEST


def test_the_state_in_topics_that_exist_is_not_forgotten(states: States) -> None:
    states.initialize()

    states.runtime.tell(lambda shard, _: shard.forget_deleted_topics(lambda _: None))

    assert states.kinds == ["ShareState"]
