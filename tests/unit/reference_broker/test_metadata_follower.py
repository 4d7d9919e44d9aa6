"""Many changes of metadata are followed turn by turn."""

from __future__ import annotations

import asyncio
import errno

import pytest

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from pyk.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from pyk.reference_broker.errors import ApiError
from pyk.reference_broker.handlers.forwarding import forward
from pyk.reference_broker.handlers.topics import delete_topics
from pyk.runtime.filesystem.faulty import FaultyFileSystem
from pyk.runtime.filesystem.memory import MemoryFileSystem
from pyk.runtime.virtual_time import virtual_time
from support.logs import append, values
from support.nodes import running
from support.running_brokers import context, running_broker


@virtual_time
async def test_a_topic_of_many_partitions_is_opened_turn_by_turn() -> None:
    async with running_broker() as broker:
        topic = CreatableTopic(name="wide", num_partitions=500, replication_factor=1)
        forward(broker.services, CreateTopicsRequest(topics=[topic]), context(7))
        while "wide" not in broker.image.topics:
            await asyncio.sleep(0)

        assert 0 < len(broker.services.replicas.of_topic("wide")) < 100
        with pytest.raises(ApiError) as refused:
            broker.services.replicas.get("wide", 499)
        assert refused.value.code is ErrorCode.NOT_LEADER_OR_FOLLOWER

        await asyncio.sleep(1)
        assert len(broker.services.replicas.of_topic("wide")) == 500
        assert broker.services.replicas.get("wide", 499).is_leader


@virtual_time
async def test_a_topic_that_is_deleted_before_it_is_open_leaves_nothing() -> None:
    async with running_broker() as broker:
        topic = CreatableTopic(name="wide", num_partitions=500, replication_factor=1)
        forward(broker.services, CreateTopicsRequest(topics=[topic]), context(7))
        while "wide" not in broker.image.topics:
            await asyncio.sleep(0)
        gone = DeleteTopicState(name="wide")
        delete_topics(broker.services, DeleteTopicsRequest(topics=[gone]), context(6))

        await asyncio.sleep(1)

        assert broker.services.replicas.of_topic("wide") == []
        assert "wide" not in {each.topic for each in broker._logs.data_directory.partitions()}


@virtual_time
async def test_a_topic_of_many_partitions_is_deleted_turn_by_turn() -> None:
    async with running_broker(partitions=500) as broker:
        stored = broker._logs.data_directory.partitions
        gone = DeleteTopicState(name="orders")
        delete_topics(broker.services, DeleteTopicsRequest(topics=[gone]), context(6))
        while "orders" in broker.image.topics:
            await asyncio.sleep(0)

        assert broker.services.replicas.of_topic("orders") == []
        assert 400 < len([each for each in stored() if each.topic == "orders"]) < 500
        with pytest.raises(ApiError) as refused:
            broker.services.replicas.get("orders", 499)
        assert refused.value.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

        await asyncio.sleep(1)
        assert [each for each in stored() if each.topic == "orders"] == []


@virtual_time
async def test_a_topic_that_is_created_again_has_no_records_of_logs_yet_to_be_deleted() -> None:
    async with running_broker(partitions=500) as broker:
        append(broker.services.replicas.get("orders", 499).log, b"old")
        gone = DeleteTopicState(name="orders")
        delete_topics(broker.services, DeleteTopicsRequest(topics=[gone]), context(6))
        while "orders" in broker.image.topics:
            await asyncio.sleep(0)

        topic = CreatableTopic(name="orders", num_partitions=500, replication_factor=1)
        forward(broker.services, CreateTopicsRequest(topics=[topic]), context(7))
        await asyncio.sleep(1)

        assert values(broker.services.replicas.get("orders", 499).log) == []


@virtual_time
async def test_create_topic_returns_when_its_partitions_are_open() -> None:
    async with running_broker(partitions=300) as broker:
        assert len(broker.services.replicas.of_topic("orders")) == 300


@virtual_time
async def test_a_topic_of_a_full_disk_is_opened_soon_after_there_is_room() -> None:
    faulty = FaultyFileSystem(MemoryFileSystem())
    async with running(faulty) as node:
        full = faulty.on("make_directory", "*/orders-*").fail(errno.ENOSPC)
        await node.create("orders")
        await asyncio.sleep(95)
        with pytest.raises(ApiError) as refused:
            node.broker.services.replicas.get("orders", 0)
        assert refused.value.code is ErrorCode.KAFKA_STORAGE_ERROR

        full.heal()
        await asyncio.sleep(5)

        assert node.append("orders", b"one")
