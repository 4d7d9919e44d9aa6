"""Acknowledged data survive when the broker, or its process, is stopped or killed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from pyk.protocol.messages.init_producer_id import InitProducerIdRequest
from pyk.protocol.messages.metadata import MetadataRequest
from pyk.reference_broker import AsyncCluster, Cluster
from support.broker_process import BrokerProcess
from support.broker_requests import (
    TOPIC,
    commit,
    create_topic,
    fetch_offset,
    find_coordinator,
    join,
    produce,
    produce_one,
    sync,
    values,
)
from support.raw_client import RawClient, batch


@pytest.fixture(params=["memory", "disk"])
async def cluster(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[AsyncCluster]:
    data_dir = tmp_path if request.param == "disk" else None
    async with AsyncCluster(data_dir=data_dir) as cluster:
        yield cluster


@pytest.mark.parametrize("end", ["stop", "kill"])
async def test_topics_records_and_commits_survive_a_stop_or_kill_of_the_node(
    cluster: AsyncCluster, end: str
) -> None:
    bootstrap = cluster.bootstrap
    async with RawClient(bootstrap) as client:
        await client.ask(create_topic(partitions=2))
        await produce_one(client, b"one")
        await client.ask(find_coordinator())
        await client.ask(commit(1), 9)
        before = (await client.ask(MetadataRequest(topics=None))).topics

    await getattr(cluster, end)()
    await cluster.start()

    assert cluster.bootstrap == bootstrap
    async with RawClient(bootstrap) as client:
        after = (await client.ask(MetadataRequest(topics=None))).topics
        for partition in [each for topic in before for each in topic.partitions]:
            partition.leader_epoch += end == "kill"  # unflushed records may be lost
        assert after == before
        await produce_one(client, b"two")
        assert await values(client) == [b"one", b"two"]
        committed = await client.ask(fetch_offset(), 9)
        assert committed.groups[0].topics[0].partitions[0].committed_offset == 1


async def test_group_members_survive_a_kill_of_the_node(cluster: AsyncCluster) -> None:
    async with RawClient(cluster.bootstrap) as client:
        await client.ask(find_coordinator())
        member_id = (await client.ask(join())).member_id
        await client.ask(join(member_id))
        await client.ask(sync(member_id, 1))

    await cluster.kill()
    await cluster.start()

    async with RawClient(cluster.bootstrap) as client:
        synced = await client.ask(sync(member_id, 1))
    assert (synced.error_code, synced.assignment) == (0, b"all")


async def test_producer_ids_and_sequence_numbers_survive_a_kill(cluster: AsyncCluster) -> None:
    sealed = batch(b"one", producer_id=5, producer_epoch=0, base_sequence=0)
    async with RawClient(cluster.bootstrap) as client:
        await client.ask(create_topic())
        await client.ask(produce(sealed), 12)
        first = await client.ask(InitProducerIdRequest(transactional_id=None), 5)

    await cluster.kill()
    await cluster.start()

    async with RawClient(cluster.bootstrap) as client:
        await client.ask(produce(sealed), 12)
        second = await client.ask(InitProducerIdRequest(transactional_id=None), 5)
        assert await values(client) == [b"one"]
    assert second.producer_id > first.producer_id


def test_a_node_that_does_not_run_cannot_be_stopped_or_killed() -> None:
    with Cluster() as cluster:
        cluster.stop(0)

        with pytest.raises(RuntimeError, match="node 0 is not running"):
            cluster.kill(0)


async def test_acknowledged_records_survive_a_kill_of_the_process(tmp_path: Path) -> None:
    with BrokerProcess(tmp_path) as broker:
        async with RawClient(broker.bootstrap) as client:
            await client.ask(create_topic())
            for number in range(20):
                await produce_one(client, b"%d" % number)
            await client.ask(find_coordinator())
            await client.ask(commit(7), 9)
            # In flight when the process is killed: it may be there or not, but never in part.
            client.send(produce(batch(*[b"x" * 1000] * 500)), 12)
            await client.writer.drain()
        broker.kill()

        broker.start()
        async with RawClient(broker.bootstrap) as client:
            found = await values(client)
            committed = await client.ask(fetch_offset(), 9)

    assert found[:20] == [b"%d" % number for number in range(20)]
    assert len(found) in (20, 520)
    assert committed.groups[0].topics[0].partitions[0].committed_offset == 7
    assert (tmp_path / "node0" / f"{TOPIC}-0" / "00000000000000000000.log").exists()
