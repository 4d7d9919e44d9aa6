"""Find out how other machines reach this one."""

from __future__ import annotations

import socket

# An address for documentation (RFC 5737): nothing is sent to it, but the route there is looked up.
ELSEWHERE = ("192.0.2.1", 9)
LOOPBACK = "127.0.0.1"


def reachable_host() -> str:
    """Return the address of this machine on its default route, loopback if it has none.

    A name would have to be known to them; that of ``hostname`` often is not.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(ELSEWHERE)
        except OSError:
            return LOOPBACK
        host: str = probe.getsockname()[0]
        return host
