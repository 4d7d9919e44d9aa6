"""Let the operating system end connections to peers that acknowledge nothing.

Where a network drops packets, a connection waits for the next repetition of a packet, by either
side, and the time between two of them doubles: after an outage of 15 seconds it goes on 12 seconds
late, or with the timeout of a request. One that was ended is made again at once.
"""

from __future__ import annotations

import contextlib
import socket

# What a peer does not acknowledge for so long ends the connection; probes ask idle peers before. A
# kernel acknowledges however busy its programs are.
SILENCE_MS = 10_000
_OPTIONS = (
    (socket.SOL_SOCKET, "SO_KEEPALIVE", 1),
    (socket.IPPROTO_TCP, "TCP_KEEPIDLE", 5),
    (socket.IPPROTO_TCP, "TCP_KEEPINTVL", 2),
    (socket.IPPROTO_TCP, "TCP_USER_TIMEOUT", SILENCE_MS),
)
_IS_KNOWN = all(hasattr(socket, name) for _, name, _ in _OPTIONS)


def end_if_silent(connection: socket.socket) -> None:
    """End a connection whose peer is silent, where the operating system can: on Linux.

    Not for one with much to send: a peer that acknowledges, but does not read for so long, counts
    as silent, too. Brokers read no further while a request is not answered.
    """
    if not _IS_KNOWN:
        return
    with contextlib.suppress(OSError):  # of a sandbox that is called Linux and lacks one of them
        for level, name, value in _OPTIONS:
            connection.setsockopt(level, getattr(socket, name), value)
