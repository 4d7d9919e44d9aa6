"""Share sessions: the same requests get the answers of Apache Kafka."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from uuid import UUID

import pytest
import pytest_asyncio

from pyk.protocol.errors import ErrorCode
from support.brokers import Kafka
from support.raw_client import RawClient
from support.raw_share_partitions import (
    Acquired,
    Partition,
    initialize,
    partition_at,
    told,
)

E = ErrorCode
GAP, ACCEPT, RELEASE, REJECT, RENEW = range(5)
OTHER_TOPIC = UUID(int=77)
NOTHING_TOLD = (0, None, 0, None)


@pytest_asyncio.fixture
async def partition(kafka: Kafka, group: str) -> AsyncIterator[Partition]:
    async with partition_at(kafka, group) as found:
        yield found


async def test_the_first_fetch_acknowledges_nothing(partition: Partition) -> None:
    response = await partition.fetch(0, (0, 1, [ACCEPT]))

    assert (response.error_code, response.error_message) == (E.INVALID_REQUEST, None)


async def test_session_epochs(partition: Partition) -> None:
    async def codes(*epochs: int) -> list[int]:
        return [(await partition.fetch(epoch)).error_code for epoch in epochs]

    assert await codes(1, -1, -2) == [E.SHARE_SESSION_NOT_FOUND] * 3
    await partition.first()
    assert await codes(2, 1, 1, -2, 2) == [
        E.INVALID_SHARE_SESSION_EPOCH,
        E.NONE,
        E.INVALID_SHARE_SESSION_EPOCH,
        E.INVALID_SHARE_SESSION_EPOCH,
        E.NONE,
    ]
    assert (await partition.acknowledge(0)).error_code == E.INVALID_SHARE_SESSION_EPOCH
    assert (await partition.acknowledge(9)).error_code == E.INVALID_SHARE_SESSION_EPOCH
    assert (await partition.acknowledge(3)).error_code == E.NONE
    assert (await partition.acknowledge(-1)).error_code == E.NONE
    assert (await partition.acknowledge(-1)).error_code == E.SHARE_SESSION_NOT_FOUND
    assert await codes(4) == [E.SHARE_SESSION_NOT_FOUND]


@pytest.mark.parametrize("member", [None, "", "x" * 37])
async def test_member_ids(partition: Partition, member: str | None) -> None:
    fetched = await partition.fetch(0, member=member)
    said = await partition.acknowledge(1, member=member)

    assert (fetched.error_code, fetched.error_message) == (E.INVALID_REQUEST, None)
    assert (said.error_code, said.error_message) == (E.INVALID_REQUEST, None)


async def test_a_request_without_a_group(partition: Partition) -> None:
    assert (await partition.fetch(0, group_id=None)).error_code == E.INVALID_REQUEST
    assert (await partition.acknowledge(1, group_id=None)).error_code == E.INVALID_REQUEST


async def test_partitions_that_are_unknown(partition: Partition) -> None:
    await partition.first()

    by_number = await partition.fetch(1, topics=[(partition.topic_id, 7)])
    said = await partition.acknowledge(2, (0, 1, [ACCEPT]), topic_id=OTHER_TOPIC)
    said_too = await partition.acknowledge(3, (0, 1, [ACCEPT]), number=7)

    assert told(by_number) == [(E.UNKNOWN_TOPIC_OR_PARTITION, None, 0, None)]
    assert told(said) == [(E.UNKNOWN_TOPIC_ID, None, 0, None)]
    assert told(said_too) == [(E.UNKNOWN_TOPIC_OR_PARTITION, None, 0, None)]


async def test_a_group_without_state(partition: Partition) -> None:
    response = await partition.fetch(0, group_id=f"{partition.group}-unknown")

    assert told(response) == [(E.UNKNOWN_SERVER_ERROR, None, 0, None)]


async def test_partitions_that_are_forgotten(partition: Partition) -> None:
    await partition.append(5)
    assert await partition.first(max_records=0) == []

    assert await partition.acquire(1, forget=True) == []
    added = await partition.acquire(2, topics=[(partition.topic_id, 0)])
    assert added == [(0, 4, 1)]


async def test_closing_a_session_releases_its_records(partition: Partition) -> None:
    await partition.append(5)
    await partition.first()

    closed = await partition.acknowledge(-1, (0, 0, [ACCEPT]))

    assert told(closed) == [NOTHING_TOLD]
    assert await partition.first("b") == [(1, 4, 2)]


async def test_only_partitions_with_acknowledgements_are_answered(partition: Partition) -> None:
    await partition.append(5)
    await partition.first()

    assert told(await partition.acknowledge(1)) == []
    unknown = await partition.acknowledge(2, topic_id=OTHER_TOPIC)
    assert [one[0] for one in told(unknown)] == [E.UNKNOWN_TOPIC_ID]
    unknown = await partition.acknowledge(3, number=7)
    assert [one[0] for one in told(unknown)] == [E.UNKNOWN_TOPIC_OR_PARTITION]
    assert told(await partition.acknowledge(-1)) == []


async def test_the_final_acknowledgement_needs_no_epoch_and_no_partitions(
    partition: Partition,
) -> None:
    await partition.append(5)
    await partition.first()
    await partition.acknowledge(1, (0, 1, [ACCEPT]))

    assert (await partition.acknowledge(-1, topics=[])).error_code == E.NONE

    again = await partition.acknowledge(-1, topics=[])
    assert again.error_code == E.SHARE_SESSION_NOT_FOUND
    assert await partition.first(member="b") == [(2, 4, 2)]


async def test_a_state_that_began_again_is_loaded_again(partition: Partition) -> None:
    await partition.append(5, 5)
    await partition.first(max_records=1)
    await initialize(partition.client, partition.group, partition.topic_id, epoch=2, start=7)

    refused = await partition.acknowledge(1, (0, 4, [ACCEPT]))

    message = (
        "Error in write state RPC. The share coordinator rejected the request because the "
        "share-group state epoch did not match."
    )
    assert told(refused) == [(E.NOT_LEADER_OR_FOLLOWER, message, 0, None)]
    assert await partition.first(member="b") == [(7, 9, 1)]


async def test_the_final_fetch_carries_acknowledgements(partition: Partition) -> None:
    await partition.append(5)
    await partition.first()

    closed = await partition.fetch(-1, (0, 4, [RELEASE]))

    assert told(closed) == [NOTHING_TOLD]
    assert await partition.first("b") == [(0, 4, 2)]


async def test_a_connection_that_is_lost_releases_its_records(partition: Partition) -> None:
    await partition.append(5)
    host, port = partition.client._address
    async with RawClient(f"{host}:{port}") as other:
        other_member = Partition(other, partition.group, partition.topic, partition.topic_id)
        assert await other_member.first("b") == [(0, 4, 1)]

    async with asyncio.timeout(10):
        found: Acquired = []
        epoch = 0
        while not found:
            found = await (partition.first() if not epoch else partition.acquire(epoch))
            epoch += 1
    assert found == [(0, 4, 2)]
