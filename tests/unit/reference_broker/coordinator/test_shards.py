"""Which shards a broker runs: loaded, found by key, and unloaded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest

from pyk.protocol.errors import ErrorCode
from pyk.protocol.topics import TopicPartition
from pyk.reference_broker.config import BrokerConfig
from pyk.reference_broker.coordinator.decision import Decision
from pyk.reference_broker.coordinator.shard_kind import InternalTopic, ShardKind, TopicIdOf
from pyk.reference_broker.coordinator.shard_log import KeyValue, LogEntry, LoggedRecords
from pyk.reference_broker.coordinator.shards import Shards, partition_for
from pyk.reference_broker.errors import ApiError
from pyk.reference_broker.storage import StorageError
from pyk.runtime import slotted
from pyk.runtime.timers import Moment
from support.groups import MemoryShardLog
from support.shards import broker_environment

NAME = TopicPartition("__notes", 0)


@slotted.frozen
class Note:
    text: str

    def encode(self) -> KeyValue:
        return None, self.text.encode()


class Notes:
    """A shard that keeps notes, and forgets those about topics that do not exist."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def decode(self, key: bytes | None, value: bytes | None) -> Note:
        return Note((value or b"").decode())

    def replay(self, record: Note) -> None:
        self.notes.append(record.text)

    def loaded(self, moment: Moment) -> list[Decision]:
        return []

    def unloaded(self) -> None:
        return

    def forget_deleted_topics(self, topic_id_of: TopicIdOf) -> Decision:
        gone = [note for note in self.notes if topic_id_of(note) is None]
        return Decision([Note(f"forgot {note}") for note in gone])


NOTES = ShardKind(
    topic=NAME.topic,
    key_type=9,
    internal_topic=lambda _: InternalTopic(partitions=1, replication_factor=1, configs={}),
    new_shard=lambda _: Notes(),
)


def no_topic(name: str) -> UUID | None:
    return None


def every_topic(name: str) -> UUID | None:
    return UUID(int=1)


@pytest.fixture
def shards() -> Shards:
    config = BrokerConfig()
    return Shards(
        [NOTES],
        lambda: config,
        lambda: UUID(int=1),
        broker_environment(),
    )


def load(shards: Shards, log: MemoryShardLog, topic_id_of: TopicIdOf = every_topic) -> None:
    for _ in shards.load(NAME, log, topic_id_of):
        pass


def find(shards: Shards) -> Any:
    return shards.find(NAME.topic, "any key", 1)


def why_not_found(shards: Shards) -> ErrorCode:
    with pytest.raises(ApiError) as caught:
        find(shards)
    return caught.value.code


def written(*texts: str) -> MemoryShardLog:
    log = MemoryShardLog()
    log.append([(None, text.encode()) for text in texts], 0)
    return log


def notes_of(shards: Shards) -> list[str]:
    seen: list[list[str]] = []
    find(shards).look(lambda shard: list(shard.notes), lambda code: []).when_done(seen.append)
    return seen[0]


def test_a_shard_is_found_once_it_is_loaded_and_not_before(shards: Shards) -> None:
    assert why_not_found(shards) is ErrorCode.NOT_COORDINATOR
    loading = shards.load(NAME, written("orders"), every_topic)
    next(loading)
    assert why_not_found(shards) is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS

    list(loading)

    assert notes_of(shards) == ["orders"]


class BrokenLog(MemoryShardLog):
    """A log that cannot be read."""

    def read_all(self) -> Iterator[list[LogEntry]]:
        yield [LoggedRecords([(None, b"orders")])]
        raise StorageError("the disk is gone")


def test_a_shard_whose_log_cannot_be_read_is_not_served(shards: Shards) -> None:
    with pytest.raises(StorageError):
        load(shards, BrokenLog())

    assert why_not_found(shards) is ErrorCode.NOT_COORDINATOR


def test_a_shard_forgets_deleted_topics_when_it_is_loaded(shards: Shards) -> None:
    load(shards, written("orders"), no_topic)

    assert notes_of(shards) == ["orders", "forgot orders"]


def test_requests_that_wait_are_sent_elsewhere_when_a_shard_is_unloaded(shards: Shards) -> None:
    log = written("orders")
    load(shards, log)
    log.hold()
    answers: list[Any] = []
    asked = find(shards).ask(lambda shard, _: ("done", Decision([Note("a")])), lambda code: code)
    asked.when_done(answers.append)

    shards.unload(NAME)

    assert answers == [ErrorCode.NOT_COORDINATOR]
    assert why_not_found(shards) is ErrorCode.NOT_COORDINATOR


def test_forgetting_deleted_topics_raises_if_it_cannot_be_written(shards: Shards) -> None:
    log = written("orders")
    load(shards, log)
    log.fails_with = ErrorCode.KAFKA_STORAGE_ERROR

    with pytest.raises(ApiError) as caught:
        shards.forget_deleted_topics(no_topic)

    assert caught.value.code is ErrorCode.KAFKA_STORAGE_ERROR


@pytest.mark.parametrize(
    ("key", "partition"),
    [
        ("readers", 28),
        ("my-group", 12),  # its hash is negative
        ("analytics", 10),
        ("polygenelubricants", 0),  # its hash is the lowest number of 32 bits
        ("грп", 40),
    ],
)
def test_keys_belong_to_the_same_partition_as_in_kafka(key: str, partition: int) -> None:
    assert partition_for(key, 50) == partition
