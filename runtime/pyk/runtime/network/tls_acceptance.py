"""Accept connections over TLS, in less memory than asyncio's own way takes."""

from __future__ import annotations

import asyncio
import socket
import ssl
from asyncio.sslproto import SSLProtocol
from typing import Any, cast

from pyk.runtime.network.tls_alerts import AlertingContext


class AcceptedTls(SSLProtocol):
    """asyncio's TLS with a smaller buffer.

    It is allocated, and filled, with the connection: thousands of clients that stop in the
    handshake would hold 256 KiB each. Beyond 64 KiB, CPU per byte does not get less.
    """

    max_size = 64 * 1024


async def accept_tls(
    protocol: asyncio.BufferedProtocol,
    accepted: socket.socket,
    context: ssl.SSLContext,
    *,
    handshake_seconds: float,
    shutdown_seconds: float,
) -> None:
    """Make the handshake, and connect ``protocol``; raise ``OSError`` if that fails."""
    loop = asyncio.get_running_loop()
    shaken: asyncio.Future[None] = loop.create_future()
    tls = AcceptedTls(
        loop,
        protocol,
        cast(Any, AlertingContext(context, accepted.send)),
        shaken,
        server_side=True,
        ssl_handshake_timeout=cast(Any, handshake_seconds),  # not only an int, as its stub has it
        ssl_shutdown_timeout=shutdown_seconds,
    )
    transport, _ = await loop.connect_accepted_socket(lambda: tls, accepted)
    try:
        await shaken
    except BaseException:
        transport.abort()
        raise
