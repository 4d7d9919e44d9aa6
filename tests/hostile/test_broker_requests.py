"""Malformed requests: a broker answers with a typed error or closes the connection.

Every supported version of every API gets a request with a value in each field. Each byte in turn is
replaced by values that make counts and lengths invalid, and the request is truncated at each byte.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Iterator
from typing import Any, cast

import pytest

from pyk.protocol.api_keys import ApiKey
from pyk.protocol.connection import ClientConnection, RequestError, ServerConnection
from pyk.protocol.errors import ProtocolError
from pyk.protocol.fields import ArrayKind, Field, StructKind
from pyk.protocol.registry import request_class
from pyk.protocol.schema import Struct
from pyk.reference_broker import AsyncCluster
from pyk.reference_broker.deferred import Deferred
from pyk.reference_broker.errors import ConnectionClosedError
from pyk.reference_broker.handlers.dispatcher import Dispatcher
from pyk.reference_broker.handlers.table import SERVED
from pyk.reference_broker.network.connection import Connection
from pyk.reference_broker.security.principal import ANONYMOUS
from support.raw_client import batch

BOMBS = [
    b"\xff\xff\xff\xff",
    b"\x7f\xff\xff\xff",
    b"\x80\x00\x00\x00",
    b"\xff\xff\xff\xff\x0f",
    b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
    b"\x02\xfa\xf0\x80",
    b"\x00",
]
VALUES = {"string": "orders", "bytes": b"\x00\x00", "records": batch(b"one"), "bool": True}
LEFT_ALONE = {"session_epoch", "session_id", "max_wait_ms"}
HEADER_BYTES = 12


def filled(struct: type[Struct], version: int) -> Any:
    """Return a struct with a value in every field of a version and one element in every array."""
    made = struct()
    for field in struct.fields:
        if version in field.versions and field.name not in LEFT_ALONE:
            setattr(made, field.name, _value(field, version))
    return made


def _value(field: Field, version: int) -> Any:
    kind = field.kind
    if field.name == "acks":
        return 1
    if isinstance(kind, StructKind):
        return filled(kind.struct, version)
    if not isinstance(kind, ArrayKind):
        return VALUES.get(kind.name, field.default)
    inner = kind.of
    if isinstance(inner, StructKind):
        return [filled(inner.struct, version)]
    return [VALUES.get(inner.name, 0)]


def whole_frame(api_key: ApiKey, version: int) -> bytes:
    request = filled(request_class(api_key), version)
    _, parts = ClientConnection("hostile").send(request, version)
    return b"".join(bytes(part) for part in parts)[4:]


def damaged(frame: bytes, chance: random.Random) -> Iterator[bytes]:
    for position in range(HEADER_BYTES, len(frame)):
        yield frame[:position]
        bomb = chance.choice(BOMBS)
        yield frame[:position] + bomb + frame[position + len(bomb) :]
        flipped = bytearray(frame)
        for _ in range(chance.randrange(1, 4)):
            flipped[chance.randrange(position, len(frame))] = chance.randrange(256)
        yield bytes(flipped)


class Victim:
    """A broker without its sockets."""

    host = client_host = local_host = "127.0.0.1"
    listener = "PLAINTEXT"
    principal = ANONYMOUS
    sasl = None
    connection_id = 1
    software = ("unknown", "unknown")
    port = "1"

    def __init__(self, cluster: AsyncCluster) -> None:
        (self._broker,) = cluster._brokers.values()
        self._dispatcher = Dispatcher(self._broker.services)
        self.handled = 0

    def when_lost(self, _: object) -> None:
        """Forget the listener: this connection lasts."""

    def take(self, frame: bytes) -> None:
        """Handle a frame as a connection does; suppress only the errors that close a connection."""
        protocol = ServerConnection(SERVED)
        try:
            request = protocol.receive(memoryview(frame))
        except RequestError as error:
            if error.request is not None:
                response = self._dispatcher.refuse(error)
                if response is not None:
                    protocol.respond(error.request, response)
            return
        except ProtocolError:
            return
        self.handled += 1
        try:
            reply = self._dispatcher.handle(request, cast(Connection, self))
        except ConnectionClosedError:
            return
        if isinstance(reply, Deferred):
            reply.when_done(lambda response: protocol.respond(request, response))
            reply.abandon()
        else:
            protocol.respond(request, reply)


@pytest.mark.parametrize("api_key", SERVED, ids=lambda key: key.api_name)
async def test_no_damage_to_a_request_raises_an_unexpected_error(
    api_key: ApiKey, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR)
    chance = random.Random(api_key)
    async with AsyncCluster(config={"offsets.topic.num.partitions": 1}) as cluster:
        await cluster.create_topic("orders")
        victim = Victim(cluster)
        for version in range(SERVED[api_key].lowest, SERVED[api_key].highest + 1):
            frame = whole_frame(api_key, version)
            before = victim.handled
            victim.take(frame)
            assert victim.handled == before + 1, "the whole request was not understood"
            for bad in damaged(frame, chance):
                victim.take(bad)

    assert [record.getMessage() for record in caplog.records] == []
