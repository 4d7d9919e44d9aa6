"""Partitions whose log cannot be opened at once, and shards that follow their partitions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID

from pyk.protocol.topics import TopicPartition
from pyk.reference_broker.config import BrokerConfigLayers
from pyk.reference_broker.controller.image import MetadataImage
from pyk.reference_broker.coordinator.group.kind import GROUPS
from pyk.reference_broker.metadata_follower import MetadataFollower
from pyk.runtime.timers import Moment, TimerQueue

ORDERS = TopicPartition("orders", 0)
OFFSETS = TopicPartition(GROUPS.topic, 0)


class HeldPartition:
    def __init__(self, name: TopicPartition, *, is_leader: bool = True) -> None:
        self.topic_partition = name
        self.is_leader = is_leader

    def add_marker_listener(self, listener: object) -> None:
        """Do nothing: no transaction ends here."""


class FakeReplicas:
    """Partitions as a test sets them; ``occupied`` names have an old log that is being deleted."""

    def __init__(self) -> None:
        self.held: dict[TopicPartition, HeldPartition] = {}
        self.next: dict[TopicPartition, HeldPartition | None] = {}
        self.occupied: set[TopicPartition] = set()
        self.when_free: dict[TopicPartition, Callable[[], None]] = {}

    def find(self, name: TopicPartition) -> HeldPartition | None:
        return self.held.get(name)

    def follow(self, name: TopicPartition, when_free: Callable[[], None]) -> bool:
        if name in self.occupied:
            self.when_free[name] = when_free
            return False
        partition = self.next.get(name)
        if partition is None:
            self.held.pop(name, None)
        else:
            self.held[name] = partition
        return True


class FakeShards:
    def __init__(self) -> None:
        self.kinds = {GROUPS.topic: GROUPS}
        self.calls: list[tuple[str, TopicPartition]] = []

    def load(self, name: TopicPartition, log: object, topic_id: object) -> Iterator[None]:
        self.calls.append(("load", name))
        return iter(())

    def unload(self, name: TopicPartition) -> None:
        self.calls.append(("unload", name))


class FakeConfigs:
    broker = BrokerConfigLayers.of({}).broker_config()


class Follower:
    def __init__(self) -> None:
        self.replicas = FakeReplicas()
        self.shards = FakeShards()
        parts: Any = {"replicas": self.replicas, "shards": self.shards, "configs": FakeConfigs()}
        self.follower = MetadataFollower(
            MetadataImage(UUID(int=1)),
            timers=TimerQueue(lambda _: None),
            moment=lambda: Moment(0.0, 0),
            **parts,
        )

    def hold(self, partition: HeldPartition) -> None:
        self.replicas.next[partition.topic_partition] = partition
        self.follower.follow(partition.topic_partition)


def test_it_has_not_caught_up_while_an_old_log_has_the_name_of_a_new_one() -> None:
    follower = Follower()
    follower.replicas.occupied.add(ORDERS)

    follower.hold(HeldPartition(ORDERS))

    assert not follower.follower.caught_up().is_done
    assert ORDERS not in follower.replicas.held


def test_it_opens_the_new_log_and_has_caught_up_when_the_old_one_is_gone() -> None:
    follower = Follower()
    follower.replicas.occupied.add(ORDERS)
    follower.hold(HeldPartition(ORDERS))
    caught_up = follower.follower.caught_up()

    follower.replicas.occupied.clear()
    follower.replicas.when_free[ORDERS]()

    assert ORDERS in follower.replicas.held
    assert caught_up.is_done


def test_the_shard_of_a_partition_is_loaded_when_it_is_opened_and_not_again() -> None:
    follower = Follower()
    partition = HeldPartition(OFFSETS)

    follower.hold(partition)
    follower.hold(partition)

    assert follower.shards.calls == [("unload", OFFSETS), ("load", OFFSETS)]


def test_the_shard_of_a_recreated_partition_is_loaded_from_its_new_log() -> None:
    follower = Follower()
    follower.hold(HeldPartition(OFFSETS))
    follower.shards.calls.clear()

    follower.hold(HeldPartition(OFFSETS))

    assert follower.shards.calls == [("unload", OFFSETS), ("load", OFFSETS)]


def test_the_shard_of_a_partition_that_is_gone_is_unloaded() -> None:
    follower = Follower()
    follower.hold(HeldPartition(OFFSETS))
    follower.shards.calls.clear()

    follower.replicas.next[OFFSETS] = None
    follower.follower.follow(OFFSETS)

    assert follower.shards.calls == [("unload", OFFSETS)]


def test_no_shard_is_loaded_over_a_partition_that_another_broker_leads() -> None:
    follower = Follower()

    follower.hold(HeldPartition(OFFSETS, is_leader=False))

    assert follower.shards.calls == [("unload", OFFSETS)]


def test_other_partitions_have_no_shards() -> None:
    follower = Follower()

    follower.hold(HeldPartition(ORDERS))

    assert follower.shards.calls == []
