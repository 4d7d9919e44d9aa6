"""The proxy through which a client reaches its brokers. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pyk.runtime import slotted
from pyk.runtime.secret import Secret

if TYPE_CHECKING:
    from pyk.runtime.network import Tunnel

SCHEMES = ("socks5", "socks5h", "http")
EXAMPLE = "'socks5h://user:password@host:1080' or 'http://host:3128'"
LONGEST_NAME = 255
# Compiled on first use: few clients have a proxy, and all import this.
URL = (
    r"(?P<scheme>[a-z0-9+.-]+)://(?:(?P<login>[^/?#]*)@)?"
    r"(?P<host>\[[0-9a-fA-F:.]+\]|[^:/?#@\[\]]+)(?::(?P<port>[0-9]+))?/?"
)
ESCAPED = rb"%([0-9a-fA-F]{2})"


@slotted.frozen
class Proxy:
    """A server that connects to brokers for the client."""

    scheme: str
    host: str
    port: int
    username: str | None = None
    password: Secret | None = None

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"

    @property
    def resolves_names(self) -> bool:
        """Return whether the proxy looks the names of brokers up, not this machine."""
        return self.scheme != "socks5"

    def tunnel(self, host: str, port: int) -> Tunnel:
        """Return the steps that lead to a broker on a connection to the proxy."""
        from pyk.clients.security.tunnels import http_tunnel, socks_tunnel

        steps = http_tunnel if self.scheme == "http" else socks_tunnel
        return steps(str(self), host, port, self.username, self.password)


def parse_proxy(text: str) -> Proxy:
    """Return the proxy of a URL.

    Raises ``ValueError`` with the rest of a sentence that begins with the option's name, and that
    shows nothing of the URL, which may have a password.
    """
    match = re.fullmatch(URL, text.strip(), re.I | re.S)
    if match is None:
        raise ValueError(f"must be a URL such as {EXAMPLE}")
    scheme = match["scheme"].lower()
    if scheme not in SCHEMES:
        raise ValueError(f"must begin with {', '.join(one + '://' for one in SCHEMES)}")
    if match["port"] is None or not 0 < int(match["port"]) < 1 << 16:
        raise ValueError(f"must have a port from 1 to 65535, as in {EXAMPLE}")
    host = match["host"].strip("[]")
    if len(host) > LONGEST_NAME or not host.isprintable() or " " in host:
        raise ValueError("has an invalid host name")
    return Proxy(scheme, host, int(match["port"]), *_login(match["login"]))


def _login(text: str | None) -> tuple[str | None, Secret | None]:
    """Return user name and password, percent-decoded."""
    if text is None:
        return None, None
    username, _, password = text.partition(":")
    found = _decoded(username), _decoded(password)
    if not found[0] or any(len(one.encode()) > LONGEST_NAME for one in found):
        raise ValueError("must have user name and password of 1 to 255 bytes")
    return found[0], Secret(found[1])


def _decoded(text: str) -> str:
    data = re.sub(ESCAPED, lambda match: bytes([int(match[1], 16)]), text.encode())
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise ValueError("has a user name or password that is not UTF-8") from None
