"""A connected socket as the transport of frames: what asyncio's transport does, in fewer steps.

The event loop tells when the socket can be read or written; the rest is compiled, and small
transfers do not release the interpreter's lock (:mod:`.stream_socket`). Semantics are those of
asyncio: writes never wait, ``pause_writing`` and ``resume_writing`` tell the protocol how much is
unsent, :meth:`close` sends what was written, :meth:`abort` drops it, and ``connection_lost`` is
called once, on a later turn of the loop. One thing differs: when the peer ends its stream, the
connection ends at once, whatever is unsent.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from pyk.runtime.network.frame_reader import FrameReader
from pyk.runtime.network.stream_socket import StreamSocket

if TYPE_CHECKING:
    from pyk.runtime.network.frame_transport import FrameTransport

# The limits of asyncio's transports.
HIGH_WATER_BYTES = 64 * 1024
LOW_WATER_BYTES = HIGH_WATER_BYTES // 4


class SocketTransport:
    """Drives ``frames`` with a socket that is connected, on the running event loop.

    The loop must be one of asyncio's that watch sockets, and call a reader until all is read.
    """

    def __init__(self, connection: socket.socket, frames: FrameTransport) -> None:
        self._loop = asyncio.get_running_loop()
        self._names = {
            "socket": connection,
            "peername": _name(connection.getpeername),
            "sockname": _name(connection.getsockname),
        }
        self._socket = StreamSocket(connection)
        self._frames: FrameReader = frames
        self._protocol = frames
        self._unsent: list[bytes | bytearray | memoryview] = []
        self._unsent_bytes = 0
        self._is_reading = False
        self._is_full = False
        """Whether the protocol was told to pause writing."""
        self._is_closing = False
        self._is_ended = False
        """Whether ``connection_lost`` was called, or is about to be."""

    def begin(self) -> None:
        """Tell the protocol of the connection, and receive from now on."""
        self._protocol.connection_made(cast(asyncio.Transport, self))
        self.resume_reading()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """Return ``peername``, ``sockname`` or ``socket``."""
        return self._names.get(name, default)

    def is_closing(self) -> bool:
        """Return whether nothing more is sent than what was written already."""
        return self._is_closing

    def get_write_buffer_size(self) -> int:
        """Return how many bytes were written and not sent."""
        return self._unsent_bytes

    # -- reading -----------------------------------------------------------------------------------

    def pause_reading(self) -> None:
        """Receive nothing until :meth:`resume_reading`."""
        if self._is_reading:
            self._is_reading = False
            self._loop.remove_reader(self._socket.fileno())

    def resume_reading(self) -> None:
        """Receive again, unless the connection is about to end."""
        if not (self._is_reading or self._is_closing):
            self._is_reading = True
            self._loop.add_reader(self._socket.fileno(), self.receive)

    def receive(self) -> None:
        """Hand what has arrived to the frame reader."""
        try:
            count = self._socket.receive_into(self._frames.room())
            if count > 0:
                self._frames.arrived(count)
            elif count == 0:
                self._end(None)  # not after what is unsent: nothing would answer that
        except (SystemExit, KeyboardInterrupt):
            raise
        except BaseException as error:
            self._fail(error)

    # -- writing -----------------------------------------------------------------------------------

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Send, without waiting; what the kernel does not take now goes later."""
        self.write_parts([data])

    def write_parts(self, parts: list[bytes | bytearray | memoryview]) -> None:
        """Send parts in their order; see :meth:`write`. They must not change meanwhile."""
        if self._is_closing:
            return
        if self._unsent_bytes:
            self._unsent += parts
            self._unsent_bytes += sum(map(len, parts))
        elif not self._send(parts):
            return
        if self._unsent_bytes > HIGH_WATER_BYTES and not self._is_full:
            self._is_full = True
            self._protocol.pause_writing()

    def _send(self, parts: list[bytes | bytearray | memoryview]) -> bool:
        """Send, and watch the socket if that leaves something; return whether it does."""
        try:
            left = self._socket.send_parts(parts)
        except OSError as error:
            self._end(error)
            return False
        except BaseException as error:
            self._end(error)  # half a frame may be sent, and another one must not follow it
            raise
        if left == 0:
            return False
        self._unsent, self._unsent_bytes = _last_bytes(parts, left), left
        self._loop.add_writer(self._socket.fileno(), self._send_unsent)
        return True

    def _send_unsent(self) -> None:
        try:
            left = self._socket.send_parts(self._unsent)
        except Exception as error:
            self._fail(error)
            return
        if left < self._unsent_bytes:
            self._unsent, self._unsent_bytes = _last_bytes(self._unsent, left), left
        if left == 0:
            self._loop.remove_writer(self._socket.fileno())
            if self._is_closing:
                self._lose_soon(None)
        if left <= LOW_WATER_BYTES and self._is_full:
            self._is_full = False
            self._protocol.resume_writing()

    # -- the end -----------------------------------------------------------------------------------

    def close(self) -> None:
        """Send what was written, then close."""
        if not self._is_closing:
            self.pause_reading()
            self._is_closing = True
            if not self._unsent_bytes:
                self._lose_soon(None)

    def abort(self) -> None:
        """Close at once."""
        self._end(None)

    def _fail(self, error: BaseException) -> None:
        """End because of an error of the network, or because of a bug, which is reported."""
        if not isinstance(error, OSError):
            self._loop.call_exception_handler(
                {"message": "A transport of frames failed", "exception": error, "transport": self}
            )
        self._end(error)

    def _end(self, error: BaseException | None) -> None:
        if self._is_ended:
            return
        self.pause_reading()
        self._is_closing = True
        if self._unsent_bytes:
            self._loop.remove_writer(self._socket.fileno())
            self._unsent, self._unsent_bytes = [], 0
        self._lose_soon(error)

    def _lose_soon(self, error: BaseException | None) -> None:
        self._is_ended = True
        self._loop.call_soon(self._lose, error)

    def _lose(self, error: BaseException | None) -> None:
        try:
            self._protocol.connection_lost(cast(Exception | None, error))
        finally:
            self._socket.close()


def _last_bytes(
    parts: list[bytes | bytearray | memoryview], count: int
) -> list[bytes | bytearray | memoryview]:
    """Return the parts that hold the last ``count`` bytes, without copying them."""
    kept: list[bytes | bytearray | memoryview] = []
    for part in reversed(parts):
        if count <= 0:
            break
        kept.append(part if len(part) <= count else memoryview(part)[len(part) - count :])
        count -= len(part)
    kept.reverse()
    return kept


def _name(ask: Callable[[], Any]) -> Any:
    """Return the name of an end, None if the peer has gone already."""
    try:
        return ask()
    except OSError:
        return None
