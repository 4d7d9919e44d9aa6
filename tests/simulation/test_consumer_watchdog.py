"""The watchdog of fetching distinguishes stalled partitions from slow ones."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import attrs
import pytest

from pyk.clients import (
    AsyncAdmin,
    AsyncConsumer,
    AsyncProducer,
    ClientQuotaAlteration,
    ClientQuotaEntity,
)
from pyk.clients.consumer import PartitionState
from pyk.clients.consumer.positions.remedies import Remedy
from pyk.clients.errors import KafkaTimeoutError
from pyk.protocol.messages.fetch import FetchRequest, PartitionData
from pyk.protocol.messages.metadata import MetadataRequest
from pyk.runtime.virtual_time import current_clock, virtual_time
from support.consuming import (
    cluster_with_orders,
    fetching,
    make_consumer,
    network_of,
    produce,
    read,
    reference_cluster,
)
from support.environments import client_options
from support.fetching_cluster import FetchingCluster

VALUE = b"x" * 1000


def new_sessions(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [m for m in caplog.messages if "opening new fetch sessions" in m]


async def work(consumer: AsyncConsumer[Any, Any], *, rounds: int, seconds: float) -> set[int]:
    """Poll and process records, and return their partitions; the consumer is always healthy."""
    partitions: set[int] = set()
    for _ in range(rounds):
        records = await consumer.poll(5, max_records=50)
        partitions |= {record.partition for record in records}
        await asyncio.sleep(seconds)
        assert consumer.health().problems == ()
    return partitions


@pytest.mark.parametrize("leaders", [(1,) * 8, (1, 1, 1, 1, 2, 2, 3, 3)], ids=["one", "three"])
@virtual_time
async def test_a_slow_application_whose_memory_is_full_is_healthy(leaders, caplog):
    limits = {"buffer_memory": 400_000, "max_partition_fetch_bytes": 100_000}
    async with fetching(leaders=leaders, **limits) as (cluster, consumer):
        for number in range(8):
            for _ in range(20):
                cluster.append([VALUE] * 50, partition=number)

        await work(consumer, rounds=6, seconds=40)

        assert new_sessions(caplog) == []


@virtual_time
async def test_many_partitions_with_a_backlog_that_take_turns_are_healthy(caplog):
    limits = {"buffer_memory": 300_000, "max_partition_fetch_bytes": 100_000}
    async with fetching(leaders=(1,) * 40 + (2, 3), **limits) as (cluster, consumer):
        for number in range(42):
            for _ in range(3):
                cluster.append([VALUE] * 50, partition=number)

        assert await work(consumer, rounds=100, seconds=1) == set(range(42))

        assert new_sessions(caplog) == []


@pytest.mark.parametrize("throttle_ms", [11_000, 40_000])
@virtual_time
async def test_a_consumer_that_is_throttled_is_healthy(throttle_ms, caplog):
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=2)
        await produce(cluster, "orders", 10, partitions=2)
        with cluster.faults.on("Fetch").throttle(throttle_ms):
            async with make_consumer(cluster, topics=["orders"]) as consumer:
                until = current_clock().now() + 120
                while current_clock().now() < until:
                    await consumer.poll(1)
                    assert consumer.health().problems == ()
        assert new_sessions(caplog) == []


@virtual_time
async def test_a_consumer_that_keeps_to_a_quota_is_healthy(caplog):
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders")
        network = network_of(cluster)
        async with (
            AsyncAdmin(cluster.bootstrap, **client_options(network)) as admin,
            AsyncProducer(cluster.bootstrap, **client_options(network), batch_size=1) as producer,
        ):
            for _ in range(60):
                await producer.send("orders", VALUE)
            reader = ClientQuotaEntity({"client-id": "reader"})
            limits = {"consumer_byte_rate": 1_000}  # ten records at once, then none for long
            await admin.alter_client_quotas(ClientQuotaAlteration(reader, limits))

        options = {"client_id": "reader", "max_partition_fetch_bytes": 2_000}
        async with make_consumer(cluster, topics=["orders"], **options) as consumer:
            left, states = 60, set()
            while left:
                left -= len(await consumer.poll(1))
                assert consumer.health().problems == ()
                states.add(consumer.health().partitions["orders", 0].state)
        assert PartitionState.THROTTLED in states
        assert new_sessions(caplog) == []


@virtual_time
async def test_fetches_that_wait_for_long_are_healthy(caplog):
    options = {"fetch_max_wait_ms": 60_000, "request_timeout_ms": 90_000}
    async with fetching(**options) as (cluster, consumer):
        for _ in range(130):
            assert list(await consumer.poll(1)) == []
            assert consumer.health().problems == ()
        cluster.append([b"a"])
        assert [record.value for record in await consumer.poll(1)] == [b"a"]
        assert new_sessions(caplog) == []


@virtual_time
async def test_a_partition_that_others_starve_is_stalled_and_raised():
    async with fetching(leaders=(1, 1, 2, 3)) as (cluster, consumer):
        cluster.edit = lambda _, number, asked, data: (
            attrs.evolve(data, records=b"") if number == 1 else data
        )
        cluster.append([b"starved"], partition=1)
        began, stalled_after, errors = current_clock().now(), [], []
        while current_clock().now() < began + 60:
            cluster.append([b"read"], partition=0)
            try:
                await consumer.poll(0.5)
            except KafkaTimeoutError as error:
                errors.append(error)
            if consumer.health().partitions["orders", 1].state is PartitionState.STALLED:
                stalled_after.append(current_clock().now() - began)
            await asyncio.sleep(0.5)

        assert 10 < stalled_after[0] < 15
        assert errors
        assert errors[0].partition == 1


@virtual_time
async def test_a_partition_that_was_paused_while_others_were_read_is_healthy(caplog):
    async with fetching(leaders=(1, 1, 2, 3)) as (cluster, consumer):
        cluster.append([b"read"])
        assert len(await consumer.poll(1)) == 1
        consumer.pause(("orders", 0))
        cluster.append([b"waits"])
        for _ in range(30):
            cluster.append([b"read"], partition=1)
            await consumer.poll(0.5)
            await asyncio.sleep(0.5)

        consumer._core.partitions["orders", 0].readable_end = cluster.end()
        consumer.resume(("orders", 0))

        assert [record.value for record in await consumer.poll(1)] == [b"waits"]
        assert new_sessions(caplog) == []


def starve(cluster: FetchingCluster, *, until: Callable[[], bool] = lambda: False) -> None:
    """Answer fetches of partition 1 without its records, until a condition holds."""
    cluster.edit = lambda _, number, asked, data: (
        attrs.evolve(data, records=b"") if number == 1 and not until() else data
    )
    cluster.append([b"starved"], partition=1)


async def read_others(
    cluster: FetchingCluster, consumer: AsyncConsumer[Any, Any], seconds: float
) -> tuple[set[bytes | None], list[KafkaTimeoutError]]:
    """Read partition 0 for a while; return the values and the errors of all partitions."""
    values: set[bytes | None] = set()
    errors = []
    until = current_clock().now() + seconds
    while current_clock().now() < until:
        cluster.append([b"read"], partition=0)
        try:
            values |= {record.value for record in await consumer.poll(0.5)}
        except KafkaTimeoutError as error:
            errors.append(error)
        await asyncio.sleep(0.5)
    return values, errors


@virtual_time
async def test_a_new_connection_heals_a_partition_before_anything_is_raised(caplog):
    async with fetching(leaders=(1, 1, 2, 3)) as (cluster, consumer):
        await consumer.poll(1)
        connections = cluster.connection_counts[1]
        starve(cluster, until=lambda: cluster.connection_counts[1] > connections)

        values, errors = await read_others(cluster, consumer, 40)

        assert (values, errors) == ({b"read", b"starved"}, [])
        assert cluster.connection_counts[1] == connections + 1
        remedies = [m.partition(": ")[2] for m in caplog.messages if "gets no records" in m]
        assert remedies == [Remedy.SESSION.value, Remedy.CONNECTION.value]
        assert consumer.health().problems == ()


@pytest.mark.parametrize("remedy", ["sessions", "metadata"])
@virtual_time
async def test_new_sessions_and_metadata_heal_a_partition_before_its_connection_is_replaced(
    remedy, caplog
):
    async with fetching(leaders=(1, 1, 2, 3)) as (cluster, consumer):
        await consumer.poll(1)
        connections = cluster.connection_counts[1]

        def sent() -> int:
            if remedy == "sessions":
                return len(cluster._sessions)
            return len(cluster.requests(MetadataRequest))

        before = sent()
        starve(cluster, until=lambda: sent() > before)

        values, errors = await read_others(cluster, consumer, 40)

        assert (values, errors) == ({b"read", b"starved"}, [])
        assert cluster.connection_counts[1] == connections
        assert len([m for m in caplog.messages if "gets no records" in m]) == 1
        assert cluster.requests(FetchRequest)[-1].message.session_epoch > 0


@virtual_time
async def test_a_nearer_replica_that_returns_nothing_is_left_for_the_leader(caplog):
    async with fetching(leaders=(2, 1), client_rack="east") as (cluster, consumer):
        cluster.followers = {2}
        sent_away = PartitionData(partition_index=1, high_watermark=1, preferred_read_replica=2)
        answers = iter([sent_away])

        def edit(_: str, number: int, asked: Any, data: PartitionData) -> PartitionData:
            if number == 0:
                return data
            if cluster.served_by["orders", 1] == 2:
                return attrs.evolve(data, records=b"")
            return next(answers, data)

        cluster.edit = edit
        cluster.append([b"starved"], partition=1)

        values, errors = await read_others(cluster, consumer, 30)

        assert (values, errors) == ({b"read", b"starved"}, [])
        assert len([m for m in caplog.messages if "gets no records" in m]) == 1


@virtual_time
async def test_a_partition_without_a_leader_is_not_stalled(caplog):
    async with fetching(leaders=(1, 1)) as (cluster, consumer):
        await consumer.poll(1)
        cluster.move(1, 99)

        await read_others(cluster, consumer, 25)

        assert consumer.health().partitions["orders", 1].state is PartitionState.WITHOUT_LEADER
        assert new_sessions(caplog) == []


@virtual_time
async def test_a_member_joins_its_group_again_before_the_error_is_raised():
    async with fetching(leaders=(1, 1, 2, 3)) as (cluster, consumer):
        joined_at: list[float] = []
        consumer._core._fetch_loop._fetcher._rejoin = lambda _: joined_at.append(
            current_clock().now()
        )
        starve(cluster)

        _, errors = await read_others(cluster, consumer, 35)
        assert (len(joined_at), errors) == (1, [])

        _, errors = await read_others(cluster, consumer, 25)
        assert len(joined_at) == 1
        assert "orders-1 has records from offset 0 on, but none came" in str(errors[0])


@virtual_time
async def test_a_partition_that_still_gets_nothing_is_raised_again_and_again():
    async with fetching(leaders=(1, 1, 2, 3)) as (cluster, consumer):
        starve(cluster)

        _, errors = await read_others(cluster, consumer, 90)

        assert len(errors) >= 4
        assert consumer.health().partitions["orders", 1].state is PartitionState.STALLED


@virtual_time
async def test_fetches_that_wait_nearly_as_long_as_requests_may_take_are_answered(caplog):
    options = {"fetch_min_bytes": 1 << 30, "fetch_max_wait_ms": 29_999}
    async with (
        cluster_with_orders(10) as cluster,
        make_consumer(cluster, topics=["orders"], request_timeout_ms=30_000, **options) as consumer,
    ):
        assert len(await read(consumer, 10, timeout=31)) == 10

    assert not [record for record in caplog.records if record.levelname == "WARNING"]
