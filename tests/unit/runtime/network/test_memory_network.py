"""The in-memory network behaves as TCP does, in virtual time."""

from __future__ import annotations

import asyncio

import pytest

from pyk.runtime.network import Address, FrameTransport, MemoryNetwork
from pyk.runtime.virtual_time import current_clock, virtual_time


class Echo:
    """Send every frame back, and remember what came."""

    def __init__(self) -> None:
        self.transport = FrameTransport(self, max_frame_bytes=1 << 24)
        self.frames: list[bytes] = []
        self.answers = False
        self.lost = asyncio.Event()

    def frame_received(self, frame: memoryview) -> None:
        self.frames.append(bytes(frame))
        if self.answers:
            self.transport.write([len(frame).to_bytes(4, "big"), frame])

    def connection_lost(self, error: Exception | None) -> None:
        self.lost.set()


async def connected(network: MemoryNetwork) -> tuple[Echo, Echo]:
    server = Echo()
    server.answers = True
    await network.listen(lambda: server.transport, "broker", 9092)
    client = Echo()
    await network.connect(lambda: client.transport, Address("broker", 9092))
    return client, server


@virtual_time
async def test_data_take_the_latency_both_ways() -> None:
    network = MemoryNetwork(latency=0.5)
    client, _ = await connected(network)
    sent_at = current_clock().now()

    client.transport.write([b"\0\0\0\2hi"])
    while not client.frames:
        await asyncio.sleep(0.01)

    assert client.frames == [b"hi"]
    assert current_clock().now() - sent_at == pytest.approx(1.0, abs=0.02)


@virtual_time
async def test_a_cut_resets_open_connections_and_refuses_new_ones() -> None:
    network = MemoryNetwork()
    client, server = await connected(network)

    network.cut("broker", 9092)
    await client.lost.wait()
    await server.lost.wait()

    with pytest.raises(ConnectionRefusedError):
        await network.connect(lambda: Echo().transport, Address("broker", 9092))
    assert network.open_connections == 0


@virtual_time
async def test_a_writer_waits_while_its_peer_does_not_read() -> None:
    network = MemoryNetwork()
    client, server = await connected(network)
    server.answers = False
    server.transport.pause_reading()

    client.transport.write([(200_000).to_bytes(4, "big"), bytes(200_000)])
    drained = asyncio.ensure_future(client.transport.drain())
    await asyncio.sleep(60)
    assert not drained.done()
    server.transport.resume_reading()
    await drained

    assert len(server.frames) == 1


@virtual_time
async def test_frames_written_in_one_moment_arrive_in_their_order() -> None:
    client, server = await connected(MemoryNetwork(latency=0.01))

    for number in range(100):
        client.transport.write([b"\x00\x00\x00\x01", bytes([number])])
    await asyncio.sleep(0.1)

    assert server.frames == [bytes([number]) for number in range(100)]
