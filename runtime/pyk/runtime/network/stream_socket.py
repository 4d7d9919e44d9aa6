"""Send to and receive from a connected socket that never blocks.

In the compiled form, ``compiled/stream_socket.pyx``, a small transfer does not release the
interpreter's lock: the kernel takes a microsecond for it, while getting the lock back beside a
thread that computes takes 5 ms.
"""

from __future__ import annotations

import socket
from collections.abc import Sequence

MOST_PARTS = 1024
"""That the kernel takes at once (``IOV_MAX``)."""


class StreamSocket:
    """A connected stream socket, which it makes non-blocking and owns from then on."""

    def __init__(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        self._connection = connection

    def fileno(self) -> int:
        """Return the descriptor, -1 once closed."""
        return self._connection.fileno()

    def receive_into(self, buffer: memoryview) -> int:
        """Receive; return how many bytes, 0 at the end of the stream, -1 if nothing is there.

        Raises OSError.
        """
        try:
            return self._connection.recv_into(buffer)
        except (BlockingIOError, InterruptedError):
            return -1

    def send_parts(self, parts: Sequence[bytes | bytearray | memoryview]) -> int:
        """Send what the kernel takes of ``parts``, in their order; return how many bytes are left.

        Raises OSError.
        """
        size = sum(map(len, parts))
        try:
            return size - self._connection.sendmsg(parts[:MOST_PARTS])
        except (BlockingIOError, InterruptedError):
            return size

    def close(self) -> None:
        """Close the socket."""
        self._connection.close()
