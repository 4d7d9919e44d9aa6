"""Decode the packets of a capture into messages of its Kafka connections, in order of time."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Container, Iterable, Iterator
from typing import TypeAlias

from pyk.command_line.wire.conversation import (
    Conversation,
    Direction,
    Note,
    WireMessage,
    looks_like_request,
)
from pyk.command_line.wire.frames import DEFAULT_MAX_FRAME_BYTES
from pyk.command_line.wire.packet_files import Packet
from pyk.command_line.wire.streams import ByteStream, Gap
from pyk.command_line.wire.tcp_segments import Endpoint, Segment, tcp_segment
from pyk.runtime import slotted

MOST_CONNECTIONS = 10_000
"""Connections followed at the same time. With more, the one that was idle longest is dropped."""
MOST_WAITING_BYTES = 512 << 20
"""Bytes of unfinished frames in all connections. With more, the idlest connections are dropped."""

_Ends: TypeAlias = frozenset[Endpoint]


@slotted.frozen
class CapturedEntry:
    """A message or a note, with its time and its connection."""

    time_ns: int
    client: Endpoint
    server: Endpoint
    content: WireMessage | Note


class Capture:
    """The connections of a capture.

    ``ports`` are those that brokers listen on; None follows every connection that begins with a
    Kafka request.
    """

    def __init__(
        self,
        ports: Container[int] | None,
        *,
        max_frame_bytes: int = DEFAULT_MAX_FRAME_BYTES,
    ) -> None:
        self._ports = ports
        self._max_frame_bytes = max_frame_bytes
        self._connections: OrderedDict[_Ends, _Connection] = OrderedDict()
        self._waiting_bytes = 0
        self.segment_count = 0
        """TCP segments seen, of all ports."""
        self.connection_count = 0

    def read(self, packets: Iterable[Packet]) -> Iterator[CapturedEntry]:
        """Yield messages and notes; raise CaptureError where the capture is damaged.

        Call :meth:`finish` afterwards, also after an error.
        """
        for packet in packets:
            segment = tcp_segment(packet)
            if segment is None:
                continue
            self.segment_count += 1
            ends = frozenset((segment.source, segment.destination))
            if segment.opens:
                yield from self._close_earlier(ends, segment)
            connection = self._connections.get(ends) or self._open(ends, segment)
            if connection is not None:
                self._connections.move_to_end(ends)
                yield from self._take(connection, segment, packet.time_ns)

    def finish(self) -> Iterator[CapturedEntry]:
        """Yield the rest: incomplete data, and notes about requests that were never answered."""
        while self._connections:
            yield from self._drop_oldest()

    def _close_earlier(self, ends: _Ends, segment: Segment) -> Iterator[CapturedEntry]:
        """Drop an earlier connection with the same ends, unless this repeats its own SYN."""
        earlier = self._connections.get(ends)
        if earlier is not None and earlier.opened_at != segment.sequence:
            self._connections.move_to_end(ends, last=False)
            yield from self._drop_oldest()

    def _open(self, ends: _Ends, segment: Segment) -> _Connection | None:
        client = self._client(segment)
        if client is None:
            return None
        server = segment.destination if client == segment.source else segment.source
        self.connection_count += 1
        opened = _Connection(client, server, segment, max_frame_bytes=self._max_frame_bytes)
        self._connections[ends] = opened
        return opened

    def _take(
        self, connection: _Connection, segment: Segment, time_ns: int
    ) -> Iterator[CapturedEntry]:
        before = connection.waiting_bytes
        yield from connection.take(segment, time_ns)
        self._waiting_bytes += connection.waiting_bytes - before
        while self._waiting_bytes > MOST_WAITING_BYTES or len(self._connections) > MOST_CONNECTIONS:
            yield from self._drop_oldest()

    def _drop_oldest(self) -> Iterator[CapturedEntry]:
        _, oldest = self._connections.popitem(last=False)
        self._waiting_bytes -= oldest.waiting_bytes
        yield from oldest.finish()

    def _client(self, segment: Segment) -> Endpoint | None:
        """Return the end of a new connection that is the client; None if it is not Kafka's."""
        if self._ports is None:
            return segment.source if looks_like_request(segment.payload) else None
        is_request = segment.destination.port in self._ports
        if segment.source.port in self._ports and (not is_request or segment.is_syn):
            return segment.source if segment.opens and is_request else segment.destination
        return segment.source if is_request else None


class _Connection:
    """Both streams of a connection, and its conversation."""

    def __init__(
        self, client: Endpoint, server: Endpoint, first: Segment, *, max_frame_bytes: int
    ) -> None:
        self._client, self._server = client, server
        self.opened_at = first.sequence if first.opens else None
        self._conversation = Conversation(max_frame_bytes=max_frame_bytes, from_start=first.is_syn)
        self._streams = {Direction.REQUEST: ByteStream(), Direction.RESPONSE: ByteStream()}
        self._last_time_ns = 0

    @property
    def waiting_bytes(self) -> int:
        streams = sum(stream.waiting_bytes for stream in self._streams.values())
        return streams + self._conversation.waiting_bytes

    def take(self, segment: Segment, time_ns: int) -> Iterator[CapturedEntry]:
        self._last_time_ns = time_ns
        here, there = Direction.REQUEST, Direction.RESPONSE
        if segment.source != self._client:
            here, there = there, here
        if segment.acknowledged is not None:
            yield from self._follow(there, self._streams[there].acknowledge(segment.acknowledged))
        sequence = segment.sequence
        if segment.is_syn:
            self._streams[here].begin(sequence)
            sequence += 1
        if segment.payload or segment.missing:
            ready = self._streams[here].push(sequence, segment.payload, segment.missing)
            yield from self._follow(here, ready)

    def finish(self) -> Iterator[CapturedEntry]:
        for direction, stream in self._streams.items():
            while ready := stream.give_up():
                yield from self._follow(direction, ready)
        if (unanswered := self._conversation.unanswered) is not None:
            yield self._entry(unanswered)

    def _follow(self, direction: Direction, ready: list[bytes | Gap]) -> Iterator[CapturedEntry]:
        for piece in ready:
            if isinstance(piece, Gap):
                yield self._entry(self._conversation.lose(direction, piece.size))
                continue
            for content in self._conversation.receive(direction, piece, self._last_time_ns):
                yield self._entry(content)

    def _entry(self, content: WireMessage | Note) -> CapturedEntry:
        return CapturedEntry(self._last_time_ns, self._client, self._server, content)
