"""Peers that send malformed bytes, are slow or send nothing: only their connection is closed."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import struct
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.api_versions import ApiVersionsResponse
from pyk.protocol.messages.headers import ResponseHeader
from pyk.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from pyk.protocol.messages.metadata import MetadataRequest
from pyk.reference_broker import AsyncCluster
from support.broker_requests import TOPIC, fetch, produce_one
from support.raw_client import RawClient

MIB = 1 << 20


@pytest.fixture
async def cluster() -> AsyncIterator[AsyncCluster]:
    async with AsyncCluster() as cluster:
        await cluster.create_topic(TOPIC)
        yield cluster


async def is_served(cluster: AsyncCluster) -> bool:
    async with RawClient(cluster.bootstrap) as client:
        return bool((await client.ask(MetadataRequest())).brokers)


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def header(api_key: int, version: int, correlation_id: int = 7) -> bytes:
    return (
        api_key.to_bytes(2, "big", signed=True)
        + version.to_bytes(2, "big", signed=True)
        + correlation_id.to_bytes(4, "big")
        + b"\xff\xff"
    )


def framed(body: bytes) -> bytes:
    return len(body).to_bytes(4, "big") + body


@pytest.mark.parametrize("length", [-(2**31), -1, 0, 100 * MIB + 1, 2**31 - 1])
async def test_an_invalid_frame_length_closes_the_connection(
    cluster: AsyncCluster, length: int, caplog: pytest.LogCaptureFixture
) -> None:
    async with RawClient(cluster.bootstrap) as client:
        client.writer.write(length.to_bytes(4, "big", signed=True) + b"rest")
        assert await client.is_cut_off()

    assert await is_served(cluster)
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "127.0.0.1" in caplog.text


@pytest.mark.parametrize(
    "talk",
    [
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(100),
        b"SSH-2.0-OpenSSH_9.6\r\n",
        framed(b""),
        framed(b"\x00"),
        framed(bytes(7)),
        framed(header(999, 0)),
        framed(header(-1, 0)),
        framed(b"\x00\x03\x00\x0c\x00\x00\x00\x01\x7f\xff"),
    ],
)
async def test_another_protocol_closes_the_connection(cluster: AsyncCluster, talk: bytes) -> None:
    async with RawClient(cluster.bootstrap) as client:
        client.writer.write(talk)
        assert await client.is_cut_off()

    assert await is_served(cluster)


async def test_many_malformed_connections_log_only_a_few_warnings(
    cluster: AsyncCluster, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    for _ in range(50):
        async with RawClient(cluster.bootstrap) as client:
            client.writer.write(b"\xff\xff\xff\xff")
            assert await client.is_cut_off()

    assert 1 <= len(caplog.records) <= 10


async def test_large_declared_lengths_reserve_no_memory(cluster: AsyncCluster) -> None:
    before = resident_bytes()
    clients = [RawClient(cluster.bootstrap) for _ in range(500)]
    for client in clients:
        await client.__aenter__()
        client.writer.write((100 * MIB).to_bytes(4, "big") + b"x")
        await client.writer.drain()

    assert await is_served(cluster)
    assert resident_bytes() - before < 32 * MIB
    for client in clients:
        await client.__aexit__()


@pytest.mark.parametrize("version", [-1, 5, 99, 32767])
async def test_an_unknown_version_of_api_versions_is_answered_in_version_0(
    cluster: AsyncCluster, version: int
) -> None:
    async with RawClient(cluster.bootstrap) as client:
        client.writer.write(framed(header(18, version) + b"\x00\x01\x02anything"))
        frame = await client.receive_frame()

    head, position = ResponseHeader.decode_prefix(frame, 0)
    response = ApiVersionsResponse.decode(frame[position:], 0)
    assert head.correlation_id == 7
    assert response.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert [(each.api_key, each.min_version, each.max_version) for each in response.api_keys] == [
        (18, 0, 4)
    ]


@pytest.mark.parametrize("version", [-1, 5])
async def test_an_unsupported_version_is_refused_in_the_nearest_supported_one(
    cluster: AsyncCluster, version: int
) -> None:
    nearest = 0 if version < 0 else 4
    async with RawClient(cluster.bootstrap) as client:
        client.writer.write(framed(header(12, version) + b"\x00"))
        frame = await client.receive_frame()

    _, position = ResponseHeader.decode_prefix(frame, 1 if nearest == 4 else 0)
    response = HeartbeatResponse.decode(frame[position:], nearest)
    assert response.error_code == ErrorCode.UNSUPPORTED_VERSION


async def test_a_malformed_body_closes_only_its_own_connection(cluster: AsyncCluster) -> None:
    async with RawClient(cluster.bootstrap) as good, RawClient(cluster.bootstrap) as bad:
        bad.writer.write(framed(header(3, 1) + b"\x7f\xff\xff\xff"))
        assert await bad.is_cut_off()

        assert (await good.ask(HeartbeatRequest(group_id="g"))).error_code


async def test_an_idle_connection_is_closed() -> None:
    async with (
        AsyncCluster(config={"connections.max.idle.ms": 100}) as cluster,
        RawClient(cluster.bootstrap) as idle,
    ):
        assert await idle.is_cut_off()


async def test_idle_connections_stay_open_without_an_idle_limit() -> None:
    async with (
        AsyncCluster(config={"connections.max.idle.ms": -1}) as cluster,
        RawClient(cluster.bootstrap) as client,
    ):
        for _ in range(3):
            await asyncio.sleep(0.1)
            assert (await client.ask(HeartbeatRequest(group_id="g"))).error_code


async def test_a_connection_that_waits_for_a_response_is_not_idle() -> None:
    async with (
        AsyncCluster(config={"connections.max.idle.ms": 100}) as cluster,
        RawClient(cluster.bootstrap) as client,
    ):
        await cluster.create_topic(TOPIC)
        fetched = await client.ask(fetch(0, max_wait_ms=400), 12)

    assert fetched.responses[0].partitions[0].error_code == ErrorCode.NONE


async def test_responses_that_a_peer_does_not_read_hold_no_memory(cluster: AsyncCluster) -> None:
    async with RawClient(cluster.bootstrap) as producer:
        for _ in range(4):
            await produce_one(producer, bytes(900_000))
    before = resident_bytes()
    async with RawClient(cluster.bootstrap) as deaf:
        deaf.reader._transport.pause_reading()  # type: ignore[attr-defined]
        for _ in range(300):
            deaf.send(fetch(0, max=4 * MIB), 12)
        await asyncio.sleep(0.3)

        assert await is_served(cluster)
        assert resident_bytes() - before < 32 * MIB


async def test_the_connections_of_each_address_are_limited() -> None:
    async with AsyncCluster(config={"max.connections.per.ip": 2}) as cluster:
        clients = [RawClient(cluster.bootstrap) for _ in range(3)]
        for client in clients:
            await client.__aenter__()
        assert await clients[2].is_cut_off()
        assert (await clients[0].ask(MetadataRequest())).brokers
        for client in clients:
            await client.__aexit__()


async def test_a_waiting_request_is_dropped_when_its_peer_disconnects(
    cluster: AsyncCluster,
) -> None:
    (broker,) = cluster._brokers.values()
    async with RawClient(cluster.bootstrap) as client:
        client.send(fetch(0, max_wait_ms=60_000), 12)
        await client.writer.drain()
        while not len(broker.services.waiting.fetches):
            await asyncio.sleep(0.01)

    while len(broker.services.waiting.fetches):
        await asyncio.sleep(0.01)
    assert await is_served(cluster)


async def test_connections_are_closed_when_partial_frames_exhaust_the_memory_budget(
    cluster: AsyncCluster, caplog: pytest.LogCaptureFixture
) -> None:
    (broker,) = cluster._brokers.values()
    broker._listener._budget._limit = 8 * MIB
    clients = [RawClient(cluster.bootstrap) for _ in range(6)]
    for client in clients:
        await client.__aenter__()
        client.writer.write((100 * MIB).to_bytes(4, "big") + bytes(6 * MIB))
    with contextlib.suppress(ConnectionError):
        await asyncio.gather(*(client.writer.drain() for client in clients))
    while "too much is arriving" not in caplog.text:
        await asyncio.sleep(0.01)

    assert await is_served(cluster)
    for client in clients:
        await client.__aexit__()
    while broker._listener.connection_count:
        await asyncio.sleep(0.01)
    assert broker._listener._budget.used == 0


async def test_connections_reset_before_they_are_accepted_do_not_count_for_ever() -> None:
    async with AsyncCluster(config={"max.connections.per.ip": "5"}) as cluster:
        host, port = cluster.bootstrap.split(":")
        for _ in range(10):
            reset_at_once(host, int(port))
            assert await is_served(cluster)


def reset_at_once(host: str, port: int) -> None:
    """Connect, and reset the connection before the event loop has a turn to accept it."""
    with socket.create_connection((host, port)) as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
