"""The two ends of a connection of a :class:`~pyk.runtime.network.memory.MemoryNetwork`."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any

from pyk.runtime.network.links import Link

WRITE_LIMIT_BYTES = 64 * 1024

Observer = Callable[[str, str, bytes], object]


class MemoryTransport(asyncio.Transport):
    """One end of a connection. What is written arrives at the other in order, after the latency."""

    peer: MemoryTransport

    def __init__(
        self,
        protocol: asyncio.BufferedProtocol,
        link: Link,
        address: tuple[str, int],
        when_lost: Callable[[MemoryTransport], object],
        observe: Observer | None,
    ) -> None:
        """``link`` leads to the other end; ``address`` is that of the listener."""
        super().__init__({"peername": address})
        self.link = link
        self._protocol = protocol
        self._when_lost = when_lost
        self._observe = observe
        self._loop = asyncio.get_running_loop()
        self._in_transit: deque[bytes | None] = deque()
        self._arrives_at = 0.0
        self._incoming = bytearray()
        self._unread_by_peer = 0
        self._is_reading = True
        self._is_paused = False
        self._is_closing = False
        self._is_lost = False

    # -- what the protocol calls -------------------------------------------------------------------

    def write(self, data: bytes | bytearray | memoryview[Any]) -> None:
        if self._is_closing or not data:
            return
        self._unread_by_peer += len(data)
        if self._unread_by_peer > WRITE_LIMIT_BYTES and not self._is_paused:
            self._is_paused = True
            self._protocol.pause_writing()
        sent = bytes(data)
        if self._observe is not None:
            self._observe(self.link.source, self.link.target, sent)
        self._send(sent)

    def is_closing(self) -> bool:
        return self._is_closing

    def close(self) -> None:
        if not self._is_closing:
            self._is_closing = True
            self._send(None)
            self._loop.call_soon(self.fail, None)

    def abort(self) -> None:
        self.close()

    def _force_close(self, error: Exception | None) -> None:
        """End a connection whose TLS has failed; asyncio calls it so."""
        self.close()

    def pause_reading(self) -> None:
        self._is_reading = False

    def resume_reading(self) -> None:
        self._is_reading = True
        self._loop.call_soon(self._read_waiting)

    def get_write_buffer_size(self) -> int:
        return self._unread_by_peer

    # -- what the network and the other end call ---------------------------------------------------

    def deliver(self, data: bytes) -> None:
        """Receive what the other end has written."""
        if self._incoming or not self._is_reading:
            self._incoming += data
        else:
            self._read(data)

    def fail(self, error: Exception | None) -> None:
        """End the connection at this end: ``error`` is what the protocol is told."""
        self._is_closing = True
        if not self._is_lost:
            self._is_lost = True
            self._when_lost(self)
            self._protocol.connection_lost(error)

    def acknowledge(self, count: int) -> None:
        """Record that the other end has read so many bytes."""
        self._unread_by_peer -= count
        if self._is_paused and self._unread_by_peer <= WRITE_LIMIT_BYTES // 4:
            self._is_paused = False
            self._protocol.resume_writing()

    # -- inside ------------------------------------------------------------------------------------

    def _send(self, data: bytes | None) -> None:
        """Let data, or the end, arrive at the other end after all that was sent before."""
        self._in_transit.append(data)
        if self.link.is_open:
            self._travel()
        else:
            self.link.held.append(self._travel)

    def _travel(self) -> None:
        """Let what is next in line arrive when the latency is over."""
        loop, latency = self._loop, self.link.latency
        now = loop.time()
        # A latency that was shortened lets nothing overtake.
        arrives_at = max(self._arrives_at, now + latency)
        if arrives_at > now:
            self._arrives_at = arrives_at
            loop.call_at(arrives_at, self._arrive)
        else:
            loop.call_soon(self._arrive)

    def _arrive(self) -> None:
        if not self.link.is_open:  # it was cut while data were on the way
            self.link.held.append(self._travel)
            return
        # On other loops, timers of one moment fire in any order: each brings what is first in line.
        data = self._in_transit.popleft()
        if data is None:
            self.peer.fail(None)
        else:
            self.peer.deliver(data)

    def _read_waiting(self) -> None:
        data, self._incoming = bytes(self._incoming), bytearray()
        self._read(data)

    def _read(self, data: bytes) -> None:
        """Give data to the protocol; keep what it does not want to read now."""
        done, size = 0, len(data)
        while done < size and self._is_reading and not self._is_closing:
            buffer = memoryview(self._protocol.get_buffer(-1)).cast("B")
            count = min(len(buffer), size - done)
            buffer[:count] = data[done : done + count]
            buffer.release()
            done += count
            self._protocol.buffer_updated(count)
            self.peer.acknowledge(count)
        if done < size:
            self._incoming += data[done:]
