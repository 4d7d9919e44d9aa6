"""A follower of metadata whose partitions, shards and configurations a test sets and looks at."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any
from uuid import UUID

from pyk.protocol.messages.metadata_records import PartitionRecord, RemoveTopicRecord, TopicRecord
from pyk.protocol.schema import Message
from pyk.protocol.topics import TopicPartition
from pyk.reference_broker.config import BrokerConfigLayers
from pyk.reference_broker.controller.image import MetadataImage
from pyk.reference_broker.controller.records import MetadataRecord
from pyk.reference_broker.coordinator.group.kind import GROUPS
from pyk.reference_broker.metadata_follower import MetadataFollower
from pyk.runtime.timers import Moment, TimerQueue

ORDERS = TopicPartition("orders", 0)
OFFSETS = TopicPartition(GROUPS.topic, 0)

Call = tuple[str, object]


class HeldPartition:
    def __init__(self, name: TopicPartition, *, is_leader: bool = True) -> None:
        self.topic_partition = name
        self.is_leader = is_leader
        self.marker_listeners: list[Any] = []

    def add_marker_listener(self, listener: object) -> None:
        self.marker_listeners.append(listener)


class FakeReplicas:
    """Partitions as a test sets them; ``occupied`` names have an old log that is being deleted,
    ``failing`` ones cannot be followed, after they were lost."""

    def __init__(self, calls: list[Call]) -> None:
        self.held: dict[TopicPartition, HeldPartition] = {}
        self.next: dict[TopicPartition, HeldPartition | None] = {}
        self.occupied: set[TopicPartition] = set()
        self.failing: set[TopicPartition] = set()
        self.when_free: dict[TopicPartition, Callable[[], None]] = {}
        self.unused: list[TopicPartition] = []
        self._calls = calls

    def find(self, name: TopicPartition) -> HeldPartition | None:
        return self.held.get(name)

    def follow(self, name: TopicPartition, when_free: Callable[[], None]) -> bool:
        self._calls.append(("follow", name))
        if name in self.failing:
            self.held.pop(name, None)
            raise OSError
        if name in self.occupied:
            self.when_free[name] = when_free
            return False
        partition = self.next.get(name)
        if partition is None:
            self.held.pop(name, None)
        else:
            self.held[name] = partition
        return True

    def expect_logs(self) -> None:
        self._calls.append(("expect logs", None))

    def open_when_used(
        self, names: list[TopicPartition], follow: Callable[[TopicPartition], None]
    ) -> None:
        self.unused += names

    def unopened(self) -> list[TopicPartition]:
        return self.unused

    def retire(self, name: TopicPartition) -> None:
        self._calls.append(("retire", name))

    def delete_former(self, name: TopicPartition, topic_id: UUID) -> None:
        self._calls.append(("delete", (name, topic_id)))

    def update_config(self, topic: str) -> None:
        self._calls.append(("configure", topic))

    def go_offline(self, names: Iterable[TopicPartition]) -> None:
        self._calls.append(("go offline", tuple(names)))


class FakeShards:
    def __init__(self, calls: list[Call]) -> None:
        self.kinds = {GROUPS.topic: GROUPS}
        self._calls = calls

    def load(self, name: TopicPartition, log: object, topic_id: object) -> Iterator[None]:
        self._calls.append(("load", name))
        return iter(())

    def unload(self, name: TopicPartition) -> None:
        self._calls.append(("unload", name))

    def forget_deleted_topics(self, topic_id: object) -> None:
        self._calls.append(("forget deleted topics", None))

    def transaction_ended(self, name: TopicPartition, producer_id: int, *, is_commit: bool) -> None:
        self._calls.append(("end transaction", (name, producer_id, is_commit)))


class FakeConfigs:
    broker = BrokerConfigLayers.of({}).broker_config()

    def __init__(self, calls: list[Call]) -> None:
        self._calls = calls

    def update(self) -> None:
        self._calls.append(("configure", None))


class Follower:
    """A follower; ``calls`` are what it had partitions, shards and configurations do."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.now = 0.0
        self.image = MetadataImage()
        self.timers = TimerQueue(lambda _: None)
        self.replicas = FakeReplicas(self.calls)
        parts: Any = {
            "replicas": self.replicas,
            "shards": FakeShards(self.calls),
            "configs": FakeConfigs(self.calls),
        }
        self.follower = MetadataFollower(
            self.image, timers=self.timers, moment=lambda: Moment(self.now, 0), **parts
        )

    @property
    def shard_calls(self) -> list[Call]:
        return [each for each in self.calls if each[0] in ("load", "unload")]

    @property
    def followed(self) -> list[TopicPartition]:
        return [name for call, name in self.calls if call == "follow"]  # type: ignore[misc]

    def hold(self, partition: HeldPartition) -> None:
        self.replicas.next[partition.topic_partition] = partition
        self.follower.follow(partition.topic_partition)

    def start(self, *, is_clean: bool = False) -> int:
        """Follow all that the image holds; return into how many turns that was divided."""
        turns = 1 + len(list(self.follower.follow_all(is_clean=is_clean)))
        self.calls.clear()
        return turns

    def create(self, topic: str, partitions: int = 1) -> UUID:
        """Commit a topic with all its partitions."""
        topic_id = UUID(int=1000 + len(self.image.topics_by_id))
        self.commit(
            TopicRecord(name=topic, topic_id=topic_id),
            *(PartitionRecord(partition_id=n, topic_id=topic_id) for n in range(partitions)),
        )
        return topic_id

    def delete(self, *topic_ids: UUID) -> None:
        self.commit(*(RemoveTopicRecord(topic_id=each) for each in topic_ids))

    def commit(self, *records: Message) -> None:
        self.follower.commit(map(MetadataRecord, records))

    def advance(self, seconds: float) -> None:
        self.now += seconds
        self.timers.advance(self.now)
