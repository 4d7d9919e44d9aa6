"""Fault rules on real connections."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.metadata import MetadataRequest
from pyk.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from pyk.protocol.messages.produce import PartitionProduceData, TopicProduceData
from pyk.reference_broker import AsyncCluster, Cluster
from support.broker_requests import TOPIC, fetch, produce, produce_one, values
from support.raw_client import RawClient, batch
from support.real_time import IN_TIME


@pytest.fixture
async def cluster() -> AsyncIterator[AsyncCluster]:
    async with AsyncCluster() as cluster:
        await cluster.create_topic(TOPIC, partitions=2)
        yield cluster


@pytest.fixture
async def client(cluster: AsyncCluster) -> AsyncIterator[RawClient]:
    async with RawClient(cluster.bootstrap) as client:
        yield client


async def test_an_injected_error_is_answered_and_the_request_is_not_applied(
    cluster: AsyncCluster, client: RawClient
) -> None:
    cluster.faults.on("Produce").once().error("NOT_LEADER_OR_FOLLOWER")

    failed = await produce_one(client, b"one")
    done = await produce_one(client, b"two")

    assert failed.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert done.error_code == ErrorCode.NONE
    assert await values(client) == [b"two"]


async def test_an_injected_error_of_one_partition_does_not_affect_the_others(
    cluster: AsyncCluster, client: RawClient
) -> None:
    cluster.faults.on("Produce", topic=TOPIC, partition=1).error("REQUEST_TIMED_OUT")
    request = produce(batch(b"one"))
    request.topic_data.append(
        TopicProduceData(
            name=TOPIC, partition_data=[PartitionProduceData(index=1, records=batch(b"x"))]
        )
    )

    produced = await client.ask(request, 12)

    codes = {
        partition.index: partition.error_code
        for topic in produced.responses
        for partition in topic.partition_responses
    }
    assert codes == {0: ErrorCode.NONE, 1: ErrorCode.REQUEST_TIMED_OUT}


async def test_a_rule_knows_the_groups_and_topics_of_a_request_for_several_groups(
    cluster: AsyncCluster, client: RawClient
) -> None:
    of_group = cluster.faults.on("OffsetFetch", group="g").delay(0)
    of_topic = cluster.faults.on("OffsetFetch", topic=TOPIC).delay(0)
    groups = [
        OffsetFetchRequestGroup(group_id="f"),
        OffsetFetchRequestGroup(
            group_id="g",
            topics=[OffsetFetchRequestTopics(name=TOPIC, partition_indexes=[0])],
        ),
    ]

    await client.ask(OffsetFetchRequest(groups=groups[:1]), 9)
    await client.ask(OffsetFetchRequest(groups=groups), 9)

    assert (of_group.hits, of_topic.hits) == (1, 1)


async def test_an_applied_request_can_lose_its_response(
    cluster: AsyncCluster, client: RawClient
) -> None:
    cluster.faults.on("Produce").once().apply_then_lose_response()

    client.send(produce(batch(b"one")), 12)

    assert await client.reader.read() == b""
    async with RawClient(cluster.bootstrap) as other:
        assert await values(other) == [b"one"]


async def test_a_half_open_connection_stays_silent(
    cluster: AsyncCluster, client: RawClient
) -> None:
    cluster.faults.on("Produce").once().apply_then_lose_response(half_open=True)
    client.send(produce(batch(b"one")), 12)
    client.send(MetadataRequest())

    with pytest.raises(TimeoutError):
        await client.receive(timeout=0.05)

    async with RawClient(cluster.bootstrap) as other:
        assert await values(other) == [b"one"]


async def test_a_dropped_request_is_not_applied(cluster: AsyncCluster, client: RawClient) -> None:
    cluster.faults.on("Produce").once().drop_before_apply()
    client.send(produce(batch(b"one")), 12)

    with pytest.raises(TimeoutError):
        await client.receive(timeout=0.05)

    async with RawClient(cluster.bootstrap) as other:
        assert await values(other) == []


async def test_a_rule_can_close_the_connection_instead_of_answering(
    cluster: AsyncCluster, client: RawClient
) -> None:
    cluster.faults.on("Metadata").close()

    client.send(MetadataRequest())

    assert await client.reader.read() == b""


async def test_a_delay_holds_back_only_later_requests_of_the_same_connection(
    cluster: AsyncCluster, client: RawClient
) -> None:
    cluster.faults.on("Produce", client_id="raw").once().delay(60_000)
    client.send(produce(batch(b"one")), 12)
    client.send(MetadataRequest())
    async with RawClient(cluster.bootstrap, client_id="other") as other:
        assert (await produce_one(other, b"two")).error_code == ErrorCode.NONE

    with pytest.raises(TimeoutError):
        await client.receive(timeout=0.05)


async def test_a_delayed_request_is_answered_after_the_delay(
    cluster: AsyncCluster, client: RawClient
) -> None:
    cluster.faults.on("Produce").delay(20)
    started = asyncio.get_running_loop().time()

    await produce_one(client, b"one")

    assert asyncio.get_running_loop().time() - started >= 0.02


async def test_a_response_can_be_truncated_or_damaged(
    cluster: AsyncCluster, client: RawClient
) -> None:
    cluster.faults.on("Metadata").once().truncate(6)
    client.send(MetadataRequest())
    assert len(await client.reader.read()) == 6

    cluster.faults.on("Fetch").once().corrupt(4)
    async with RawClient(cluster.bootstrap) as other:
        await produce_one(other, b"x" * 100_000)
        other.send(fetch(0), 12)
        frame = await other.receive_frame()
        assert frame[0] == 0xFF


async def test_a_position_after_the_end_of_a_response_means_its_last_byte(
    cluster: AsyncCluster, client: RawClient
) -> None:
    cluster.faults.on("Fetch").once().corrupt(1 << 20)
    waiting = fetch(0, max_wait_ms=50)

    client.send(waiting, 12)
    corrupted = await asyncio.wait_for(client.receive_frame(), IN_TIME)
    client.send(waiting, 12)
    sound = await client.receive_frame()

    assert corrupted[-1] == sound[-1] ^ 0xFF
    assert len(corrupted) == len(sound)


async def test_a_throttled_response_has_the_throttle_time(
    cluster: AsyncCluster, client: RawClient
) -> None:
    cluster.faults.on("Metadata").throttle(7)

    assert (await client.ask(MetadataRequest())).throttle_time_ms == 7


async def test_a_cluster_records_the_requests_that_it_received(
    cluster: AsyncCluster, client: RawClient
) -> None:
    await client.ask(MetadataRequest(), 9)
    await produce_one(client, b"one")

    assert [each.api for each in cluster.requests(client_id="raw")] == ["Metadata", "Produce"]
    assert [each.version for each in cluster.requests("Metadata")] == [9]
    assert cluster.requests(node=0) == cluster.requests()
    with pytest.raises(ValueError, match="no API 'Prodcue'"):
        cluster.requests("Prodcue")


def test_rules_can_be_added_from_other_threads() -> None:
    with Cluster() as cluster:
        with cluster.faults.on("Metadata").close() as rule:
            assert rule in cluster.faults.rules

        assert cluster.faults.rules == ()
        assert cluster.requests() == []


def test_a_pause_may_end_after_its_cluster() -> None:
    async def ask(cluster: Cluster) -> None:
        async with RawClient(cluster.bootstrap) as client:
            client.send(MetadataRequest(), 9)
            while not cluster.requests("Metadata"):
                await asyncio.sleep(0.01)

    cluster = Cluster()
    cluster.open()
    with cluster.faults.pause():
        asyncio.run(ask(cluster))
        cluster.close()
