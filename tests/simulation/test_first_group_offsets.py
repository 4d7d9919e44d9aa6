"""The first offsets of a cluster come in a transaction, before any consumer has joined a group."""

from __future__ import annotations

import pytest

from pyk.clients import AsyncConsumer, AsyncProducer, TopicPartition
from pyk.clients.offsets import ConsumerGroupMetadata
from pyk.runtime.virtual_time import virtual_time
from support.billing import use_version
from support.consuming import network_of, reference_cluster
from support.environments import client_options

READ = TopicPartition("orders", 0)


@pytest.mark.parametrize("version", [1, 2])
@virtual_time
async def test_a_producer_commits_offsets_for_a_group_that_nobody_has_joined(version: int) -> None:
    async with reference_cluster() as cluster:
        if version == 1:
            await use_version(cluster, 1)
        await cluster.create_topic("orders")
        options = client_options(network_of(cluster))
        async with AsyncProducer(cluster.bootstrap, transactional_id="a", **options) as producer:
            await producer.begin_transaction()
            await producer.send_offsets_to_transaction({READ: 5}, ConsumerGroupMetadata("billing"))
            await producer.commit_transaction()

        async with AsyncConsumer(
            cluster.bootstrap, group_id="billing", isolation_level="read_committed", **options
        ) as consumer:
            committed = await consumer.committed([READ])

    offset = committed[READ]
    assert offset is not None
    assert offset.offset == 5
