"""Connections as clients and broker see them. Nothing else in pyk opens a socket."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Protocol

import attrs

ProtocolFactory = Callable[[], asyncio.BufferedProtocol]


@attrs.frozen
class Address:
    """One resolved address: what a name became, and what a socket connects to."""

    host: str
    port: int
    family: int = socket.AF_INET

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class Listener(Protocol):
    """An open port."""

    @property
    def port(self) -> int:
        """Return the port that is really bound, also where 0 was asked for."""

    async def close(self) -> None:
        """Stop accepting. Connections that were accepted live on."""


class Network(Protocol):
    """Name resolution, outgoing connections, open ports."""

    async def resolve(self, host: str, port: int) -> list[Address]:
        """Return a name's addresses in the order to try them; raise ``OSError`` if none."""

    async def connect(self, factory: ProtocolFactory, address: Address) -> asyncio.BufferedProtocol:
        """Connect, and return the connected protocol made by ``factory``; raise ``OSError``."""

    async def listen(self, factory: ProtocolFactory, host: str, port: int) -> Listener:
        """Accept connections on a port (0: a free one), each with a protocol by ``factory``."""


TURNS_TO_ACCEPT = 3
"""Of the event loop: from a socket that was accepted to a protocol that is connected."""


class SystemListener:
    """A port of the operating system."""

    def __init__(self, server: asyncio.Server) -> None:
        self._server = server

    @property
    def port(self) -> int:
        return int(self._server.sockets[0].getsockname()[1])

    async def close(self) -> None:
        # asyncio loses a connection that is just being accepted when its server closes: the socket
        # stays open until it is collected. So first stop accepting, and let those come to be.
        loop = asyncio.get_running_loop()
        for listening in self._server.sockets:
            loop.remove_reader(listening.fileno())
        for _ in range(TURNS_TO_ACCEPT):
            await asyncio.sleep(0)
        # Not wait_closed(): from Python 3.12 on it waits for every accepted connection too.
        self._server.close()


class SystemNetwork:
    """TCP by the operating system, on the running event loop."""

    async def resolve(self, host: str, port: int) -> list[Address]:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
        return list(
            dict.fromkeys(
                Address(str(end[0]), int(end[1]), family) for family, _, _, _, end in found
            )
        )

    async def connect(self, factory: ProtocolFactory, address: Address) -> asyncio.BufferedProtocol:
        loop = asyncio.get_running_loop()
        _, protocol = await loop.create_connection(
            factory, address.host, address.port, family=address.family
        )
        return protocol

    async def listen(self, factory: ProtocolFactory, host: str, port: int) -> SystemListener:
        # A large backlog: a test that opens thousands of connections at once is a user too.
        server = await asyncio.get_running_loop().create_server(factory, host, port, backlog=1024)
        return SystemListener(server)
