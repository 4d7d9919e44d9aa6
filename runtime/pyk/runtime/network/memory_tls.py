"""TLS between the two ends of a connection in memory: asyncio's own, over other transports.

Handshakes take no virtual time but that of their round trips. What is encrypted is random, and
sizes differ by some bytes from run to run: a simulation under TLS does not repeat byte for byte.
"""

from __future__ import annotations

import asyncio
from asyncio.sslproto import SSLProtocol
from typing import TYPE_CHECKING, Any

from pyk.runtime.network.system import (
    TLS_HANDSHAKE_SECONDS,
    TLS_SHUTDOWN_SECONDS,
    ClientTls,
)

if TYPE_CHECKING:
    import ssl


def client_end(
    protocol: asyncio.BufferedProtocol, tls: ClientTls, shaken: asyncio.Future[None]
) -> asyncio.BufferedProtocol:
    """Return what a connection is made with in place of ``protocol``.

    ``shaken`` is done with the handshake, or gets its error.
    """
    return _end(protocol, tls.context, shaken, server_side=False, server_hostname=tls.server_name)


def server_end(
    protocol: asyncio.BufferedProtocol, context: ssl.SSLContext
) -> asyncio.BufferedProtocol:
    """Return what a connection is accepted with; ``protocol`` is connected after the handshake."""
    return _end(protocol, context, None, server_side=True)


def _end(
    protocol: asyncio.BufferedProtocol,
    context: ssl.SSLContext,
    shaken: Any,
    **side: Any,
) -> asyncio.BufferedProtocol:
    side |= {
        "ssl_handshake_timeout": TLS_HANDSHAKE_SECONDS,
        "ssl_shutdown_timeout": TLS_SHUTDOWN_SECONDS,
    }
    end: asyncio.BufferedProtocol = _End(
        asyncio.get_running_loop(),
        protocol,
        context,
        shaken,
        **side,
    )
    return end


class _End(SSLProtocol):
    """One end of a connection: where a peer ends the handshake, that is an error."""

    def connection_lost(self, error: BaseException | None) -> None:
        waiter = self._waiter
        if error is None and waiter is not None and not waiter.done():
            # A socket's transport would have said so before, by eof_received.
            error = ConnectionResetError("the peer has ended the handshake")
        super().connection_lost(error)
