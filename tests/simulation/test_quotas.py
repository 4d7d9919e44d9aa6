"""Quotas in virtual time: clients that flood a broker are held to their rates."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from pyk.clients import AsyncAdmin, AsyncProducer, ClientQuotaAlteration, ClientQuotaEntity
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.api_versions import ApiVersionsRequest
from pyk.protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from pyk.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from pyk.protocol.messages.produce import ProduceRequest
from pyk.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from pyk.protocol.messages.sasl_handshake import SaslHandshakeRequest
from pyk.protocol.messages.write_txn_markers import WriteTxnMarkersRequest
from pyk.reference_broker import AsyncCluster
from pyk.reference_broker.config.broker_config import STANDARD_AUTHORIZER
from pyk.runtime.network import Address, ClientTls, MemoryNetwork
from pyk.runtime.simulation import World
from pyk.runtime.virtual_time import current_clock, virtual_time
from support.broker_requests import TOPIC, create_topic, fetch, produce
from support.environments import client_options
from support.frame_client import FrameClient
from support.quotas import limit
from support.raw_client import batch

KB = 1000
RATE = 10 * KB
"""Bytes per second."""


class Clients:
    """A cluster, and clients that connect to it by their ids."""

    def __init__(self, cluster: AsyncCluster, network: MemoryNetwork) -> None:
        self.cluster = cluster
        self._network = network

    async def connect(self, client_id: str) -> FrameClient:
        client = FrameClient(client_id)
        host, port = self.cluster.bootstrap.rsplit(":", 1)
        await self._network.connect(lambda: client.transport, Address(host, int(port)))
        return client

    async def limit(self, client_id: str | None, **limits: float | None) -> None:
        admin = await self.connect("admin")
        response = await admin.ask(limit({"client-id": client_id}, **limits))
        assert [entry.error_code for entry in response.entries] == [0]


@asynccontextmanager
async def clients(**config: object) -> AsyncIterator[Clients]:
    named = {name.replace("_", "."): value for name, value in config.items()}
    network = MemoryNetwork()
    async with AsyncCluster(clock=current_clock(), network=network, config=named) as cluster:
        await cluster.create_topic(TOPIC)
        yield Clients(cluster, network)


def request_of(size: int, *, acks: int = -1) -> ProduceRequest:
    return produce(batch(bytes(size)), acks=acks)


async def bytes_per_second(client: FrameClient, *, seconds: float, size: int = KB) -> float:
    """Produce as fast as the broker lets a client; return its rate."""
    began, sent = current_clock().now(), 0
    while current_clock().now() < began + seconds:
        await client.ask(request_of(size), 12)
        sent += size
    return sent / (current_clock().now() - began)


@virtual_time
async def test_a_producer_that_floods_is_held_to_its_rate() -> None:
    async with clients() as every:
        await every.limit("flood", producer_byte_rate=RATE)

        rate = await bytes_per_second(await every.connect("flood"), seconds=120)

    # A client may use ten windows of a second at once when it comes.
    assert 0.9 * RATE < rate < 1.15 * RATE


@virtual_time
async def test_a_response_comes_at_once_and_the_next_request_waits() -> None:
    async with clients() as every:
        await every.limit("flood", producer_byte_rate=RATE)
        client = await every.connect("flood")
        began = current_clock().now()

        first = await client.ask(request_of(20 * RATE), 12)
        answered_after = current_clock().now() - began
        second = await client.ask(ApiVersionsRequest(client_software_name="t"))
        waited = current_clock().now() - began

    assert answered_after < 0.01
    # Twice what ten windows may hold: it has to wait for another ten.
    assert 10_000 <= first.throttle_time_ms < 10_050
    assert second.throttle_time_ms == 0
    assert waited * 1000 >= first.throttle_time_ms


@virtual_time
async def test_a_client_without_a_quota_does_not_wait() -> None:
    async with clients() as every:
        await every.limit("flood", producer_byte_rate=RATE)
        flood, victim = await every.connect("flood"), await every.connect("victim")
        await flood.ask(request_of(20 * RATE), 12)
        began = current_clock().now()

        answered = await victim.ask(request_of(20 * RATE), 12)

        assert answered.throttle_time_ms == 0
        assert current_clock().now() - began < 0.01


@virtual_time
async def test_producers_that_want_no_response_wait_too() -> None:
    async with clients() as every:
        await every.limit("flood", producer_byte_rate=RATE)
        client = await every.connect("flood")
        began = current_clock().now()

        client.send(request_of(20 * RATE, acks=0), 12)
        await client.ask(ApiVersionsRequest(client_software_name="t"))

        assert current_clock().now() - began >= 10


@virtual_time
async def test_a_throttled_fetch_is_empty_and_its_records_come_later() -> None:
    async with clients() as every:
        writer = await every.connect("writer")
        for _ in range(4):
            await writer.ask(request_of(5 * RATE), 12)
        await every.limit("reader", consumer_byte_rate=RATE)
        reader = await every.connect("reader")

        sizes, throttles, offset = [], [], 0
        while offset < 4:
            response = await reader.ask(fetch(offset, max=50 * RATE), 12)
            found = [p for topic in response.responses for p in topic.partitions if p.records]
            sizes.append(sum(len(p.records) for p in found))
            throttles.append(response.throttle_time_ms)
            offset += round(sizes[-1] / (5 * RATE))

    assert [size for size, wait in zip(sizes, throttles, strict=True) if wait and size] == []
    assert sum(throttles) >= 1000
    assert offset == 4


@virtual_time
async def test_a_response_is_never_larger_than_a_quota_allows() -> None:
    async with clients() as every:
        writer = await every.connect("writer")
        for _ in range(4):
            await writer.ask(request_of(5 * RATE), 12)
        await every.limit("reader", consumer_byte_rate=RATE)
        reader = await every.connect("reader")

        empty = await reader.ask(fetch(0, max=50 * RATE), 12)
        response = await reader.ask(fetch(0, max=50 * RATE), 12)

        # What surrounds the records makes the first response a little too large, as in Kafka.
        assert (empty.responses, empty.throttle_time_ms < 50) == ([], True)
        (partition,) = response.responses[0].partitions
        assert 5 * RATE < len(partition.records) <= 10 * RATE


@virtual_time
async def test_a_quota_that_is_lifted_throttles_no_more() -> None:
    async with clients() as every:
        await every.limit(None, producer_byte_rate=RATE)
        client = await every.connect("flood")
        first = await client.ask(request_of(20 * RATE), 12)

        await every.limit(None, producer_byte_rate=None)
        second = await client.ask(request_of(20 * RATE), 12)

        assert (first.throttle_time_ms > 0, second.throttle_time_ms) == (True, 0)


@virtual_time
async def test_a_throttled_connection_is_neither_idle_nor_slow() -> None:
    async with clients(connections_max_idle_ms=5_000) as every:
        await every.limit("flood", producer_byte_rate=RATE)
        client = await every.connect("flood")

        first = await client.ask(request_of(100 * RATE), 12)
        client.send(request_of(20 * RATE), 12)
        await client.ask(ApiVersionsRequest(client_software_name="t"))

        assert first.throttle_time_ms > 60_000


@virtual_time
async def test_a_throttled_client_that_sends_on_has_one_request_read() -> None:
    async with clients() as every:
        await every.limit("flood", producer_byte_rate=RATE)
        (broker,) = every.cluster._brokers.values()
        client = await every.connect("flood")
        await client.ask(request_of(100 * RATE), 12)

        for _ in range(3):
            client.send(request_of(1 << 20), 12)
            await asyncio.sleep(1)

        assert broker._listener is not None
        assert 1 << 20 < broker._listener._budget.used < 2 << 20


@virtual_time
async def test_a_strict_quota_of_changes_refuses_topics_while_there_are_debts() -> None:
    async with clients() as every:
        await every.limit("maker", controller_mutation_rate=1.0)
        client = await every.connect("maker")

        # Eleven windows of one partition a second may be used at once.
        first = await client.ask(create_topic("one", partitions=15), 6)
        second = await client.ask(create_topic("two"), 6)
        began = current_clock().now()
        third = await client.ask(create_topic("two"), 6)

    assert (first.topics[0].error_code, first.throttle_time_ms) == (0, 0)
    assert second.topics[0].error_code == ErrorCode.THROTTLING_QUOTA_EXCEEDED
    assert 3_900 < second.throttle_time_ms <= 4_000
    assert current_clock().now() - began > 3.9
    assert third.topics[0].error_code == 0


@virtual_time
async def test_older_versions_are_only_told_to_wait() -> None:
    async with clients() as every:
        await every.limit("maker", controller_mutation_rate=1.0)
        client = await every.connect("maker")

        first = await client.ask(create_topic("one", partitions=15), 5)
        second = await client.ask(create_topic("two"), 5)

    assert [first.topics[0].error_code, second.topics[0].error_code] == [0, 0]
    assert 3_900 < first.throttle_time_ms <= 4_000
    assert 900 < second.throttle_time_ms <= 1_000


@virtual_time
async def test_deletions_and_new_partitions_are_charged() -> None:
    async with clients() as every:
        maker = await every.connect("maker")
        await maker.ask(create_topic("one", partitions=9))
        await every.limit("maker", controller_mutation_rate=1.0)
        more = CreatePartitionsTopic(name="one", count=15, assignments=None)

        await maker.ask(CreatePartitionsRequest(topics=[more]))
        deleted = await maker.ask(DeleteTopicsRequest(topics=[DeleteTopicState(name="one")]))
        refused = await maker.ask(DeleteTopicsRequest(topics=[DeleteTopicState(name=TOPIC)]))

    assert deleted.responses[0].error_code == 0
    (result,) = refused.responses
    assert result.error_code == ErrorCode.THROTTLING_QUOTA_EXCEEDED
    assert result.error_message is None
    assert result.name == TOPIC


@virtual_time
async def test_an_address_opens_connections_at_its_rate() -> None:
    async with clients() as every:
        admin = await every.connect("admin")
        await admin.ask(limit({"ip": None}, connection_creation_rate=2))
        began = current_clock().now()

        for _ in range(30):
            client = await every.connect("many")
            client.send(ApiVersionsRequest(client_software_name="t"))
            await client.answered_or_lost()

        # One that comes too early is closed after a second at most, and twenty come at once.
        assert current_clock().now() - began >= 4


@virtual_time
async def test_the_least_recently_used_client_makes_room_for_brokers() -> None:
    config = {
        "listeners": "CLIENTS://broker:9092,BROKERS://broker:9093",
        "listener.security.protocol.map": "CLIENTS:PLAINTEXT,BROKERS:PLAINTEXT",
        "inter.broker.listener.name": "BROKERS",
        "max.connections": 2,
    }
    network = MemoryNetwork()
    async with AsyncCluster(clock=current_clock(), network=network, config=config) as cluster:
        (broker,) = cluster._brokers.values()
        host, port = "broker", 9092
        first, second, of_broker = FrameClient("first"), FrameClient("second"), FrameClient("b")
        await network.connect(lambda: first.transport, Address(host, port))
        await network.connect(lambda: second.transport, Address(host, port))
        await asyncio.sleep(1)
        await first.ask(ApiVersionsRequest(client_software_name="t"))

        await network.connect(lambda: of_broker.transport, Address(host, 9093))

        assert broker._listener is not None
        await second.lost()
        assert broker._listener.connection_count == 2


@virtual_time
async def test_a_client_that_is_late_does_not_take_the_place_of_a_broker() -> None:
    config = {
        "listeners": "CLIENTS://broker:9092,BROKERS://broker:9093",
        "listener.security.protocol.map": "CLIENTS:SSL,BROKERS:PLAINTEXT",
        "inter.broker.listener.name": "BROKERS",
        "max.connections": 1,
    }
    world = World(latency=1)
    async with AsyncCluster(tls=True, config=config, **world.host("broker").environment):
        client, of_broker = FrameClient("client"), FrameClient("broker")
        network = world.host("elsewhere").network
        # It counts from here on, and is connected when its handshake is over.
        tls = ClientTls(ssl._create_unverified_context(), "broker", lambda: None)
        late = network.connect(lambda: client.transport, Address("broker", 9092), tls)
        connecting = asyncio.ensure_future(late)
        await asyncio.sleep(1)
        await network.connect(lambda: of_broker.transport, Address("broker", 9093))
        await connecting

        async with asyncio.timeout(60):
            await client.lost()
            assert await of_broker.ask(ApiVersionsRequest(client_software_name="t"), 3)


@virtual_time
async def test_a_producer_tells_that_its_quota_is_used_up() -> None:
    network = MemoryNetwork()
    async with AsyncCluster(clock=current_clock(), network=network) as cluster:
        await cluster.create_topic(TOPIC)
        options = client_options(network)
        async with AsyncAdmin(cluster.bootstrap, **options) as admin:
            entity = ClientQuotaEntity({"client-id": "flood"})
            limits = {"producer_byte_rate": RATE}
            await admin.alter_client_quotas(ClientQuotaAlteration(entity, limits))
        async with AsyncProducer(cluster.bootstrap, client_id="flood", **options) as producer:
            await producer.send_and_wait(TOPIC, bytes(9 * RATE))
            before = producer.stats().throttled_nodes
            await producer.send_and_wait(TOPIC, bytes(9 * RATE))

            assert (before, producer.stats().throttled_nodes) == (0, 1)


@virtual_time
async def test_users_have_quotas_by_the_name_that_they_log_in_with() -> None:
    network = MemoryNetwork()
    users = {"alice": "secret", "bob": "secret"}
    async with AsyncCluster(clock=current_clock(), network=network, sasl=users) as cluster:
        await cluster.create_topic(TOPIC)
        seams = client_options(network)
        async with AsyncAdmin(**cluster.client_options("bob"), **seams) as admin:
            alice = ClientQuotaEntity({"user": "alice"})
            limits = {"producer_byte_rate": RATE}
            await admin.alter_client_quotas(ClientQuotaAlteration(alice, limits))
        throttled = {}
        for user in users:
            options = cluster.client_options(user)
            async with AsyncProducer(**options, client_id="app", **seams) as producer:
                await producer.send_and_wait(TOPIC, bytes(20 * RATE))
                throttled[user] = producer.stats().throttled_nodes

    assert throttled == {"alice": 1, "bob": 0}


@virtual_time
async def test_nobody_uses_the_quota_of_others_before_a_login() -> None:
    network = MemoryNetwork()
    async with AsyncCluster(
        clock=current_clock(), network=network, sasl={"alice": "secret"}
    ) as cluster:
        (broker,) = cluster._brokers.values()
        options = cluster.client_options("alice") | client_options(network)
        async with AsyncAdmin(**options) as admin:
            app = ClientQuotaEntity({"client-id": "app"})
            await admin.alter_client_quotas(ClientQuotaAlteration(app, {"request_percentage": 1}))
        stranger, hello = FrameClient("app"), ApiVersionsRequest(client_software_name="t")
        host, port = cluster.bootstrap.rsplit(":", 1)
        await network.connect(lambda: stranger.transport, Address(host, int(port)))

        await stranger.ask(hello, 3)
        await stranger.ask(SaslHandshakeRequest(mechanism="PLAIN"))
        await stranger.ask(SaslAuthenticateRequest(auth_bytes=b"\0alice\0secret"))
        before = list(broker.services.quotas._rates)
        await stranger.ask(hello, 3)

        assert before == []
        assert list(broker.services.quotas._rates) == [("request_percentage", ("", "app"))]


@virtual_time
async def test_requests_between_brokers_are_charged_to_clients_that_may_not_send_them() -> None:
    config = {
        "authorizer.class.name": STANDARD_AUTHORIZER,
        "super.users": "User:broker;User:alice",
    }
    network, users = MemoryNetwork(), {"alice": "secret", "bob": "secret"}
    async with AsyncCluster(
        clock=current_clock(), network=network, sasl=users, config=config
    ) as cluster:
        seams = client_options(network)
        async with AsyncAdmin(**cluster.client_options("alice"), **seams) as admin:
            every = ClientQuotaEntity({"user": None})
            await admin.alter_client_quotas(ClientQuotaAlteration(every, {"request_percentage": 1}))
        (broker,) = cluster._brokers.values()
        charged = broker.services.quotas._rates
        charged.clear()
        for user in users:
            client = await Clients(cluster, network).connect(user)
            await client.ask(SaslHandshakeRequest(mechanism="PLAIN"))
            await client.ask(SaslAuthenticateRequest(auth_bytes=f"\0{user}\0secret".encode()))
            await client.ask(WriteTxnMarkersRequest())

        assert list(charged) == [("request_percentage", ("bob", ""))]
