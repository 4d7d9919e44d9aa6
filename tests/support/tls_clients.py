"""Clients that connect to TLS listeners on loopback."""

from __future__ import annotations

import ssl
import time
from typing import Any

import pytest

from pyk.clients.config import ClientConfig
from pyk.clients.engine.client import Client
from pyk.clients.errors import (
    KafkaError,
)
from pyk.protocol.messages.metadata import MetadataRequest
from pyk.runtime.network import Address, SystemNetwork
from support.certificates import (
    listening,
)


class Loopback(SystemNetwork):
    """The network of a machine on which all names are its own."""

    async def resolve(self, host: str, port: int) -> list[Address]:
        return [Address("127.0.0.1", port)]

    async def canonical_name(self, address: Address) -> str:
        return "broker1.example"


def new_client(port: int, host: str = "localhost", **options: Any) -> Client:
    options.setdefault("security_protocol", "SSL")
    config = ClientConfig.from_kwargs(f"{host}:{port}", **options)
    return Client(config, network=Loopback())


async def connects(port: int, host: str = "localhost", **options: Any) -> bool:
    client = new_client(port, host, **options)
    try:
        await client.start(10)
        return True
    finally:
        await client.close()


async def failure(context: ssl.SSLContext, host: str = "localhost", **options: Any) -> Any:
    """Return the error of connecting to a listener; none may take long or reach the broker."""
    async with listening(context) as (cluster, port):
        began_at = time.monotonic()
        with pytest.raises(KafkaError) as caught:
            await connects(port, host, **options)

        assert time.monotonic() - began_at < 5
        assert not cluster.requests(MetadataRequest)
    return caught.value
