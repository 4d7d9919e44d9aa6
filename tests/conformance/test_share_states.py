"""The state of share groups (KIP-932): the same requests get the same answers as from Apache Kafka.

Brokers send these requests to each other; here a test does.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

import pytest
import pytest_asyncio

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages import (
    delete_share_group_state,
    initialize_share_group_state,
    read_share_group_state,
    read_share_group_state_summary,
    write_share_group_state,
)
from pyk.protocol.messages.find_coordinator import FindCoordinatorRequest
from pyk.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from pyk.reference_broker.coordinator.share.share_partition import SharePartitionKey
from support.brokers import Kafka, make_topic
from support.raw_client import RawClient

E = ErrorCode
SHARE = 2
UNINITIALIZED = "operation on uninitialized share partition not allowed."
EPOCH_DID_NOT_MATCH = (
    "The share coordinator rejected the request because the share-group state epoch did not match."
)
Answer = tuple[E, str | None]
Range = tuple[int, int, int, int]


class ShareCoordinator:
    """The coordinator of a share partition, asked by what plays a broker."""

    def __init__(self, client: RawClient, key: SharePartitionKey) -> None:
        self.client = client
        self.key = key

    async def _ask(self, module: Any, name: str, version: int = 0, **partition: Any) -> Any:
        topic_class, request_class = {
            "initialize": ("InitializeStateData", "InitializeShareGroupStateRequest"),
            "read": ("ReadStateData", "ReadShareGroupStateRequest"),
            "write": ("WriteStateData", "WriteShareGroupStateRequest"),
            "delete": ("DeleteStateData", "DeleteShareGroupStateRequest"),
            "summarize": ("ReadStateSummaryData", "ReadShareGroupStateSummaryRequest"),
        }[name]
        asked = module.PartitionData(**{"partition": self.key.partition, **partition})
        topic_id = partition.pop("topic_id", self.key.topic_id)
        topic = getattr(module, topic_class)(topic_id=topic_id, partitions=[asked])
        request = getattr(module, request_class)(group_id=self.key.group_id, topics=[topic])
        (answered,) = (await self.client.ask(request, version)).results
        assert answered.topic_id == topic_id
        (result,) = answered.partitions
        return result

    async def initialize(self, epoch: int, start: int = 0, **more: Any) -> Answer:
        asked = {"state_epoch": epoch, "start_offset": start, **more}
        return error_of(await self._ask(initialize_share_group_state, "initialize", **asked))

    async def write(self, *ranges: Range, version: int = 1, **more: Any) -> Answer:
        batches = [
            write_share_group_state.StateBatch(
                first_offset=first, last_offset=last, delivery_state=state, delivery_count=count
            )
            for first, last, state, count in ranges
        ]
        asked = {
            "state_epoch": 1,
            "leader_epoch": 0,
            "start_offset": -1,
            "delivery_complete_count": 0,
            "state_batches": batches,
            **more,
        }
        return error_of(await self._ask(write_share_group_state, "write", version, **asked))

    async def read(self, leader_epoch: int = 0, **more: Any) -> Any:
        asked = {"leader_epoch": leader_epoch, **more}
        return await self._ask(read_share_group_state, "read", **asked)

    async def state(self, leader_epoch: int = 0) -> tuple[int, int, list[Range]]:
        """Return the state epoch, the start offset and the ranges."""
        found = await self.read(leader_epoch)
        assert error_of(found) == (E.NONE, ""), found
        return (
            found.state_epoch,
            found.start_offset,
            [
                (each.first_offset, each.last_offset, each.delivery_state, each.delivery_count)
                for each in found.state_batches
            ],
        )

    async def delete(self, **more: Any) -> Answer:
        return error_of(await self._ask(delete_share_group_state, "delete", **more))

    async def summary(self, version: int = 1) -> tuple[int, int, int, int]:
        """Return the start offset, how many are complete, the leader epoch and the state epoch."""
        found = await self._ask(
            read_share_group_state_summary, "summarize", version, leader_epoch=0
        )
        assert error_of(found) == (E.NONE, ""), found
        return (
            found.start_offset,
            found.delivery_complete_count,
            found.leader_epoch,
            found.state_epoch,
        )


def error_of(result: Any) -> Answer:
    return E(result.error_code), result.error_message or ""


@pytest_asyncio.fixture
async def coordinator(kafka: Kafka, group: str) -> AsyncIterator[ShareCoordinator]:
    topic = await asyncio.to_thread(make_topic, kafka, "shared", partitions=2)
    async with RawClient(kafka.bootstrap) as node_0:
        asked = MetadataRequest(topics=[MetadataRequestTopic(name=topic)])
        (metadata,) = (await node_0.ask(asked, 12)).topics
        key = SharePartitionKey(group, metadata.topic_id, 1)
        address = await address_of(node_0, key)
    async with RawClient(address) as client:
        found = ShareCoordinator(client, key)
        async with asyncio.timeout(20):
            while (await found.initialize(0))[0]:  # until it knows the topic
                await asyncio.sleep(0.05)
        await found.delete()
        yield found


async def address_of(client: RawClient, key: SharePartitionKey) -> str:
    """Return the address of a coordinator, once it is loaded."""
    request = FindCoordinatorRequest(key_type=SHARE, coordinator_keys=[str(key)])
    async with asyncio.timeout(30):
        while True:
            (found,) = (await client.ask(request, 6)).coordinators
            if not found.error_code:
                return f"{found.host}:{found.port}"
            await asyncio.sleep(0.05)


async def found_for(kafka: Kafka, key: str, version: int = 6) -> E:
    async with RawClient(kafka.bootstrap) as client:
        request = FindCoordinatorRequest(key_type=SHARE, coordinator_keys=[key])
        (found,) = (await client.ask(request, version)).coordinators
    return E(found.error_code)


# -- finding -------------------------------------------------------------------------------------


@pytest.mark.usefixtures("coordinator")
@pytest.mark.parametrize(
    "key",
    [
        "",
        "workers",
        "workers:0",
        "workers:orders:0",
        "workers:AAAAAAAAAAAAAAAAAAAABw:zero",
        " :AAAAAAAAAAAAAAAAAAAABw:0",
    ],
)
async def test_texts_that_are_no_keys_have_no_coordinator(kafka: Kafka, key: str) -> None:
    assert await found_for(kafka, key) is E.INVALID_REQUEST


@pytest.mark.usefixtures("coordinator")
async def test_old_versions_find_no_share_coordinators(kafka: Kafka) -> None:
    assert await found_for(kafka, "workers:AAAAAAAAAAAAAAAAAAAABw:0", 5) is E.INVALID_REQUEST
    assert await found_for(kafka, "workers:AAAAAAAAAAAAAAAAAAAABw:0", 6) is E.NONE


# -- states --------------------------------------------------------------------------------------


async def test_a_new_state_is_empty(coordinator: ShareCoordinator) -> None:
    assert await coordinator.summary() == (-1, -1, 0, 0)

    assert await coordinator.initialize(1, 10) == (E.NONE, "")

    assert await coordinator.summary() == (10, 0, 0, 1)
    assert await coordinator.state() == (1, 10, [])


async def test_a_state_may_begin_without_a_start(coordinator: ShareCoordinator) -> None:
    await coordinator.initialize(1, -1)

    assert await coordinator.summary() == (-1, -1, 0, 1)
    assert await coordinator.state() == (1, -1, [])


async def test_a_state_must_be_initialized(coordinator: ShareCoordinator) -> None:
    assert error_of(await coordinator.read()) == (E.INVALID_REQUEST, f"Read {UNINITIALIZED}")
    assert await coordinator.write() == (E.INVALID_REQUEST, f"Write {UNINITIALIZED}")


async def test_ranges_are_combined(coordinator: ShareCoordinator) -> None:
    await coordinator.initialize(1)
    await coordinator.write((0, 9, 0, 1), (10, 19, 2, 1), (15, 24, 0, 2))
    assert await coordinator.state() == (1, 0, [(0, 9, 0, 1), (10, 14, 2, 1), (15, 24, 0, 2)])

    await coordinator.write((5, 9, 2, 1), (20, 29, 4, 2))
    assert await coordinator.state() == (
        1,
        0,
        [(0, 4, 0, 1), (5, 14, 2, 1), (15, 19, 0, 2), (20, 29, 4, 2)],
    )

    await coordinator.write(start_offset=12, delivery_complete_count=13)
    assert await coordinator.state() == (1, 12, [(12, 14, 2, 1), (15, 19, 0, 2), (20, 29, 4, 2)])
    assert await coordinator.summary() == (12, 13, 0, 1)


async def test_old_versions_do_not_tell_how_many_are_complete(
    coordinator: ShareCoordinator,
) -> None:
    await coordinator.initialize(1)

    await coordinator.write((0, 9, 2, 1), version=0)

    assert await coordinator.summary() == (0, -1, 0, 1)
    assert await coordinator.summary(version=0) == (0, -1, 0, 1)


async def test_leaders_of_the_past_are_fenced(coordinator: ShareCoordinator) -> None:
    await coordinator.initialize(1)
    await coordinator.state(leader_epoch=5)
    fenced = (
        E.FENCED_LEADER_EPOCH,
        "The leader epoch in the request is older than the epoch on the broker.",
    )

    assert await coordinator.write(leader_epoch=4) == fenced
    assert error_of(await coordinator.read(leader_epoch=4)) == fenced
    assert await coordinator.write(leader_epoch=-1) == (E.NONE, "")
    assert error_of(await coordinator.read(leader_epoch=-1)) == (E.NONE, "")
    assert await coordinator.write(leader_epoch=7) == (E.NONE, "")
    assert await coordinator.write(leader_epoch=5) == (E.NONE, "")  # a write is not a new leader
    assert await coordinator.summary() == (0, 0, 5, 1)


async def test_states_of_the_past_are_fenced(coordinator: ShareCoordinator) -> None:
    await coordinator.initialize(2, 10)
    await coordinator.write((10, 19, 2, 1), state_epoch=2)
    fenced = E.FENCED_STATE_EPOCH, EPOCH_DID_NOT_MATCH

    assert await coordinator.write(state_epoch=1) == fenced
    assert await coordinator.initialize(1) == fenced
    assert await coordinator.initialize(2, 30) == (E.NONE, "")
    assert await coordinator.state() == (2, 30, [])


async def test_deleted_states_can_begin_again(coordinator: ShareCoordinator) -> None:
    await coordinator.initialize(5)
    await coordinator.state(leader_epoch=9)

    assert await coordinator.delete() == (E.NONE, "")
    assert await coordinator.delete() == (E.NONE, "")

    assert (await coordinator.read()).error_code == E.INVALID_REQUEST
    assert await coordinator.summary() == (-1, -1, 0, 0)
    assert await coordinator.initialize(1) == (E.NONE, "")
    assert await coordinator.state(leader_epoch=3) == (1, 0, [])


async def test_unknown_partitions_have_no_state(coordinator: ShareCoordinator) -> None:
    unknown = (E.UNKNOWN_TOPIC_OR_PARTITION, "This server does not host this topic-partition.")
    coordinator.key = await neighbour_at_the_same_coordinator(coordinator)

    assert await coordinator.initialize(1) == unknown
    assert await coordinator.delete() == unknown


async def neighbour_at_the_same_coordinator(coordinator: ShareCoordinator) -> SharePartitionKey:
    """Return a share partition of a topic that does not exist, whose coordinator this one is."""
    for number in range(1, 200):
        key = coordinator.key._replace(topic_id=UUID(int=number))
        coordinator.key = key
        if (await coordinator.initialize(1))[0] is not E.NOT_COORDINATOR:
            return key
    raise AssertionError("all of them have other coordinators")


async def test_requests_about_nothing_get_empty_answers(coordinator: ShareCoordinator) -> None:
    await coordinator.initialize(1)
    partition = read_share_group_state.PartitionData(partition=0)
    empty, topic = (
        read_share_group_state.ReadStateData(topic_id=coordinator.key.topic_id, partitions=each)
        for each in ([], [partition])
    )
    for request in (
        read_share_group_state.ReadShareGroupStateRequest(group_id="workers"),
        read_share_group_state.ReadShareGroupStateRequest(group_id="workers", topics=[empty]),
        read_share_group_state.ReadShareGroupStateRequest(
            group_id="workers", topics=[topic, empty]
        ),
        read_share_group_state.ReadShareGroupStateRequest(group_id="", topics=[topic]),
    ):
        assert (await coordinator.client.ask(request, 0)).results == []


async def test_states_survive_a_crash(kafka: Kafka, coordinator: ShareCoordinator) -> None:
    await coordinator.initialize(1)
    for offset in range(10):
        await coordinator.write((offset, offset, 2, 1), start_offset=offset // 2)
    expected = await coordinator.state(leader_epoch=3)

    await asyncio.to_thread(kafka.kill_and_restart)

    async with RawClient(kafka.bootstrap) as node_0:
        address = await address_of(node_0, coordinator.key)
    async with RawClient(address) as client, asyncio.timeout(60):
        again = ShareCoordinator(client, coordinator.key)
        while (await again.read(3)).error_code:
            await asyncio.sleep(0.1)
        assert await again.state(leader_epoch=3) == expected
        assert (await again.write(leader_epoch=2))[0] is E.FENCED_LEADER_EPOCH
