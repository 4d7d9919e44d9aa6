"""Nodes that stop because the disks they cannot go on without have failed."""

from __future__ import annotations

import asyncio
import errno

import pytest

from pyk.clients import AsyncProducer, KafkaError
from pyk.reference_broker import AsyncCluster, World
from pyk.reference_broker.errors import ApiError
from pyk.reference_broker.storage import StorageError

SHORT = {"delivery_timeout_ms": 1000, "request_timeout_ms": 500}
SOON = {"log.initial.task.delay.ms": "100"}
METADATA_ALONE = {"metadata.log.dir": "/metadata", **SOON}


async def fail_and_touch(cluster: AsyncCluster, *directories: str) -> None:
    """Let disks fail, and write to them; the producer is told nothing good."""
    async with AsyncProducer(cluster.bootstrap, **SHORT) as producer:  # type: ignore[arg-type]
        for path in directories:
            cluster.disk.fail(path)
        for partition in range(2):
            with pytest.raises(KafkaError):
                await producer.send_and_wait("orders", b"lost", partition=partition)


async def with_orders(cluster: AsyncCluster) -> None:
    await cluster.create_topic("orders", 2)
    await cluster.seed({"orders": [{"value": b"kept", "partition": each} for each in range(2)]})


@pytest.mark.parametrize("log_dirs", [1, 2])
def test_a_node_stops_with_the_directory_of_its_metadata_log(
    log_dirs: int, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario() -> None:
        async with AsyncCluster(log_dirs=log_dirs, config=SOON) as cluster:
            await with_orders(cluster)
            (lost, *_) = cluster.log_dirs()
            cluster.disk.fail(lost)
            await asyncio.sleep(10)  # nobody writes: it is found out all the same

            words = rf"node 0 has stopped: data directory {lost}, which has the metadata log, has "
            with pytest.raises(RuntimeError, match=words):
                await cluster.stop()
            with pytest.raises(RuntimeError, match=words):
                await cluster.create_topic("more")
            with pytest.raises(StorageError, match="Input/output error"):
                await cluster.start()

            cluster.disk.heal()
            await cluster.start()

            assert [each.value for each in await cluster.records("orders")] == [b"kept"] * 2
            await cluster.seed({"orders": [b"more"]})

    World().run(scenario())

    assert caplog.text.count("node 0 has stopped") == 1


def test_a_node_stops_with_the_last_of_its_directories_for_logs() -> None:
    async def scenario() -> None:
        async with AsyncCluster(log_dirs=2, config=METADATA_ALONE) as cluster:
            await with_orders(cluster)
            first, second = cluster.log_dirs()
            cluster.disk.fail(first)
            await asyncio.sleep(10)
            assert cluster._brokers

            await fail_and_touch(cluster, second)

            words = f"none of the data directories can be used: .*{first}.*{second}"
            with pytest.raises(RuntimeError, match=words):
                await cluster.kill()
            await cluster.heal()
            assert [each.value for each in await cluster.records("orders")] == [b"kept"] * 2

    World().run(scenario())


@pytest.mark.parametrize(
    ("what", "error"),
    [("write", errno.EIO), ("flush", errno.EIO), ("flush", errno.ENOSPC)],
)
def test_a_node_stops_if_its_metadata_log_is_out_of_use(what: str, error: int) -> None:
    async def scenario() -> None:
        async with AsyncCluster(config=SOON) as cluster:
            await with_orders(cluster)
            cluster.disk.on(what, "*/__cluster_metadata-0/*.log").once().fail(error)

            with pytest.raises(ApiError):
                await cluster.create_topic("more")
            await asyncio.sleep(6)

            with pytest.raises(RuntimeError, match="which has the metadata log, has failed"):
                await cluster.stop()

    World().run(scenario())


def test_a_node_goes_on_while_its_disk_is_full() -> None:
    async def scenario() -> None:
        async with AsyncCluster(config=SOON) as cluster:
            await with_orders(cluster)
            with cluster.disk.full():
                with pytest.raises(ApiError):
                    await cluster.create_topic("more")
                await asyncio.sleep(6)

            await cluster.create_topic("more")

    World().run(scenario())


def test_a_node_goes_on_without_one_log_beside_the_metadata_log() -> None:
    async def scenario() -> None:
        async with AsyncCluster() as cluster:
            await with_orders(cluster)
            cluster.disk.fail("*/orders-0/*")
            async with AsyncProducer(cluster.bootstrap, **SHORT) as producer:  # type: ignore[arg-type]
                with pytest.raises(KafkaError):
                    await producer.send_and_wait("orders", b"lost", partition=0)

                assert (await producer.send_and_wait("orders", b"x", partition=1)).offset == 1
            cluster.disk.heal()

    World().run(scenario())


@pytest.mark.parametrize("operation", range(0, 54, 2))
def test_a_disk_that_fails_at_any_operation_costs_no_acknowledged_record(operation: int) -> None:
    async def scenario() -> None:
        acknowledged: list[bytes] = []
        async with AsyncCluster(config=SOON) as cluster:
            await with_orders(cluster)
            async with AsyncProducer(cluster.bootstrap, **SHORT) as producer:  # type: ignore[arg-type]
                cluster.disk.fail(cluster.log_dirs()[0]).after(operation)
                for number in range(40):
                    try:
                        await producer.send_and_wait("orders", b"%d" % number, partition=0)
                    except KafkaError:
                        break
                    acknowledged.append(b"%d" % number)
                    await asyncio.sleep(0.05)
                await asyncio.sleep(10)
                assert not cluster._brokers
            await cluster.heal()

            found = [each.value for each in await cluster.records("orders") if not each.partition]
            assert found[1 : 1 + len(acknowledged)] == acknowledged

    World().run(scenario())
