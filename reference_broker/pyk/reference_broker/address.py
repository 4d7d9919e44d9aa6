"""Addresses of brokers as text. Pure."""

from __future__ import annotations

import re

PORTS = range(1, 65_536)
# A broker that listens on all addresses of its machine: nothing that a client could connect to.
WILDCARDS = frozenset({"0.0.0.0", "::"})  # nosec B104  # noqa: S104

ADDRESS = re.compile(r"(\[[\w.:%]+\]|[^\s:/\[\]]+)(?::(\d+))?", re.ASCII)


def format_address(host: str, port: int) -> str:
    """Return ``host:port``, with an IPv6 address in brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def reachable_on_this_machine(host: str) -> str:
    """Return where to connect on this machine to a broker that listens on ``host``."""
    return "127.0.0.1" if host in WILDCARDS else host


def parse_address(text: str) -> tuple[str, int | None]:
    """Return host and port of ``HOST`` or ``HOST:PORT``; raise ``ValueError`` for anything else.

    An IPv6 address stands in brackets: ``[::1]:9092``.
    """
    match = ADDRESS.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is not HOST or HOST:PORT ('[::1]:9092' for IPv6)")
    port = int(match[2]) if match[2] else None
    if port is not None and port not in PORTS:
        raise ValueError(f"{text!r} has a port that is not a number from 1 to 65535")
    return match[1].strip("[]"), port
