"""Sessions by delegation tokens, over hours of virtual time."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pyk.clients import AsyncAdmin, AsyncProducer, Plain, SaslAuthenticationFailedError
from pyk.reference_broker import AsyncCluster
from pyk.runtime.simulation import World
from pyk.runtime.virtual_time import virtual_time

HOUR_MS = 3_600_000
CONFIG = {
    "delegation.token.secret.key": "secret-key",
    "delegation.token.expiry.time.ms": HOUR_MS,
    "delegation.token.max.lifetime.ms": 3 * HOUR_MS,
}


@virtual_time
async def test_a_session_goes_on_while_its_token_is_renewed_and_ends_with_it() -> None:
    world = World(seed=1, latency=0.001)
    over_sasl: dict[str, Any] = {"security_protocol": "SASL_PLAINTEXT"}
    cluster = AsyncCluster(
        sasl={"alice": "secret"}, config=CONFIG, **world.host("broker").environment
    )
    async with cluster:
        alice = {"auth": Plain("alice", "secret"), **over_sasl}
        async with AsyncAdmin(
            cluster.bootstrap, **alice, **world.host("office").client_options
        ) as admin:
            token = await admin.create_delegation_token()
            worker = AsyncProducer(
                cluster.bootstrap,
                auth=token.credentials(),
                **over_sasl,
                **world.host("worker").client_options,
            )
            async with worker:
                offsets = []
                for _ in range(6):  # half an hour each; the token ends after three hours
                    written = await worker.send_and_wait("orders", b"one")
                    offsets.append(written.offset)
                    await asyncio.sleep(HOUR_MS / 2000 - 60)
                    expiry_ms = await admin.renew_delegation_token(token)
                assert expiry_ms == token.max_timestamp_ms

                await asyncio.sleep(600)
                with pytest.raises(SaslAuthenticationFailedError):
                    await worker.send_and_wait("orders", b"too late")
            await asyncio.sleep(HOUR_MS / 1000)
            left = await admin.describe_delegation_token()

    assert offsets == list(range(6))
    assert left == []
