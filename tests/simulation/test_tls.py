"""TLS and logins over a network in memory, in virtual time."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pyk.clients import (
    AsyncConsumer,
    AsyncProducer,
    BootstrapError,
    IllegalSaslStateError,
    Scram,
    SslAuthenticationError,
)
from pyk.reference_broker import AsyncCluster
from pyk.runtime.simulation import World
from pyk.runtime.virtual_time import virtual_time

USERS = {"alice": "secret"}


def options(cluster: AsyncCluster, world: World, host: str) -> dict[str, Any]:
    return cluster.client_options() | world.host(host).client_options


@virtual_time
async def test_records_travel_encrypted() -> None:
    sent: list[bytes] = []
    world = World(seed=1, latency=0.001, observe=lambda *seen: sent.append(seen[2]))
    async with AsyncCluster(tls=True, sasl=USERS, **world.host("broker").environment) as cluster:
        async with AsyncProducer(**options(cluster, world, "shop")) as producer:
            await producer.send_and_wait("orders", b"one espresso")
        async with AsyncConsumer(
            topics=["orders"],
            group_id="g",
            auto_offset_reset="earliest",
            **options(cluster, world, "bar"),
        ) as consumer:
            async for record in consumer:
                value = record.value
                break

    assert value == b"one espresso"
    assert sent
    assert not any(b"espresso" in data for data in sent)


@virtual_time
async def test_an_hour_without_a_network_is_survived() -> None:
    world = World(seed=1, latency=0.001)
    async with (
        AsyncCluster(tls=True, sasl=USERS, **world.host("broker").environment) as cluster,
        AsyncProducer(delivery_timeout_ms=7_200_000, **options(cluster, world, "shop")) as producer,
    ):
        await producer.send_and_wait("orders", b"first")
        world.network.cut("shop", "broker")
        delivery = await producer.send("orders", b"second")
        await asyncio.sleep(3600)
        world.network.heal()

        assert (await delivery).offset == 1


@virtual_time
async def test_a_certificate_of_another_authority_is_refused() -> None:
    world = World(seed=1, latency=0.001)
    async with (
        AsyncCluster(tls=True, **world.host("broker").environment) as cluster,
        AsyncCluster(tls=True, **world.host("other").environment) as other,
    ):
        given = options(cluster, world, "shop")
        trust = other.client_options()["ssl_truststore_certificates"]
        producer = AsyncProducer(**given | {"ssl_truststore_certificates": trust})

        with pytest.raises((BootstrapError, SslAuthenticationError), match="certificate"):
            await producer.start()
        await producer.close()
        await asyncio.sleep(1)  # the broker hears of the last handshake that was given up


@virtual_time
async def test_a_tls_listener_without_logins_is_named_with_the_protocol_that_fits_it() -> None:
    world = World(seed=1, latency=0.001)
    async with AsyncCluster(tls=True, **world.host("broker").environment) as cluster:
        login = {"security_protocol": "SASL_SSL", "auth": Scram("alice", "secret")}
        producer = AsyncProducer(**options(cluster, world, "shop") | login)

        with pytest.raises(IllegalSaslStateError, match="give security_protocol='SSL', or"):
            await producer.start()
        await producer.close()


@pytest.mark.parametrize(
    ("listener", "client", "words"),
    [
        ({}, {"security_protocol": "SSL"}, "a listener without TLS closes connections like this"),
        ({"tls": True}, {}, "a TLS listener closes connections like this"),
    ],
)
@virtual_time
async def test_the_wrong_listener_is_named(
    listener: dict[str, Any], client: dict[str, Any], words: str
) -> None:
    world = World(seed=1, latency=0.001)
    async with AsyncCluster(**listener, **world.host("broker").environment) as cluster:
        producer = AsyncProducer(cluster.bootstrap, **client, **world.host("shop").client_options)

        with pytest.raises(BootstrapError, match=words):
            await producer.start(10)
        await producer.close()
        await asyncio.sleep(1)
