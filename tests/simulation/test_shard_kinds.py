"""A made-up internal topic: one entry in the table of kinds, and a broker serves it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.find_coordinator import Coordinator, FindCoordinatorRequest
from pyk.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from pyk.reference_broker.coordinator.decision import Decision
from pyk.reference_broker.coordinator.runtime import ShardRuntime
from pyk.reference_broker.coordinator.shard_kind import InternalTopic, ShardKind, TopicIdOf
from pyk.reference_broker.errors import ApiError
from pyk.reference_broker.handlers.coordinators import find_coordinator
from pyk.reference_broker.handlers.metadata import metadata
from pyk.reference_broker.shard_kinds import SHARD_KINDS
from pyk.runtime import slotted
from pyk.runtime.filesystem.memory import MemoryFileSystem
from pyk.runtime.timers import Moment
from pyk.runtime.virtual_time import virtual_time
from support.nodes import Node, now, running
from support.running_brokers import context

TOPIC = "__counters"
KEY_TYPE = 77


@slotted.frozen
class Count:
    """How often something was counted."""

    key: str
    value: int

    def encode(self) -> tuple[bytes | None, bytes | None]:
        return self.key.encode(), b"%d" % self.value


class CounterShard:
    """Counts, by key."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}

    def count(self, key: str) -> tuple[int, Decision]:
        value = self.counts.get(key, 0) + 1
        return value, Decision([Count(key, value)])

    def decode(self, key: bytes | None, value: bytes | None) -> Count:
        return Count((key or b"").decode(), int(value or b"0"))

    def replay(self, record: Count) -> None:
        self.counts[record.key] = record.value

    def loaded(self, moment: Moment) -> list[Decision]:
        return []

    def unloaded(self) -> None:
        self.counts.clear()

    def forget_deleted_topics(self, topic_id_of: TopicIdOf) -> Decision:
        return Decision()


COUNTERS = ShardKind(
    topic=TOPIC,
    key_type=KEY_TYPE,
    internal_topic=lambda _: InternalTopic(
        partitions=3, replication_factor=1, configs={"cleanup.policy": "compact"}
    ),
    new_shard=lambda _: CounterShard(),
)


@asynccontextmanager
async def running_with_counters(filesystem: MemoryFileSystem) -> AsyncIterator[Node]:
    async with running(filesystem, shard_kinds=(*SHARD_KINDS, COUNTERS)) as node:
        yield node


def coordinator_of(node: Node, key: str) -> Coordinator:
    request = FindCoordinatorRequest(key_type=KEY_TYPE, coordinator_keys=[key])
    response = find_coordinator(node.broker.services, request, context(4))
    (found,) = (response if hasattr(response, "coordinators") else now(response)).coordinators
    return found


def shard_of(node: Node, key: str) -> ShardRuntime[CounterShard]:
    return node.broker.services.shards.find(TOPIC, key, 3)


def count(node: Node, key: str) -> int | ErrorCode:
    return now(shard_of(node, key).ask(lambda shard, _: shard.count(key), lambda code: code))


@virtual_time
async def test_the_topic_of_a_new_kind_is_created_when_a_client_looks_for_its_coordinator() -> None:
    async with running_with_counters(MemoryFileSystem()) as node:
        assert TOPIC not in node.image.topics

        found = coordinator_of(node, "clicks")

        assert (found.node_id, found.error_code) == (0, ErrorCode.NONE)
        assert len(node.image.topics[TOPIC].partitions) == 3
        assert node.partition(TOPIC).log.config.cleanup_policy == ("compact",)


@virtual_time
async def test_a_new_kind_of_shard_serves() -> None:
    async with running_with_counters(MemoryFileSystem()) as node:
        coordinator_of(node, "clicks")

        assert [count(node, "clicks"), count(node, "clicks"), count(node, "views")] == [1, 2, 1]


@pytest.mark.parametrize("is_clean", [True, False])
@virtual_time
async def test_a_new_kind_of_shard_is_loaded_after_a_restart(is_clean: bool) -> None:
    memory = MemoryFileSystem()
    async with running_with_counters(memory) as node:
        coordinator_of(node, "clicks")
        count(node, "clicks")
        if is_clean:
            await node.broker.stop()
        else:
            memory.crash(loses_unflushed=False)

    async with running_with_counters(memory) as again:
        assert count(again, "clicks") == 2


@virtual_time
async def test_metadata_marks_the_topic_of_a_new_kind_as_internal() -> None:
    async with running_with_counters(MemoryFileSystem()) as node:
        coordinator_of(node, "clicks")

        asked = MetadataRequest(topics=[MetadataRequestTopic(name=TOPIC)])
        (topic,) = metadata(node.broker.services, asked, context(12)).topics

        assert topic.is_internal


@virtual_time
async def test_a_shard_whose_topic_is_deleted_serves_no_more() -> None:
    async with running_with_counters(MemoryFileSystem()) as node:
        coordinator_of(node, "clicks")
        runtime = shard_of(node, "clicks")

        node.delete(TOPIC)

        with pytest.raises(ApiError):
            shard_of(node, "clicks")
        refused = runtime.ask(lambda shard, _: shard.count("clicks"), lambda code: code)
        assert now(refused) is ErrorCode.NOT_COORDINATOR


@virtual_time
async def test_keys_of_no_kind_have_no_coordinator() -> None:
    async with running(MemoryFileSystem()) as node:
        assert coordinator_of(node, "clicks").error_code == ErrorCode.INVALID_REQUEST
