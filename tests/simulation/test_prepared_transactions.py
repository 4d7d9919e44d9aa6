"""Prepared transactions, and clusters that change the version of transactions."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pyk.clients import AsyncProducer, TopicPartition
from pyk.clients.errors import (
    KafkaTimeoutError,
    PreparedTransactionEndedError,
    StateError,
    UnsupportedVersionError,
)
from pyk.clients.offsets import ConsumerGroupMetadata
from pyk.protocol.api_keys import ApiKey
from pyk.protocol.messages.end_txn import EndTxnRequest
from pyk.protocol.messages.init_producer_id import InitProducerIdRequest
from pyk.protocol.versions import VersionRange
from pyk.runtime.network import MemoryNetwork
from pyk.runtime.virtual_time import virtual_time
from support.producing_cluster import make_producer
from support.transactional_cluster import TransactionalCluster, transacting

BOTH = pytest.mark.parametrize("version", [1, 2])
GROUP = ConsumerGroupMetadata("billing", 3, "member-1")
READ = TopicPartition("payments", 0)
FIRST_INIT = 1


def make_cluster(version: int = 2) -> TransactionalCluster:
    return TransactionalCluster(MemoryNetwork(latency=0.001), version=version)


async def run_transaction(producer: AsyncProducer[Any, Any], *values: bytes) -> None:
    """Write values to several partitions, with an offset, and commit."""
    await producer.begin_transaction()
    for number, value in enumerate(values):
        await producer.send("orders", value, partition=number % 3)
    await producer.send_offsets_to_transaction({READ: len(values)}, GROUP)
    await producer.commit_transaction()


# -- the version changes ---------------------------------------------------------------------------


@pytest.mark.parametrize(("before", "after"), [(1, 2), (2, 1)])
@virtual_time
async def test_a_cluster_that_changes_its_version_is_followed(before, after):
    async with transacting(before, metadata_max_age_ms=1000) as (cluster, producer):
        await run_transaction(producer, b"a")
        await asyncio.sleep(2)
        await run_transaction(producer, b"b")
        cluster.use_version(after)
        await asyncio.sleep(2)
        await run_transaction(producer, b"c")
        await run_transaction(producer, b"d")

    assert cluster.committed == [b"a", b"b", b"c", b"d"]
    versions = [one.version >= 5 for one in cluster.requests(EndTxnRequest)]
    assert versions == [before == 2, before == 2, after == 2, after == 2]
    assert len(cluster.requests(InitProducerIdRequest)) == FIRST_INIT + 1


# -- prepared transactions -------------------------------------------------------------------------


@pytest.mark.parametrize("is_commit", [True, False])
@BOTH
@virtual_time
async def test_a_prepared_transaction_is_ended_by_another_producer(version, is_commit):
    async with transacting(version) as (cluster, producer):
        await producer.begin_transaction()
        await producer.send("orders", b"a")
        prepared = await producer.prepare_transaction()
        with pytest.raises(StateError, match="complete_transaction"):
            await producer.send("orders", b"more")
        async with make_producer(cluster) as other:
            await other.complete_transaction(prepared, commit=is_commit)
            await other.complete_transaction(prepared, commit=is_commit)
            with pytest.raises(PreparedTransactionEndedError, match="was ended otherwise"):
                await other.complete_transaction(prepared, commit=not is_commit)

    assert cluster.ends == [is_commit]
    assert (cluster.committed, cluster.aborted) == (([b"a"], []) if is_commit else ([], [b"a"]))


@BOTH
@virtual_time
async def test_a_producer_completes_its_own_prepared_transaction_and_goes_on(version):
    async with transacting(version) as (cluster, producer):
        await producer.begin_transaction()
        await producer.send("orders", b"a")
        await producer.complete_transaction(await producer.prepare_transaction())
        await run_transaction(producer, b"b")

    assert cluster.committed == [b"a", b"b"]


@BOTH
@pytest.mark.parametrize("is_commit", [True, False])
@virtual_time
async def test_a_producer_completes_its_prepared_transaction_again_after_a_timeout(
    version, is_commit
):
    async with transacting(version) as (cluster, producer):
        await producer.begin_transaction()
        await producer.send("orders", b"one", partition=0)
        prepared = await producer.prepare_transaction()
        cluster.on(EndTxnRequest, cluster.later(1.0, cluster.end))
        with pytest.raises(KafkaTimeoutError):
            await producer.complete_transaction(prepared, commit=is_commit, timeout=0.1)

        await producer.complete_transaction(prepared, commit=is_commit)
        await producer.complete_transaction(prepared, commit=is_commit)
        with pytest.raises(PreparedTransactionEndedError):
            await producer.complete_transaction(prepared, commit=not is_commit)
        await run_transaction(producer, b"two")

    assert cluster.committed == ([b"one", b"two"] if is_commit else [b"two"])


@pytest.mark.parametrize("is_commit", [True, False])
@BOTH
@virtual_time
async def test_a_late_completion_does_not_end_the_next_transaction(version, is_commit):
    async with transacting(version) as (cluster, producer):
        await producer.begin_transaction()
        await producer.send("orders", b"one")
        prepared = await producer.prepare_transaction()
        await producer.complete_transaction(prepared, commit=is_commit)
        await producer.begin_transaction()
        await producer.send_and_wait("orders", b"two")

        async with make_producer(cluster) as other:
            with pytest.raises(PreparedTransactionEndedError, match="has gone on since"):
                await other.complete_transaction(prepared, commit=is_commit)
        await producer.send("orders", b"three")
        await producer.commit_transaction()

    assert cluster.ends == [is_commit, True]
    assert cluster.committed == [*([b"one"] if is_commit else []), b"two", b"three"]


@virtual_time
async def test_closing_leaves_a_prepared_transaction_to_others():
    async with transacting() as (cluster, producer):
        await producer.begin_transaction()
        await producer.send("orders", b"a")
        await producer.prepare_transaction()

    assert cluster.ends == []


@virtual_time
async def test_two_phases_are_asked_for_where_a_broker_offers_them():
    async with make_cluster() as cluster:
        cluster.add_topic("orders", [1, 2, 3])
        cluster.versions[ApiKey.INIT_PRODUCER_ID] = ApiKey.INIT_PRODUCER_ID.versions
        async with make_producer(
            cluster, transactional_id="billing", transaction_two_phase_commit_enable=True
        ) as producer:
            await run_transaction(producer, b"a")

    (asked,) = cluster.requests(InitProducerIdRequest)
    assert (asked.version, asked.message.enable2_pc) == (6, True)
    assert cluster.committed == [b"a"]


@virtual_time
async def test_two_phases_that_no_broker_offers_are_an_error_at_once():
    async with make_cluster() as cluster:
        cluster.versions[ApiKey.INIT_PRODUCER_ID] = VersionRange(0, 5)
        producer = make_producer(
            cluster, transactional_id="billing", transaction_two_phase_commit_enable=True
        )
        with pytest.raises(UnsupportedVersionError):
            await producer.start()
        await producer.close()
