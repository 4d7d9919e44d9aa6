"""What share consumers tell of their partitions and counters."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

import pytest

from pyk.clients import TopicPartition
from pyk.clients.errors import (
    KafkaStorageError,
    NetworkError,
    StateError,
    TopicAuthorizationFailedError,
)
from pyk.clients.share.share_health import SharePartitionState
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.share_acknowledge import ShareAcknowledgeRequest
from pyk.protocol.messages.share_fetch import (
    PartitionData,
    ShareFetchableTopicResponse,
    ShareFetchRequest,
    ShareFetchResponse,
)
from pyk.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from pyk.runtime.virtual_time import eventually, virtual_time
from support.scripted_broker import SILENCE
from support.share_cluster import ShareCluster
from support.share_consuming import share_cluster, share_consumer, values_of

P0, P1 = TopicPartition("orders", 0), TopicPartition("orders", 1)
STATES = SharePartitionState


def refused(
    cluster: ShareCluster, partitions: Iterable[int], code: ErrorCode
) -> ShareFetchResponse:
    """Return a response with an error of some partitions."""
    return ShareFetchResponse(
        responses=[
            ShareFetchableTopicResponse(
                topic_id=cluster.topic.topic_id,
                partitions=[
                    PartitionData(partition_index=number, error_code=code) for number in partitions
                ],
            )
        ]
    )


def states_of(consumer: Any) -> dict[TopicPartition, SharePartitionState]:
    return {name: one.state for name, one in consumer.health().partitions.items()}


@virtual_time
async def test_a_partition_is_buffered_until_its_records_are_polled():
    async with share_cluster(partitions=2) as cluster, share_consumer(cluster) as consumer:
        cluster.produce(b"a", b"b")
        await consumer.poll(5, max_records=1)
        assert states_of(consumer) == {P0: STATES.BUFFERED, P1: STATES.FETCHING}
        assert consumer.health().is_healthy

        await consumer.poll(5)

        assert states_of(consumer) == {P0: STATES.FETCHING, P1: STATES.FETCHING}
        assert consumer.stats().records == 2
        assert consumer.stats().assigned_partitions == 2


@virtual_time
async def test_a_partition_whose_leader_refuses_it_fails_alone():
    async with share_cluster(partitions=2) as cluster, share_consumer(cluster) as consumer:
        cluster.produce(b"a", partition=1)
        await values_of(consumer, 1)
        refusal = refused(cluster, [0], ErrorCode.KAFKA_STORAGE_ERROR)
        cluster.on(ShareFetchRequest, refusal)
        await consumer.poll(1)

        health = consumer.health().partitions

        assert states_of(consumer) == {P0: STATES.FAILING, P1: STATES.FETCHING}
        assert isinstance(health[P0].error, KafkaStorageError)
        assert health[P1].error is None


@virtual_time
async def test_all_partitions_of_a_leader_fail_whose_requests_fail():
    async with share_cluster(nodes=2, partitions=2) as cluster, share_consumer(cluster) as consumer:
        cluster.produce(b"a", partition=1)
        await values_of(consumer, 1)
        await cluster.kill(1)
        await consumer.poll(5)

        health = consumer.health()

        assert states_of(consumer) == {P0: STATES.FAILING, P1: STATES.FETCHING}
        assert health.partitions[P0].error is not None
        assert health.partitions[P1].error is None
        assert any("broker1:9092" in problem for problem in health.unreachable_nodes)


@virtual_time
async def test_acknowledgements_that_wait_are_counted_until_they_are_sent():
    async with share_cluster() as cluster, share_consumer(cluster) as consumer:
        cluster.produce(b"a")
        cluster.produce(b"b")
        await consumer.poll(5, max_records=1)
        cluster.once(ShareAcknowledgeRequest, SILENCE)
        consumer.commit_async()
        await asyncio.sleep(1)
        await consumer.poll(0, max_records=1)
        consumer.commit_async()
        await asyncio.sleep(1)

        assert consumer.stats().pending_acknowledgements == 1
        await eventually(lambda: consumer.stats().pending_acknowledgements == 0)


@pytest.mark.parametrize("count", [1, 3])
@virtual_time
async def test_each_error_of_a_partition_is_raised_by_a_poll_of_its_own(count: int):
    async with share_cluster(partitions=count) as cluster, share_consumer(cluster) as consumer:
        code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
        cluster.on(ShareFetchRequest, refused(cluster, range(count), code))
        told = []
        for _ in range(count):
            with pytest.raises(TopicAuthorizationFailedError) as raised:
                await consumer.poll(0.5)
            told.append(raised.value.partition)

        assert sorted(told) == list(range(count))


@virtual_time
async def test_a_consumer_that_is_closed_again_is_left_alone():
    async with share_cluster() as cluster:
        consumer = share_consumer(cluster)
        await consumer.poll(1)
        await consumer.close()
        requests = len(cluster.received)

        await consumer.close()

        assert len(cluster.received) == requests


@virtual_time
async def test_the_partition_of_a_leader_that_is_away_fails():
    async with share_cluster() as cluster, share_consumer(cluster) as consumer:
        await consumer.poll(1)
        await cluster.kill(1)
        await consumer.poll(5)

        health = consumer.health()

        assert states_of(consumer) == {P0: STATES.FAILING}
        assert isinstance(health.partitions[P0].error, NetworkError)
        assert health.problems[0].startswith("orders-0 fails and tries again: ")


@virtual_time
async def test_a_bug_in_pyk_ends_polls_and_shows_in_health():
    async with share_cluster() as cluster:
        consumer = share_consumer(cluster)
        await consumer.poll(1)
        consumer._core.client.supervisor.failed("fetch", LookupError("no such thing"))

        with pytest.raises(StateError, match="no such thing"):
            await consumer.poll(5)

        assert "no such thing" in str(consumer.health().group_error)
        await consumer.close()


@virtual_time
async def test_a_consumer_that_has_not_subscribed_is_in_no_group_and_leaves_none():
    async with share_cluster() as cluster:
        async with share_consumer(cluster, topics=None) as consumer:
            await asyncio.sleep(1)
            assert consumer.health().group_state is None

        assert cluster.requests(ShareGroupHeartbeatRequest) == []


@virtual_time
async def test_closing_a_consumer_that_was_never_used_asks_nobody():
    async with share_cluster() as cluster:
        await share_consumer(cluster).close()

        assert cluster.received == []


@pytest.mark.parametrize("end", ["close", "abandon"])
@virtual_time
async def test_nothing_is_left_of_a_consumer_that_has_ended(end: str):
    async with share_cluster() as cluster:
        consumer = share_consumer(cluster)
        cluster.produce(b"a", b"b")
        await consumer.poll(5, max_records=1)
        core = consumer._core

        await getattr(consumer if end == "close" else core, end)()
        await asyncio.sleep(0.1)

        assert (cluster.held(), cluster.members) == ([], {})
        assert not cluster.open_connections
        assert core.client.supervisor.task_names == []


@virtual_time
async def test_a_handler_that_does_not_return_shows_in_health():
    async with (
        share_cluster() as cluster,
        share_consumer(cluster, max_poll_interval_ms=10_000) as consumer,
    ):
        cluster.produce(b"a")

        async def handle(record: Any) -> None:
            await asyncio.sleep(1e9)

        task = asyncio.create_task(consumer.process(handle))
        await asyncio.sleep(30)

        (problem,) = consumer.health().handlers
        assert problem.startswith("the handler of the record of orders-0 at offset 0, attempt 1")
        task.cancel()
        await asyncio.wait({task})
