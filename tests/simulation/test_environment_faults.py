"""Disks that fail and clocks that are wrong, by the shortcuts of a cluster, seen by clients."""

from __future__ import annotations

import asyncio
import errno
from typing import Any

import pytest

from pyk.clients import AsyncProducer, InvalidTimestampError, KafkaError
from pyk.reference_broker import AsyncCluster, Cluster, World
from pyk.runtime.filesystem import OsFileSystem
from pyk.runtime.filesystem.faulty import FaultyFileSystem
from pyk.runtime.virtual_time import START_MS

LOG = "*/orders-0/*.log"
SHORT = {"delivery_timeout_ms": 5000, "request_timeout_ms": 2000}


def in_world(scenario: Any) -> Any:
    return World(seed=1).run(scenario)


async def values(cluster: AsyncCluster) -> list[bytes]:
    return [record.value for record in await cluster.records("orders")]


def test_a_full_disk_fails_sends_until_the_node_starts_again() -> None:
    async def main() -> None:
        async with AsyncCluster() as cluster, AsyncProducer(cluster.bootstrap, **SHORT) as producer:
            await producer.send_and_wait("orders", b"before")
            with cluster.disk.full(LOG), pytest.raises(KafkaError):
                await producer.send_and_wait("orders", b"full")

            await cluster.stop()
            await cluster.start()
            await producer.send_and_wait("orders", b"after")

            assert await values(cluster) == [b"before", b"after"]

    in_world(main())


def test_a_failing_disk_fails_only_the_paths_that_are_named() -> None:
    async def main() -> None:
        async with AsyncCluster() as cluster, AsyncProducer(cluster.bootstrap, **SHORT) as producer:
            await producer.send_and_wait("orders", b"before")
            await producer.send_and_wait("bills", b"before")
            cluster.disk.fail("*/orders-0/*")

            with pytest.raises(KafkaError):
                await producer.send_and_wait("orders", b"failing")
            assert (await producer.send_and_wait("bills", b"works")).offset == 1

    in_world(main())


def test_a_slow_disk_takes_time_and_loses_nothing() -> None:
    async def main() -> float:
        loop = asyncio.get_running_loop()
        async with AsyncCluster() as cluster, AsyncProducer(cluster.bootstrap) as producer:
            await cluster.create_topic("orders", configs={"flush.messages": 1})
            await producer.send_and_wait("orders", b"before")
            began = loop.time()
            with cluster.disk.slow(3, LOG):
                await producer.send_and_wait("orders", b"slow")

            assert await values(cluster) == [b"before", b"slow"]
            return loop.time() - began

    assert 3 <= in_world(main()) < 4


def test_a_skewed_clock_stamps_records_until_it_is_healed() -> None:
    async def main() -> list[int]:
        async with AsyncCluster() as cluster, AsyncProducer(cluster.bootstrap) as producer:
            await cluster.create_topic(
                "orders", configs={"message.timestamp.type": "LogAppendTime"}
            )
            cluster.skew_clock(-7200)
            skewed = await producer.send_and_wait("orders", b"skewed")
            await cluster.heal()
            healed = await producer.send_and_wait("orders", b"healed")
            return [skewed.timestamp // 1000, healed.timestamp // 1000]

    now = START_MS // 1000
    assert in_world(main()) == [now - 7200, now]


def test_timestamps_that_are_too_far_ahead_of_a_skewed_clock_are_refused() -> None:
    async def main() -> None:
        async with AsyncCluster() as cluster, AsyncProducer(cluster.bootstrap) as producer:
            cluster.skew_clock(-7200)

            with pytest.raises(InvalidTimestampError, match=r"timestamp .* is not from"):
                await producer.send_and_wait("orders", b"from the future")

    in_world(main())


def test_heal_ends_all_faults_and_starts_the_node() -> None:
    async def main() -> None:
        async with AsyncCluster() as cluster, AsyncProducer(cluster.bootstrap) as producer:
            await producer.send_and_wait("orders", b"before")
            cluster.faults.on("Produce").close()
            cluster.faults.pause()
            cluster.disk.full()
            await cluster.kill()

            await cluster.heal()

            await producer.send_and_wait("orders", b"after")
            assert await values(cluster) == [b"before", b"after"]

    in_world(main())


def test_a_clusters_own_clock_can_be_skewed_in_real_time() -> None:
    with Cluster() as cluster:
        right = cluster.clock.time_ms()
        cluster.skew_clock(3600)
        assert 3_600_000 <= cluster.clock.time_ms() - right < 3_700_000

        cluster.heal()

        assert cluster.clock.time_ms() - right < 100_000


def test_a_disk_of_the_machine_fails_only_if_it_is_wrapped(tmp_path: Any) -> None:
    with pytest.raises(RuntimeError, match=r"OsFileSystem does not fail on demand: leave out"):
        _ = Cluster(data_dir=tmp_path).disk
    faulty = FaultyFileSystem(OsFileSystem())
    with Cluster(data_dir=tmp_path, filesystem=faulty) as cluster:
        cluster.create_topic("orders")
        cluster.disk.on("write", LOG).once().fail(errno.EIO)
        with pytest.raises(Exception, match=r"KAFKA_STORAGE_ERROR|cannot append"):
            cluster.seed({"orders": [b"one"]})
