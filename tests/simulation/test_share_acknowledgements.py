"""Acknowledgements that fail take nothing else along, in virtual time."""

from __future__ import annotations

from typing import Any

import pytest

from pyk.clients import TopicPartition
from pyk.clients.errors import (
    CoordinatorNotAvailableError,
    KafkaError,
)
from pyk.protocol.errors import ErrorCode
from pyk.runtime.virtual_time import current_clock, eventually, virtual_time
from support.share_cluster import ACCEPT
from support.share_consuming import share_cluster, share_consumer, values_of

P0 = TopicPartition("orders", 0)
EXPLICIT = {"share_acknowledgement_mode": "explicit"}


@virtual_time
async def test_acknowledgements_that_are_tried_again_do_not_hold_up_fetches():
    async with share_cluster(partitions=2) as cluster, share_consumer(cluster) as consumer:
        cluster.produce(b"a", partition=1)
        await values_of(consumer, 1)
        cluster.assigned = [0]
        await eventually(lambda: list(consumer.health().partitions) == [P0])
        cluster.refusals[1] = ErrorCode.COORDINATOR_NOT_AVAILABLE
        await consumer.poll(0.1)
        cluster.produce(b"b")

        assert [record.value for record in await consumer.poll(2)] == [b"b"]
        assert cluster.outcomes(1) == [None]

        cluster.refusals.clear()
        await eventually(lambda: cluster.outcomes(1) == [ACCEPT])


@pytest.mark.parametrize("code", ["UNKNOWN_TOPIC_OR_PARTITION", "UNKNOWN_TOPIC_ID"])
@virtual_time
async def test_acknowledgements_of_a_partition_that_is_gone_fail_at_once(code: str):
    async with share_cluster() as cluster, share_consumer(cluster) as consumer:
        cluster.produce(b"a")
        await values_of(consumer, 1)
        cluster.refusals[0] = ErrorCode[code]
        began = current_clock().now()

        with pytest.raises(KafkaError) as failure:
            await consumer.commit()

        assert failure.value.code == ErrorCode[code]
        assert current_clock().now() - began < 1


@virtual_time
async def test_close_tells_why_the_last_acknowledgements_failed():
    told: list[Any] = []
    async with share_cluster() as cluster, share_consumer(cluster) as consumer:
        consumer.set_acknowledgement_commit_callback(lambda _, error: told.append(error))
        cluster.produce(b"a")
        await values_of(consumer, 1)
        cluster.refusals[0] = ErrorCode.COORDINATOR_NOT_AVAILABLE
        consumer.commit_async()

    (error,) = told
    assert isinstance(error, CoordinatorNotAvailableError)
