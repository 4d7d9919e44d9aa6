"""A slow or failing disk: other requests do not wait, and no unflushed record is acknowledged."""

from __future__ import annotations

import asyncio
import errno
import threading
from collections.abc import AsyncIterator
from typing import Any

import pytest

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from pyk.protocol.messages.delete_topics import DeleteTopicsRequest
from pyk.protocol.messages.metadata import MetadataRequest
from pyk.reference_broker import AsyncCluster
from pyk.runtime.filesystem import File
from pyk.runtime.filesystem.faulty import FaultyFileSystem
from pyk.runtime.filesystem.memory import MemoryFileSystem
from support.broker_requests import TOPIC, create_topic, fetch, produce, values
from support.raw_client import RawClient, batch


class SlowFile:
    """A file whose flushes wait for ``may_flush``."""

    def __init__(self, file: File, may_flush: threading.Event) -> None:
        self._file = file
        self._may_flush = may_flush

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def flush(self) -> None:
        if self._file.path.startswith("/pyk/node0/orders") and self._file.path.endswith(".log"):
            assert self._may_flush.wait(30)
        self._file.flush()


class SlowFileSystem(FaultyFileSystem):
    """Delays flushes of the log of TOPIC, in threads, while it is ``slow``."""

    waits_for_device = True

    def __init__(self) -> None:
        super().__init__(MemoryFileSystem())
        self.may_flush = threading.Event()
        self.may_flush.set()

    def open(self, path: str, *, create: bool = False) -> Any:
        return SlowFile(super().open(path, create=create), self.may_flush)


@pytest.fixture
def filesystem() -> SlowFileSystem:
    return SlowFileSystem()


@pytest.fixture
async def cluster(filesystem: SlowFileSystem) -> AsyncIterator[AsyncCluster]:
    cluster = AsyncCluster(filesystem=filesystem)
    await cluster.open()
    yield cluster
    filesystem.may_flush.set()
    filesystem.heal()
    await cluster.kill()


@pytest.fixture
async def client(cluster: AsyncCluster) -> AsyncIterator[RawClient]:
    async with RawClient(cluster.bootstrap) as client:
        flushed = CreatableTopic(
            name=TOPIC,
            num_partitions=1,
            replication_factor=1,
            configs=[CreatableTopicConfig(name="flush.messages", value="1")],
        )
        await client.ask(CreateTopicsRequest(topics=[flushed]))
        yield client


async def high_watermark(client: RawClient) -> int:
    fetched = await client.ask(fetch(0), 12)
    return int(fetched.responses[0].partitions[0].high_watermark)


@pytest.mark.parametrize("acks", [1, -1])
async def test_a_batch_is_acknowledged_and_visible_once_it_is_on_the_disk(
    cluster: AsyncCluster, filesystem: SlowFileSystem, client: RawClient, acks: int
) -> None:
    filesystem.may_flush.clear()
    async with RawClient(cluster.bootstrap) as other:
        asked = asyncio.ensure_future(client.ask(produce(batch(b"one"), acks=acks), 12))
        for number in range(5):
            await other.ask(create_topic(f"other-{number}"))
            assert await high_watermark(other) == 0
        assert not asked.done()

        filesystem.may_flush.set()

        answer = await asked
        assert answer.responses[0].partition_responses[0].error_code == 0
        assert await high_watermark(other) == 1


@pytest.mark.parametrize("acks", [1, -1])
async def test_a_batch_whose_flush_fails_and_its_retry_are_refused_at_once(
    filesystem: SlowFileSystem, client: RawClient, acks: int
) -> None:
    filesystem.on("flush", "*/orders-0/*.log").once().fail(errno.EIO)
    sealed = batch(b"one", producer_id=1, producer_epoch=0, base_sequence=0)

    for _ in range(2):
        answer = await client.ask(produce(sealed, acks=acks), 12)
        (result,) = answer.responses[0].partition_responses
        assert result.error_code == ErrorCode.KAFKA_STORAGE_ERROR
        assert "cannot flush orders-0" in result.error_message


@pytest.mark.parametrize("acks", [1, -1])
async def test_a_full_disk_is_logged_only_a_few_times(
    filesystem: SlowFileSystem, client: RawClient, caplog: pytest.LogCaptureFixture, acks: int
) -> None:
    filesystem.on("write", "*/orders-0/*.log").fail(errno.ENOSPC)

    for _ in range(100):
        answer = await client.ask(produce(batch(b"one"), acks=acks), 12)
        (result,) = answer.responses[0].partition_responses
        assert result.error_code == ErrorCode.KAFKA_STORAGE_ERROR

    lines = [line for line in caplog.messages if "cannot append to /pyk/node0/orders-0" in line]
    assert 1 <= len(lines) <= 10
    assert "No space left" in lines[0]


async def test_a_waiting_produce_is_answered_when_its_topic_is_deleted(
    cluster: AsyncCluster, filesystem: SlowFileSystem, client: RawClient
) -> None:
    filesystem.may_flush.clear()
    async with RawClient(cluster.bootstrap) as other:
        asked = asyncio.ensure_future(client.ask(produce(batch(b"one")), 12))
        await other.ask(MetadataRequest())

        await other.ask(DeleteTopicsRequest(topic_names=[TOPIC]), 5)

        answer = await asked
        (result,) = answer.responses[0].partition_responses
        assert result.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


async def test_a_clean_stop_waits_for_pending_flushes(
    cluster: AsyncCluster, filesystem: SlowFileSystem, client: RawClient
) -> None:
    filesystem.may_flush.clear()
    asked = asyncio.ensure_future(client.ask(produce(batch(b"one")), 12))
    while not filesystem.exists("/pyk/node0/orders-0/00000000000000000000.timeindex"):
        await asyncio.sleep(0)

    stopping = asyncio.ensure_future(cluster.stop())
    await asyncio.sleep(0)
    filesystem.may_flush.set()
    await stopping

    asked.cancel()
    await cluster.start()
    async with RawClient(cluster.bootstrap) as again:
        assert await values(again) == [b"one"]
