"""Clients go on when the password of their user has been changed and changed back."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pyk.clients import (
    AsyncAdmin,
    AsyncConsumer,
    AsyncProducer,
    SaslAuthenticationFailedError,
    Scram,
    ScramCredentialInfo,
    UserScramCredentialUpsertion,
)
from pyk.reference_broker import AsyncCluster
from pyk.runtime.simulation import World
from pyk.runtime.virtual_time import virtual_time

MECHANISM = "SCRAM-SHA-256"


async def change_password(admin: AsyncAdmin, password: str) -> None:
    info = ScramCredentialInfo(MECHANISM, 4096)
    await admin.alter_user_scram_credentials([UserScramCredentialUpsertion("app", info, password)])


async def wait_until_refused(consumer: AsyncConsumer) -> None:
    async def poll_on() -> None:
        while True:
            await consumer.poll(5)

    with pytest.raises(SaslAuthenticationFailedError):
        await poll_on()


async def next_value(consumer: AsyncConsumer) -> bytes | None:
    while True:
        try:
            for record in await consumer.poll(5):
                return record.value
        except SaslAuthenticationFailedError:
            await asyncio.sleep(0.1)


@pytest.mark.parametrize("outage", [5, 60], ids=["in-its-session", "after-its-session"])
def test_a_member_of_a_group_reads_again_soon_after_it_may_log_in_again(outage: int) -> None:
    virtual_time(a_member_reads_again)(outage)


async def a_member_reads_again(outage: int) -> None:
    world = World(seed=1, latency=0.001)
    cluster = AsyncCluster(
        sasl={"root": "secret"},
        config={"connections.max.reauth.ms": "2000"},
        **world.host("broker").environment,
    )

    def client(host: str, user: str) -> dict[str, Any]:
        options = world.host(host).client_options
        return {
            "bootstrap_servers": cluster.bootstrap,
            "auth": Scram(user, "secret", MECHANISM),
            "security_protocol": "SASL_PLAINTEXT",
            **options,
        }

    async with cluster, AsyncAdmin(**client("office", "root")) as admin:
        await change_password(admin, "secret")
        async with (
            AsyncProducer(**client("office", "root")) as producer,
            AsyncConsumer(
                topics=["orders"],
                group_id="readers",
                auto_offset_reset="earliest",
                **client("desk", "app"),
            ) as consumer,
        ):
            await producer.send_and_wait("orders", b"before")
            assert await next_value(consumer) == b"before"
            await consumer.commit()
            await change_password(admin, "other")
            await wait_until_refused(consumer)
            await asyncio.sleep(outage)

            await change_password(admin, "secret")
            await producer.send_and_wait("orders", b"after")

            async with asyncio.timeout(10):
                assert await next_value(consumer) == b"after"
