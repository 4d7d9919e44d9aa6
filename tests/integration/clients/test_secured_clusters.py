"""Clients of pyk on a cluster that encrypts and asks who they are: one line each."""

from __future__ import annotations

from typing import Any

import pytest

from pyk.clients import AsyncConsumer, AsyncProducer
from pyk.reference_broker import AsyncCluster

USERS = {"alice": "secret"}


@pytest.mark.parametrize(
    "security",
    [
        {"sasl": USERS},
        {"tls": True},
        {"tls": True, "sasl": USERS},
        {"tls": True, "config": {"ssl.client.auth": "required"}},
    ],
    ids=["login", "TLS", "TLS and login", "TLS of both sides"],
)
async def test_records_of_a_transaction_are_produced_and_consumed(security: dict[str, Any]) -> None:
    async with AsyncCluster(**security) as cluster:
        options = cluster.client_options()
        await cluster.create_topic("orders")
        async with (
            AsyncProducer(transactional_id="shop", **options) as producer,
            producer.transaction(),
        ):
            await producer.send("orders", b"one")
        async with AsyncConsumer(
            topics=["orders"],
            auto_offset_reset="earliest",
            isolation_level="read_committed",
            group_id="g",
            **options,
        ) as consumer:
            async for record in consumer:
                value = record.value
                break

    assert value == b"one"
