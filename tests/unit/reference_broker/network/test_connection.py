"""Connections of a broker: whose turn it is, and what peers that read slowly or not at all cost."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from pyk.protocol.api_keys import ApiKey
from pyk.protocol.connection import ClientConnection, Request, RequestError, ServerConnection
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.fetch import FetchableTopicResponse, FetchResponse, PartitionData
from pyk.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from pyk.protocol.schema import Message
from pyk.protocol.versions import VersionRange
from pyk.reference_broker.deferred import Deferred, HandlerResult
from pyk.reference_broker.network.connection import Connection
from pyk.reference_broker.network.limits import ListenerLimits
from pyk.reference_broker.network.listener import BrokerListener
from pyk.reference_broker.storage.file_records import FileRecords
from pyk.runtime.filesystem.memory import MemoryFileSystem
from pyk.runtime.network import MemoryNetwork
from pyk.runtime.virtual_time import current_clock, eventually, virtual_time
from support.broker_requests import fetch

PORT = 9092
MB = 1_000_000
SERVED = {ApiKey.FETCH: VersionRange.parse("4-12"), ApiKey.HEARTBEAT: VersionRange.parse("0-4")}


class Answers:
    """Answers fetches with ``records``, and remembers who was answered."""

    def __init__(self, records: Any = b"") -> None:
        self.records = records
        self.seconds = 0.0
        self.handled: list[int] = []
        self.late: list[Deferred[Any]] = []
        """What the next requests are answered by, instead of at once."""
        self.events: list[str] = []

    def handle(self, request: Request, connection: Connection) -> HandlerResult:
        self.handled.append(connection.connection_id)
        self.events.append("handle")
        current_clock().advance(self.seconds)
        if self.late:
            return self.late.pop(0)
        if request.api_key is ApiKey.HEARTBEAT:
            return HeartbeatResponse()
        partition = PartitionData(records=self.records)
        return FetchResponse(responses=[FetchableTopicResponse(topic="t", partitions=[partition])])

    def failed(self, request: Request, error: Exception) -> Message | None:
        self.events.append(f"{request.api_key.api_name} failed: {error}")
        return HeartbeatResponse(error_code=ErrorCode.UNKNOWN_SERVER_ERROR)

    def requests_begin(self) -> None:
        self.events.append("begin")

    def requests_end(self) -> None:
        self.events.append("end")

    def refuse(self, error: RequestError) -> Message | None:
        return None

    def outgoing(self, request: Request, connection: Connection, parts: list[Any]) -> list[Any]:
        self.events.append("respond")
        return parts


class Peer(asyncio.BufferedProtocol):
    """A client that reads so many bytes a second, none if that is 0."""

    def __init__(self, bytes_per_second: float) -> None:
        self._buffer = bytearray(64 * 1024)
        self._bytes_per_second = bytes_per_second
        self._connection = ClientConnection("peer")
        self.received = 0
        self.is_cut_off = False

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        if not self._bytes_per_second:
            transport.pause_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_cut_off = True

    def get_buffer(self, sizehint: int) -> bytearray:
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        self.received += nbytes
        self._transport.pause_reading()
        pause = nbytes / self._bytes_per_second
        asyncio.get_running_loop().call_later(pause, self._transport.resume_reading)

    def send(self, *requests: Message) -> None:
        frames = [
            self._connection.send(request, min(12, request.versions.highest))[1]
            for request in requests
        ]
        self._transport.write(b"".join(bytes(part) for parts in frames for part in parts))


@asynccontextmanager
async def listening(handler: Answers, **limits: int) -> AsyncIterator[tuple[BrokerListener, Any]]:
    """Run a listener; gives it and what connects a peer with a speed."""
    network = MemoryNetwork()
    listener = BrokerListener(
        current_clock(), handler, lambda: ServerConnection(SERVED), ListenerLimits(**limits)
    )
    await listener.open(network, "broker", PORT)
    (address,) = await network.resolve("broker", PORT)

    async def connect(bytes_per_second: float) -> Any:
        return await network.connect(lambda: Peer(bytes_per_second), address)

    yield listener, connect
    await listener.close()


@virtual_time
async def test_a_client_with_many_requests_at_once_does_not_delay_others() -> None:
    handler = Answers()
    handler.seconds = 0.1
    async with listening(handler) as (_, connect):
        many, one = await connect(MB), await connect(MB)
        many.send(*[HeartbeatRequest(group_id="g")] * 100)
        one.send(HeartbeatRequest(group_id="g"))
        await eventually(lambda: len(handler.handled) == 101)

    assert handler.handled.index(2) <= 2


@virtual_time
async def test_the_handler_learns_when_what_arrived_together_is_handled_and_answered() -> None:
    handler = Answers()
    async with listening(handler) as (_, connect):
        peer = await connect(MB)
        peer.send(*[HeartbeatRequest(group_id="g")] * 2)
        await eventually(lambda: "end" in handler.events)

    assert handler.events == ["begin", "handle", "respond", "handle", "respond", "end"]


class LateAndBroken(Answers):
    """Answers later, with what a bug keeps from being sent."""

    def handle(self, request: Request, connection: Connection) -> Deferred[Message]:
        response: Deferred[Message] = Deferred()
        asyncio.get_running_loop().call_later(1, response.complete, HeartbeatResponse())
        return response

    def outgoing(self, request: Request, connection: Connection, parts: list[Any]) -> list[Any]:
        raise IndexError("a bug")


@virtual_time
async def test_a_connection_is_closed_when_a_bug_keeps_its_response_from_being_sent() -> None:
    async with listening(LateAndBroken()) as (_, connect):
        peer = await connect(MB)
        peer.send(HeartbeatRequest(group_id="g"))

        await eventually(lambda: peer.is_cut_off)


@virtual_time
async def test_a_request_whose_answer_fails_is_answered_and_so_is_the_next_one() -> None:
    handler = Answers()
    late: Deferred[int] = Deferred()
    handler.late = [late.then(lambda value: 1 // value)]
    async with listening(handler) as (_, connect):
        peer = await connect(MB)
        peer.send(*[HeartbeatRequest(group_id="g")] * 2)
        await eventually(lambda: len(handler.handled) == 1)

        late.complete(0)
        await eventually(lambda: handler.events.count("respond") == 2)

    assert len(handler.handled) == 2
    assert any(each.startswith("Heartbeat failed: integer division") for each in handler.events)


@virtual_time
async def test_a_slow_reader_gets_its_whole_response() -> None:
    async with listening(Answers(bytes(8 * MB))) as (_, connect):
        slow = await connect(94_000)
        slow.send(fetch(0))
        await eventually(lambda: slow.received > 8 * MB or slow.is_cut_off, timeout=200)

        assert not slow.is_cut_off


@virtual_time
async def test_a_reader_that_is_slower_than_the_limit_is_cut_off() -> None:
    async with listening(Answers(bytes(8 * MB))) as (_, connect):
        slow = await connect(5_000)
        slow.send(fetch(0))
        await eventually(lambda: slow.is_cut_off, timeout=1000)

        assert slow.received < 8 * MB


@virtual_time
async def test_unread_responses_count_against_the_budget() -> None:
    async with listening(Answers(bytes(2 * MB)), budget_bytes=5 * MB) as (listener, connect):
        deaf = [await connect(0) for _ in range(3)]
        for peer in deaf:
            peer.send(fetch(0))
        await eventually(lambda: listener._budget.used > 6 * MB)
        assert listener._budget.is_exhausted

        deaf[0]._transport.abort()
        await eventually(lambda: listener.connection_count == 2)
        assert listener._budget.used < 5 * MB


@virtual_time
async def test_a_client_with_too_many_unread_bytes_is_cut_off(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.WARNING)
    async with listening(Answers(bytes(2 * MB)), budget_bytes=2 * MB) as (listener, connect):
        deaf = [await connect(0) for _ in range(3)]
        for peer in deaf:
            peer.send(fetch(0))
        await eventually(lambda: listener.connection_count == 1)

    assert "too much waits to be sent" in caplog.text
    assert listener._budget.used == 0


@virtual_time
async def test_records_in_memory_are_sent_in_chunks() -> None:
    filesystem = MemoryFileSystem()
    filesystem.make_directory("/data")
    file = filesystem.open("/data/log", create=True)
    file.write_at(0, [b"head", bytes(range(250)) * 40_000])
    records = FileRecords(file, 4, 10 * MB)

    async with listening(Answers(records)) as (listener, connect):
        deaf, reader = await connect(0), await connect(MB)
        deaf.send(fetch(0))
        reader.send(fetch(0))
        await eventually(lambda: reader.received > 10 * MB)

        assert listener._budget.used < MB
        assert not deaf.is_cut_off
