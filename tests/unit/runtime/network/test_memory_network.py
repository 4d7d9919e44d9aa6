"""The in-memory network behaves as TCP does, in virtual time."""

from __future__ import annotations

import asyncio

import pytest

from pyk.runtime.network import Address, FrameTransport, MemoryNetwork, Network
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


async def connect(network: Network) -> Echo:
    client = Echo()
    await network.connect(lambda: client.transport, Address("broker", 9092))
    return client


async def connected(network: MemoryNetwork) -> tuple[Echo, Echo]:
    server = await listening(network)
    return await connect(network), server


async def listening(network: MemoryNetwork) -> Echo:
    """Return the server end of the connection that is made next."""
    server = Echo()
    server.answers = True
    await network.listen(lambda _: server.transport, "broker", 9092)
    return server


def send(end: Echo, text: bytes) -> None:
    end.transport.write([len(text).to_bytes(4, "big"), text])


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
async def test_a_reset_ends_open_connections_and_allows_new_ones() -> None:
    network = MemoryNetwork()
    client, server = await connected(network)

    network.reset("broker")
    await client.lost.wait()
    await server.lost.wait()

    assert network.open_connections == 0
    await connect(network)
    assert network.open_connections == 1


@virtual_time
async def test_a_port_that_was_closed_refuses_connections() -> None:
    network = MemoryNetwork()
    listener = await network.listen(lambda _: Echo().transport, "broker", 9092)

    await listener.close()

    with pytest.raises(ConnectionRefusedError):
        await connect(network)


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


@virtual_time
async def test_ports_that_are_chosen_are_never_those_of_others() -> None:
    network = MemoryNetwork()

    first = await network.listen(lambda _: Echo().transport, "broker", 0)
    second = await network.listen(lambda _: Echo().transport, "broker", 0)
    await first.close()
    third = await network.listen(lambda _: Echo().transport, "broker", 0)

    assert len({first.port, second.port, third.port}) == 3


class Three:
    """A broker that answers, and a connection of each of two hosts to it."""

    def __init__(self, network: MemoryNetwork) -> None:
        self.network = network
        self.servers: list[Echo] = []

    async def begin(self) -> tuple[Echo, Echo]:
        await self.network.host("broker").listen(self._accept, "10.0.0.1", 9092)
        return await self.connect("alice"), await self.connect("bob")

    async def connect(self, host: str) -> Echo:
        client = Echo()
        address = Address("10.0.0.1", 9092)
        await self.network.host(host).connect(lambda: client.transport, address)
        return client

    def _accept(self, _: str) -> FrameTransport:
        self.servers.append(Echo())
        self.servers[-1].answers = True
        return self.servers[-1].transport


@virtual_time
async def test_a_cut_concerns_only_the_link_between_two_hosts() -> None:
    network = MemoryNetwork(latency=0.01)
    alice, bob = await Three(network).begin()

    network.cut("alice", "broker")
    send(alice, b"a")
    send(bob, b"b")
    await asyncio.sleep(60)

    assert alice.frames == []
    assert bob.frames == [b"b"]


@virtual_time
async def test_a_cut_of_one_direction_lets_the_other_pass() -> None:
    network = MemoryNetwork(latency=0.01)
    three = Three(network)
    alice, _ = await three.begin()

    network.cut("broker", "alice", one_way=True)
    send(alice, b"a")
    await asyncio.sleep(60)

    assert three.servers[0].frames == [b"a"]
    assert alice.frames == []


@virtual_time
async def test_data_held_by_a_cut_arrives_in_order_once_the_link_is_healed() -> None:
    network = MemoryNetwork(latency=0.01)
    alice, _ = await Three(network).begin()
    send(alice, b"on the way when the link is cut")

    network.cut("alice", "broker")
    await asyncio.sleep(1)
    send(alice, b"sent meanwhile")
    await asyncio.sleep(60)
    network.heal("broker", "alice")
    send(alice, b"sent after")
    await asyncio.sleep(1)

    assert alice.frames == [b"on the way when the link is cut", b"sent meanwhile", b"sent after"]


@virtual_time
async def test_an_isolated_host_reaches_no_other_until_it_is_healed() -> None:
    network = MemoryNetwork(latency=0.01)
    alice, bob = await Three(network).begin()

    network.isolate("broker")
    send(alice, b"a")
    send(bob, b"b")
    await asyncio.sleep(60)
    assert alice.frames == bob.frames == []

    network.heal("broker")
    await asyncio.sleep(1)
    assert (alice.frames, bob.frames) == ([b"a"], [b"b"])


@virtual_time
async def test_connecting_over_a_link_that_is_cut_succeeds_after_it_is_healed() -> None:
    network = MemoryNetwork(latency=0.01)
    three = Three(network)
    await three.begin()

    network.host("carol")
    network.cut("broker", "carol", one_way=True)
    connecting = asyncio.ensure_future(three.connect("carol"))
    await asyncio.sleep(60)
    assert not connecting.done()

    network.heal()
    await asyncio.wait_for(connecting, timeout=2)


@virtual_time
async def test_a_delay_concerns_one_link_and_nothing_overtakes_when_it_ends() -> None:
    network = MemoryNetwork(latency=0.01)
    alice, bob = await Three(network).begin()

    network.delay("alice", "broker", 2.0, one_way=True)
    send(alice, b"slow")
    send(bob, b"b")
    await asyncio.sleep(1)
    network.delay("alice", "broker", 0.01)
    send(alice, b"fast")
    await asyncio.sleep(0.5)
    assert (alice.frames, bob.frames) == ([], [b"b"])

    await asyncio.sleep(1)
    assert alice.frames == [b"slow", b"fast"]


@virtual_time
async def test_a_delay_that_ends_brings_nothing_forward() -> None:
    network = MemoryNetwork()
    three = Three(network)
    alice, _ = await three.begin()

    network.delay("alice", "broker", 2.0)
    send(alice, b"slow")
    network.delay("alice", "broker", 0.0)
    send(alice, b"fast")
    await asyncio.sleep(1)
    assert three.servers[0].frames == []

    await asyncio.sleep(1.5)
    assert three.servers[0].frames == [b"slow", b"fast"]


@virtual_time
async def test_data_on_the_way_do_not_arrive_over_a_link_that_is_cut_meanwhile() -> None:
    network = MemoryNetwork(latency=0.01)
    three = Three(network)
    alice, _ = await three.begin()

    send(alice, b"on the way")
    network.cut("alice", "broker")
    await asyncio.sleep(60)

    assert three.servers[0].frames == []


@virtual_time
async def test_connecting_takes_the_latency() -> None:
    await connected(MemoryNetwork(latency=0.5))

    assert current_clock().now() == 0.5


@virtual_time
async def test_what_arrives_when_reading_is_resumed_comes_after_what_waited() -> None:
    client, server = await connected(MemoryNetwork())
    server.transport.pause_reading()
    send(client, b"first")
    await asyncio.sleep(1)

    send(client, b"second")
    server.transport.resume_reading()
    await asyncio.sleep(1)

    assert server.frames == [b"first", b"second"]


@virtual_time
async def test_a_reset_between_two_hosts_leaves_other_connections() -> None:
    network = MemoryNetwork(latency=0.01)
    alice, bob = await Three(network).begin()

    network.reset("broker", "alice")

    assert alice.lost.is_set()
    assert not bob.lost.is_set()


@virtual_time
async def test_an_observer_learns_both_ends_of_what_is_sent() -> None:
    seen: list[tuple[str, str, bytes]] = []
    network = MemoryNetwork(latency=0.01, observe=lambda *event: seen.append(event))
    alice, _ = await Three(network).begin()

    send(alice, b"hi")
    await asyncio.sleep(1)

    assert seen == [
        ("alice", "broker", b"\0\0\0\2hi"),
        ("broker", "alice", b"\0\0\0\2hi"),
    ]


async def test_another_event_loop_is_refused_with_what_to_use_instead() -> None:
    network = MemoryNetwork()
    await listening(network)

    def connect_elsewhere() -> None:
        asyncio.run(connect(network))

    with pytest.raises(OSError, match=r"works within one event loop.*: use its asyncio twin"):
        await asyncio.to_thread(connect_elsewhere)
