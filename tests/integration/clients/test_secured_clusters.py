"""Clients of pyk on a cluster that encrypts and asks who they are: one line each."""

from __future__ import annotations

from typing import Any

import pytest
import trustme

from pyk.clients import AsyncAdmin, AsyncConsumer, AsyncProducer, SslAuthenticationError
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


@pytest.mark.parametrize("version", ["TLSv1.2", "TLSv1.3"])
@pytest.mark.parametrize("has_certificate", [False, True], ids=["none", "of a stranger"])
async def test_a_certificate_that_the_broker_does_not_take_is_an_error_that_says_so(
    version: str, has_certificate: bool
) -> None:
    async with AsyncCluster(tls=True, config={"ssl.client.auth": "required"}) as cluster:
        trust = cluster.client_options()["ssl_truststore_certificates"]
        shown = certificate_of_a_stranger() if has_certificate else {}
        admin = AsyncAdmin(
            cluster.bootstrap,
            ssl_truststore_certificates=trust,
            security_protocol="SSL",
            ssl_enabled_protocols=version,
            **shown,
        )

        with pytest.raises(SslAuthenticationError, match="certificate") as caught:
            await admin.start()
        await admin.close()

    assert "ssl_certfile" in str(caught.value)
    assert not caught.value.retriable


def certificate_of_a_stranger() -> dict[str, Any]:
    leaf = trustme.CA().issue_cert("stranger")
    return {
        "ssl_keystore_certificate_chain": leaf.cert_chain_pems[0].bytes().decode(),
        "ssl_keystore_key": leaf.private_key_pem.bytes().decode(),
    }
