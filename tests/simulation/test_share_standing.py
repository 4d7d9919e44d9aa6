"""What share consumers tell of their partitions and counters."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

import pytest

from pyk.clients import TopicPartition
from pyk.clients.errors import (
    KafkaStorageError,
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
