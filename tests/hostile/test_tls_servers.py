"""Servers that spoil the handshake of TLS, or what follows it: a client says so at once."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeAlias

import pytest

from pyk.clients import AsyncAdmin, KafkaError
from support.certificates import Authority

Talk: TypeAlias = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
HANDSHAKE, ALERT, DATA = 22, 21, 23
SECONDS = 8  # on a busy machine; the client's own limit for a call is longer


@asynccontextmanager
async def serving(talk: Talk, tls: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    """Let a server treat each connection like this; yield its port."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await talk(reader, writer)
        except OSError:
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls)
    async with server:
        yield server.sockets[0].getsockname()[1]


async def failure(port: int, **options: object) -> KafkaError:
    """Return the error of a client that starts, which must come soon."""
    admin = AsyncAdmin(f"localhost:{port}", security_protocol="SSL", **options)  # type: ignore[arg-type]
    with pytest.raises(KafkaError) as caught:
        async with asyncio.timeout(SECONDS):
            await admin.start(60)
    await admin.close()
    return caught.value


def record(kind: int, body: bytes) -> bytes:
    return bytes([kind, 3, 3]) + len(body).to_bytes(2, "big") + body


async def test_a_server_that_never_answers_is_given_up() -> None:
    received = bytearray()

    async def silent(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        while data := await reader.read(1000):
            received.extend(data)

    async with serving(silent) as port:
        error = await failure(port, socket_connection_setup_timeout_ms=200)

    assert "it does not answer the TLS handshake" in str(error)
    assert received[0] == HANDSHAKE


@pytest.mark.parametrize(
    "answer",
    [
        record(HANDSHAKE, b"\x02\xff\xff\xff" + bytes(10_000)) * 100,
        record(HANDSHAKE, b"\x02\0\0\x02\x03\x03"),
        record(HANDSHAKE, b"\x0b\0\0\0"),
        record(DATA, b"early"),
        record(ALERT, b"\x02\x28"),
        record(ALERT, b"\x01\x00"),
        record(22, b"") * 1000,
        b"\x16\x03\x03\xff\xff" + bytes(100_000),
        b"\0\0\0\x08" + bytes(8),
        bytes(range(256)) * 100,
    ],
    ids=["huge", "short", "certificate", "data", "alert", "end", "empty", "long", "Kafka", "noise"],
)
async def test_an_answer_that_is_no_handshake_is_an_error(answer: bytes) -> None:
    async def spoil(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1000)
        writer.write(answer)
        await writer.drain()

    async with serving(spoil) as port:
        error = await failure(port)

    assert "TLS" in str(error)


@pytest.mark.parametrize(
    "early",
    [b"\0\0\0\x0a" + bytes(10), b"\0\0\0\x04" + bytes(4), b"\x7f\xff\xff\xff", b"HTTP/1.1 "],
)
async def test_bytes_that_come_before_any_request_end_the_connection(
    early: bytes, tmp_path: Path
) -> None:
    authority = Authority(tmp_path)

    async def speak_first(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(early)
        while await reader.read(1000):
            pass

    context = authority.server(authority.issue("localhost"))
    async with serving(speak_first, context) as port:
        error = await failure(port, ssl_cafile=authority.file)

    assert not error.fatal
    assert f"localhost:{port}" in str(error)
