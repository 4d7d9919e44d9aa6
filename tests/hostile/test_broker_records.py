"""Invalid record batches are refused with Kafka's error, and leave the log unchanged."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from pyk.protocol.errors import ErrorCode
from pyk.protocol.records import Compression, RecordBatchBuilder
from pyk.reference_broker import AsyncCluster
from support.broker_requests import TOPIC, produce, produce_one, values
from support.raw_client import RawClient, batch


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[RawClient]:
    async with AsyncCluster(data_dir=tmp_path) as cluster:
        await cluster.create_topic(TOPIC, configs={"max.message.bytes": 10_000})
        await cluster.create_topic("compacted", configs={"cleanup.policy": "compact"})
        async with RawClient(cluster.bootstrap) as client:
            yield client


def changed(at: int, data: bytes, records: bytes = b"") -> bytes:
    """Return a valid batch with other bytes at a position and an unchanged CRC."""
    good = records or batch(b"one", b"two")
    return good[:at] + data + good[at + len(data) :]


def bomb() -> bytes:
    builder = RecordBatchBuilder(Compression.ZSTD, max_bytes=1 << 30)
    builder.append(0, b"key", bytes(200 << 20))
    return bytes(builder.seal())


HOSTILE = {
    "wrong CRC": (changed(17, b"\0\0\0\0"), ErrorCode.CORRUPT_MESSAGE),
    "magic 0": (changed(16, b"\0"), None),
    "magic 1": (changed(16, b"\1"), None),
    "magic 7": (changed(16, b"\7"), None),
    "negative length": (changed(8, b"\xff\xff\xff\xff"), None),
    "length beyond the end": (changed(8, b"\0\0\xff\xff"), None),
    "two batches": (batch(b"one") + batch(b"two"), ErrorCode.INVALID_RECORD),
    "nothing": (b"", ErrorCode.INVALID_RECORD),
    "null": (None, ErrorCode.INVALID_RECORD),
    "a batch and a part of one": (batch(b"one") + batch(b"two")[:10], ErrorCode.INVALID_RECORD),
    "half a header": (batch(b"one")[:30], None),
    "too large": (batch(bytes(20_000)), ErrorCode.MESSAGE_TOO_LARGE),
    "transaction without an id": (
        batch(b"x", producer_id=1, producer_epoch=0, base_sequence=0, is_transactional=True),
        None,
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
async def test_an_invalid_batch_is_refused_and_leaves_the_log_unchanged(
    client: RawClient, tmp_path: Path, name: str
) -> None:
    records, expected = HOSTILE[name]
    await produce_one(client, b"good")
    log = tmp_path / "node0" / f"{TOPIC}-0" / "00000000000000000000.log"
    before = log.read_bytes()

    produced = await client.ask(produce(records), 12)

    error = produced.responses[0].partition_responses[0].error_code
    assert error != ErrorCode.NONE
    assert error != ErrorCode.UNKNOWN_SERVER_ERROR
    assert expected is None or error == expected
    assert log.read_bytes() == before
    assert await values(client) == [b"good"]


@pytest.mark.parametrize("version", [3, 6])
async def test_zstd_is_refused_in_versions_before_it_existed(
    client: RawClient, version: int
) -> None:
    builder = RecordBatchBuilder(Compression.ZSTD)
    builder.append(0, b"key", b"value")

    produced = await client.ask(produce(bytes(builder.seal())), version)

    error = produced.responses[0].partition_responses[0].error_code
    assert error == ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    assert await values(client) == []


async def test_a_decompression_bomb_is_refused(client: RawClient) -> None:
    produced = await client.ask(produce(bomb(), topic="compacted"), 12)

    error = produced.responses[0].partition_responses[0].error_code
    assert error not in (ErrorCode.NONE, ErrorCode.UNKNOWN_SERVER_ERROR)


async def test_a_compacted_topic_refuses_a_record_without_a_key(client: RawClient) -> None:
    produced = await client.ask(produce(batch(b"x"), topic="compacted"), 12)

    result = produced.responses[0].partition_responses[0]
    assert result.error_code == ErrorCode.INVALID_RECORD
    assert [each.batch_index for each in result.record_errors] == [0]
