"""The alert that ends a handshake of TLS: the other side gets it."""

from __future__ import annotations

import asyncio
import gc
import socket
import ssl
import weakref
from pathlib import Path

import pytest

from pyk.runtime.network import Address, ClientTls, FrameTransport, SystemNetwork
from pyk.runtime.network.tls_alerts import AlertingContext
from support.certificates import Authority
from support.real_time import IN_TIME


class Receiver:
    def frame_received(self, frame: memoryview) -> None: ...

    def connection_lost(self, error: Exception | None) -> None: ...


def new_protocol(_: str = "") -> FrameTransport:
    return FrameTransport(Receiver(), max_frame_bytes=100)


async def test_a_server_learns_why_a_client_refuses_its_certificate(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    context = authority.server(authority.issue("localhost"))
    trusts_others = ClientTls(ssl.create_default_context(), "localhost", lambda: None)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = asyncio.create_task(asyncio.to_thread(shake_hands, listening, context))
        address = Address("127.0.0.1", listening.getsockname()[1])

        with pytest.raises(ssl.SSLCertVerificationError):
            await SystemNetwork().connect(new_protocol, address, trusts_others)
        with pytest.raises(ssl.SSLError, match="ALERT_UNKNOWN_CA"):
            await server


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
async def test_a_client_learns_that_it_must_show_a_certificate(
    tmp_path: Path, version: ssl.TLSVersion
) -> None:
    authority = Authority(tmp_path)
    demanding = authority.demanding_server(authority.issue("localhost"))
    context = ssl.create_default_context(cafile=str(authority.file))
    context.maximum_version = version
    listener = await SystemNetwork().listen(new_protocol, "127.0.0.1", 0, lambda: demanding)

    with pytest.raises(ssl.SSLError, match="ALERT"):
        await asyncio.to_thread(connect_and_read, listener.port, context)
    await listener.close()


def test_the_memory_of_tls_is_free_without_the_garbage_collector() -> None:
    context = AlertingContext(ssl.create_default_context(), lambda _: None)
    gc.disable()
    try:
        made = context.wrap_bio(ssl.MemoryBIO(), ssl.MemoryBIO(), server_hostname="localhost")
        with pytest.raises(ssl.SSLWantReadError):
            made.do_handshake()
        left = weakref.ref(made)
        del made

        assert left() is None
    finally:
        gc.enable()


def shake_hands(listening: socket.socket, context: ssl.SSLContext) -> None:
    connection, _ = listening.accept()
    connection.settimeout(IN_TIME)
    with connection, context.wrap_socket(connection, server_side=True):
        pass


def connect_and_read(port: int, context: ssl.SSLContext) -> None:
    with (
        socket.create_connection(("127.0.0.1", port), IN_TIME) as connection,
        context.wrap_socket(connection, server_hostname="localhost") as encrypted,
    ):
        encrypted.read(1)
