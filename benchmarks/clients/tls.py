"""TLS for the benchmarks: a broker with two listeners, and what clients need for the second.

Both clients verify the certificate and its host name, and both negotiate TLS 1.3 with the cipher
suite that OpenSSL prefers, TLS_AES_256_GCM_SHA384.
"""

from __future__ import annotations

import contextlib
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import trustme
from examples.journey.broker import running_broker


@attrs.frozen
class Addresses:
    """Where a broker is reached, without TLS and with it."""

    plain: str
    encrypted: str | None = None
    cafile: Path | None = None


@contextlib.contextmanager
def broker(bootstrap: str | None) -> Iterator[Addresses]:
    """Run pyk's broker in a process of its own, unless one is given, which has no TLS."""
    if bootstrap is not None:
        yield Addresses(bootstrap)
        return
    with tempfile.TemporaryDirectory(prefix="pyk-bench-") as name:
        folder = Path(name)
        authority = trustme.CA()
        authority.cert_pem.write_to_path(folder / "ca.pem")
        leaf = authority.issue_cert("localhost")
        leaf.private_key_and_cert_chain_pem.write_to_path(folder / "broker.pem")
        plain, encrypted = (f"localhost:{port}" for port in _free_ports(2))
        configs = {
            "listeners": f"PLAINTEXT://{plain},SSL://{encrypted}",
            "ssl.keystore.location": str(folder / "broker.pem"),
        }
        with running_broker(folder / "data", configs):
            yield Addresses(plain, encrypted, folder / "ca.pem")


def pyk_tls(cafile: str | None) -> dict[str, Any]:
    """Return the options of pyk's clients."""
    return {} if cafile is None else {"security_protocol": "SSL", "ssl_cafile": cafile}


def confluent_tls(cafile: str | None) -> dict[str, Any]:
    """Return the options of confluent-kafka's clients."""
    return {} if cafile is None else {"security.protocol": "SSL", "ssl.ca.location": cafile}


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [
            stack.enter_context(socket.create_server(("localhost", 0))) for _ in range(count)
        ]
        return [each.getsockname()[1] for each in sockets]
