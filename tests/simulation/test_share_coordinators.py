"""Share coordinators: what was answered outlives a crash, old records go, refusals are told."""

from __future__ import annotations

import asyncio
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
)
from pyk.protocol.messages.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsRequestTopic,
)
from pyk.protocol.messages.delete_share_group_state import PartitionResult
from pyk.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from pyk.protocol.messages.write_share_group_state import PartitionData, StateBatch
from pyk.reference_broker.awaiting import value_of
from pyk.reference_broker.controller.names import SHARE_GROUP_STATE_TOPIC
from pyk.reference_broker.coordinator.group.share.state_topics import StateTopics
from pyk.reference_broker.coordinator.shards import partition_for
from pyk.reference_broker.coordinator.share.share_partition import SharePartitionKey
from pyk.reference_broker.deferred import Deferred
from pyk.reference_broker.errors import ApiError
from pyk.reference_broker.handlers.ask_group import look_at_group
from pyk.reference_broker.handlers.share_group_deletion import DeleteServices, delete_share_group
from pyk.reference_broker.handlers.share_group_offsets import (
    alter_share_group_offsets,
    delete_share_group_offsets,
)
from pyk.reference_broker.handlers.share_groups import share_group_heartbeat
from pyk.runtime.filesystem.memory import MemoryFileSystem
from pyk.runtime.virtual_time import virtual_time
from support.nodes import Node, running
from support.running_brokers import context

GROUP = "workers"


def key_of(node: Node, partition: int = 0) -> SharePartitionKey:
    return SharePartitionKey(GROUP, node.image.topics["orders"].topic_id, partition)


async def write(node: Node, offset: int, partition: int = 0) -> Any:
    """Acknowledge one record."""
    batch = StateBatch(first_offset=offset, last_offset=offset, delivery_state=2, delivery_count=1)
    change = PartitionData(state_epoch=1, leader_epoch=0, start_offset=-1, state_batches=[batch])
    return await value_of(
        node.broker.services.share_persister.write(key_of(node, partition), change)
    )


async def acknowledged(node: Node, partition: int = 0) -> list[tuple[int, int]]:
    persister = node.broker.services.share_persister
    found = await value_of(persister.read(key_of(node, partition), 0))
    assert not found.error_code, found
    return [(each.first_offset, each.last_offset) for each in found.state_batches]


async def initialize(node: Node, partition: int = 0) -> None:
    persister = node.broker.services.share_persister
    result = await value_of(persister.initialize(key_of(node, partition), 1, 0))
    assert not result.error_code, result


@pytest.mark.parametrize("loses_unflushed", [False, True])
@virtual_time
async def test_what_was_written_is_there_after_a_crash(loses_unflushed: bool) -> None:
    memory = MemoryFileSystem()
    config = {"flush_messages": "1"} if loses_unflushed else {}
    async with running(memory, **config) as node:
        await node.create("orders", 2)
        await initialize(node)
        for offset in (0, 1, 2, 7):
            assert not (await write(node, offset)).error_code
        memory.crash(loses_unflushed=loses_unflushed)

    async with running(memory, **config) as again:
        assert await acknowledged(again) == [(0, 2), (7, 7)]


@virtual_time
async def test_records_that_snapshots_replace_are_removed_from_the_log_and_not_missed() -> None:
    memory = MemoryFileSystem()
    config = {
        "share_coordinator_snapshot_update_records_per_snapshot": "3",
        "share_coordinator_state_topic_prune_interval_ms": "1000",
        "share_coordinator_state_topic_num_partitions": "1",
    }
    async with running(memory, **config) as node:
        await node.create("orders", 1)
        await initialize(node)
        for offset in range(10):
            await write(node, offset)
        await asyncio.sleep(1.5)
        log = node.partition(SHARE_GROUP_STATE_TOPIC).log
        assert log.log_start_offset == 8  # the last of three snapshots
        await node.broker.stop()

    async with running(memory, **config) as again:
        assert await acknowledged(again) == [(0, 9)]


@virtual_time
async def test_many_share_partitions_of_many_shards_are_asked_at_once() -> None:
    async with running(MemoryFileSystem()) as node:
        await node.create("orders", 12)
        await asyncio.gather(*(initialize(node, number) for number in range(12)))

        await asyncio.gather(*(write(node, number, number) for number in range(12)))

        found = [await acknowledged(node, number) for number in range(12)]
        assert found == [[(number, number)] for number in range(12)]
        shards = {partition_for(str(key_of(node, number)), 2) for number in range(12)}
        assert shards == {0, 1}


async def beat(node: Node, epoch: int, *topics: str) -> Any:
    names = list(topics or ["orders"]) if epoch == 0 else None
    request = ShareGroupHeartbeatRequest(
        group_id=GROUP, member_id="a", member_epoch=epoch, subscribed_topic_names=names
    )
    result = share_group_heartbeat(node.broker.services, request, context(1))
    return await value_of(result)  # type: ignore[arg-type]


async def assigned(node: Node, epoch: int) -> list[int]:
    """Send heartbeats until the member has partitions."""
    async with asyncio.timeout(120):
        while True:
            answer = await beat(node, epoch)
            assert not answer.error_code, answer
            epoch = answer.member_epoch
            if answer.assignment is not None and answer.assignment.topic_partitions:
                return sorted(answer.assignment.topic_partitions[0].partitions)
            await asyncio.sleep(1)


@virtual_time
async def test_a_member_gets_its_partitions_whenever_the_node_crashes() -> None:
    for seconds in (0.0, 0.001, 0.01, 0.1, 1.0):
        memory = MemoryFileSystem()
        async with running(memory) as node:
            await node.create("orders", 3)
            await node.create_groups_topic()
            epoch = (await beat(node, 0)).member_epoch
            await asyncio.sleep(seconds)
            memory.crash(loses_unflushed=False)

        async with running(memory) as again:
            assert await assigned(again, epoch) == [0, 1, 2], seconds


@virtual_time
async def test_a_node_that_does_not_coordinate_a_group_refuses_its_members() -> None:
    async with running(MemoryFileSystem()) as node:  # the topic of groups does not exist yet
        assert (await beat(node, 0)).error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE


def refusing_to_delete(node: Node, topic: str, refused: int) -> Any:
    """Return services whose share coordinators do not delete the state of one partition."""

    def delete(key: SharePartitionKey) -> Deferred[PartitionResult]:
        if (key.topic_id, key.partition) != (node.image.topic_id(topic), refused):
            return services.share_persister.delete(key)
        result: Deferred[PartitionResult] = Deferred()
        result.complete(PartitionResult(partition=refused, error_code=ErrorCode.NOT_COORDINATOR))
        return result

    services: DeleteServices = node.broker.services
    return SimpleNamespace(
        image=services.image,
        shards=services.shards,
        share_persister=SimpleNamespace(delete=delete),
    )


@pytest.mark.parametrize("refused", [("orders", 0), ("orders", 1), ("bills", 0)])
@virtual_time
async def test_a_group_whose_states_cannot_all_be_deleted_stays_until_they_are(
    refused: tuple[str, int],
) -> None:
    async with running(MemoryFileSystem()) as node:
        await node.create("orders", 2)
        await node.create("bills", 1)
        await node.create_groups_topic()
        await assigned(node, (await beat(node, 0, "orders", "bills")).member_epoch)
        await beat(node, -1)

        answer = await value_of(delete_share_group(refusing_to_delete(node, *refused), GROUP))
        assert answer is ErrorCode.NOT_COORDINATOR

        assert await value_of(delete_share_group(node.broker.services, GROUP)) is ErrorCode.NONE
        for partition in range(2):
            with pytest.raises(AssertionError, match="uninitialized"):
                await acknowledged(node, partition)
        answer = await value_of(delete_share_group(node.broker.services, GROUP))
        assert answer is ErrorCode.GROUP_ID_NOT_FOUND


def moving_away(node: Node) -> Any:
    """Return services that lose the group as soon as share coordinators are asked for a state."""

    def lose_group(*_: Any) -> Any:
        raise ApiError(ErrorCode.NOT_COORDINATOR)

    def asked(name: str, *fields: Any) -> Any:
        moving.shards = SimpleNamespace(find=lose_group)
        return getattr(services.share_persister, name)(*fields)

    services = node.broker.services
    moving = SimpleNamespace(
        image=services.image,
        shards=services.shards,
        share_persister=SimpleNamespace(
            initialize=partial(asked, "initialize"), delete=partial(asked, "delete")
        ),
    )
    return moving


def alteration(*numbers: int) -> AlterShareGroupOffsetsRequest:
    partitions = [
        AlterShareGroupOffsetsRequestPartition(partition_index=number, start_offset=7)
        for number in numbers
    ]
    topic = AlterShareGroupOffsetsRequestTopic(topic_name="orders", partitions=partitions)
    return AlterShareGroupOffsetsRequest(group_id=GROUP, topics=[topic])


@virtual_time
async def test_a_group_that_moves_while_its_offsets_change_leaves_the_change_in_doubt() -> None:
    alter = alteration(0)
    names = [DeleteShareGroupOffsetsRequestTopic(topic_name="orders")]
    delete = DeleteShareGroupOffsetsRequest(group_id=GROUP, topics=names)
    async with running(MemoryFileSystem()) as node:
        await node.create("orders", 1)
        await node.create_groups_topic()
        await assigned(node, (await beat(node, 0)).member_epoch)
        await beat(node, -1)

        altered: Any = alter_share_group_offsets(moving_away(node), alter, context(0))
        deleted: Any = delete_share_group_offsets(moving_away(node), delete, context(0))

        for response in (await value_of(altered), await value_of(deleted)):
            assert response.error_code == ErrorCode.NOT_COORDINATOR
            assert response.responses == []


@virtual_time
async def test_a_partition_whose_offset_is_refused_says_why_and_the_others_are_altered() -> None:
    asked = []

    def initialize(key: SharePartitionKey, *fields: int) -> Any:
        asked.append((key.partition, *fields))
        if key.partition == 0:
            return services.share_persister.initialize(key, *fields)
        result: Deferred[Any] = Deferred()
        code = ErrorCode.FENCED_STATE_EPOCH
        result.complete(SimpleNamespace(error_code=code, error_message="too late"))
        return result

    async with running(MemoryFileSystem()) as node:
        await node.create("orders", 2)
        await node.create_groups_topic()
        services = node.broker.services
        refusing: Any = SimpleNamespace(
            image=services.image,
            shards=services.shards,
            share_persister=SimpleNamespace(initialize=initialize),
        )

        altered: Any = alter_share_group_offsets(refusing, alteration(0, 1), context(0))

        assert asked == [(0, 1, 7), (1, 1, 7)]  # in the first epoch of the group
        ((done, refused),) = [topic.partitions for topic in (await value_of(altered)).responses]
        assert (done.error_code, done.error_message) == (ErrorCode.NONE, None)
        assert refused.error_code == ErrorCode.FENCED_STATE_EPOCH
        assert refused.error_message == "too late"
        found = await topics_of_group(node)
        assert found.assignable == {key_of(node).topic_id: {0}}
        assert found.initializing == {}


@virtual_time
async def test_offsets_whose_state_is_not_deleted_can_be_deleted_again() -> None:
    names = ("orders", "bills", "missing")
    topics = [DeleteShareGroupOffsetsRequestTopic(topic_name=name) for name in names]
    request = DeleteShareGroupOffsetsRequest(group_id=GROUP, topics=topics)
    async with running(MemoryFileSystem()) as node:
        await node.create("orders", 1)
        await node.create("bills", 1)
        await node.create_groups_topic()
        await assigned(node, (await beat(node, 0, "orders", "bills")).member_epoch)
        await beat(node, -1)

        deleted: Any = delete_share_group_offsets(
            refusing_to_delete(node, "orders", 0), request, context(0)
        )

        assert {
            topic.topic_name: topic.error_code for topic in (await value_of(deleted)).responses
        } == {
            "orders": ErrorCode.NOT_COORDINATOR,
            "bills": ErrorCode.NONE,
            "missing": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        }
        assert (await topics_of_group(node)).deleting == {key_of(node).topic_id: "orders"}


async def topics_of_group(node: Node) -> StateTopics:
    found = await value_of(
        look_at_group(
            node.broker.services,
            GROUP,
            lambda shard: shard.share_groups.existing(GROUP).topics,
        )
    )
    assert isinstance(found, StateTopics), found
    return found


@virtual_time
async def test_offsets_are_deleted_although_their_topic_is_deleted_meanwhile() -> None:
    def delete(key: SharePartitionKey) -> Deferred[PartitionResult]:
        forgetting.image = SimpleNamespace(topics=node.image.topics, topics_by_id={})
        return node.broker.services.share_persister.delete(key)

    names = [DeleteShareGroupOffsetsRequestTopic(topic_name="orders")]
    request = DeleteShareGroupOffsetsRequest(group_id=GROUP, topics=names)
    async with running(MemoryFileSystem()) as node:
        await node.create("orders", 1)
        await node.create_groups_topic()
        await assigned(node, (await beat(node, 0)).member_epoch)
        await beat(node, -1)
        forgetting: Any = SimpleNamespace(
            image=node.image,
            shards=node.broker.services.shards,
            share_persister=SimpleNamespace(delete=delete),
        )

        deleted: Any = delete_share_group_offsets(forgetting, request, context(0))

        (topic,) = (await value_of(deleted)).responses
        assert (topic.topic_id, topic.topic_name) == (key_of(node).topic_id, "")
        assert topic.error_code == ErrorCode.NONE
