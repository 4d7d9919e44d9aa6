"""Ask a proxy for a connection to a broker: SOCKS5 (RFC 1928, RFC 1929) and HTTP CONNECT. Pure.

The steps are a generator. It yields bytes to send, or how many bytes it can take, for which it is
sent what has arrived, empty at the end of the stream. It returns once everything that follows on
the connection goes to the broker and comes from it.

Brokers do not speak first. So what a proxy sends beyond its response is not the broker's, and is
refused.
"""

from __future__ import annotations

import binascii
import ipaddress
import re
from collections.abc import Generator
from typing import TYPE_CHECKING

from pyk.clients.errors import ProxyAuthenticationError
from pyk.runtime.secret import Secret

if TYPE_CHECKING:
    from pyk.runtime.network import Tunnel

VERSION, NO_LOGIN, USER_AND_PASSWORD, NO_METHOD = 5, 0, 2, 0xFF
LOGIN_VERSION, CONNECT = 1, 1
IPV4, NAME, IPV6 = 1, 3, 4
ADDRESS_BYTES = {IPV4: 4, IPV6: 16}
REFUSALS = {
    1: "it failed, and does not say why",
    2: "its rules do not allow connections to this broker",
    3: "the network of the broker is unreachable",
    4: "the broker's host is unreachable, or its name is not known to the proxy",
    5: "the broker refused the connection: is it up, and the port right?",
    6: "the connection to the broker timed out",
    7: "it does not make connections (CONNECT)",
    8: "it does not take this kind of address",
}
MAX_HEAD_BYTES = 16 * 1024
END_OF_HEAD = b"\r\n\r\n"
MAX_REASON = 100
STATUS_LINE = re.compile(rb"HTTP/1\.[01] ([0-9]{3})(?: ([^\r\n]*))?\r?\n")
PASSABLE_HOST = re.compile(r"[^\s/@?#\x00-\x20\x7f]{1,255}")
HTTP_HINTS = {
    403: "its rules do not allow connections to this broker",
    404: "it does not know the broker's name",
    405: "it does not make connections (CONNECT)",
    502: "it cannot reach the broker",
    503: "it cannot reach the broker",
    504: "the connection to the broker timed out",
}


class TunnelError(ConnectionError):
    """A proxy does not lead to a broker; the text says why."""


def socks_tunnel(
    proxy: str, host: str, port: int, username: str | None, password: Secret | None
) -> Tunnel:
    """Return the steps of SOCKS5."""
    target = _socks_address(host)
    methods = bytes([NO_LOGIN] if username is None else [NO_LOGIN, USER_AND_PASSWORD])
    yield bytes([VERSION, len(methods)]) + methods
    version, method = yield from _exactly(2)
    if version != VERSION:
        raise TunnelError("it does not answer as a SOCKS5 proxy does")
    if method == USER_AND_PASSWORD and username is not None and password is not None:
        # Made in the yield, so that no local variable holds the password.
        yield _socks_login(username, password)
        _, status = yield from _exactly(2)
        if status != 0:
            raise _refused(proxy, username)
    elif method == NO_METHOD:
        raise _refused(proxy, username)
    elif method != NO_LOGIN:
        raise TunnelError(f"it asks for a login of kind {method}, which was not offered")
    yield bytes([VERSION, CONNECT, 0]) + target + port.to_bytes(2, "big")
    yield from _socks_reply()


def _socks_reply() -> Tunnel:
    version, refusal, _, kind = yield from _exactly(4)
    if version != VERSION:
        raise TunnelError("it does not answer as a SOCKS5 proxy does")
    if refusal != 0:
        raise TunnelError(REFUSALS.get(refusal, f"it refuses with code {refusal}"))
    size = ADDRESS_BYTES.get(kind)
    if size is None and kind == NAME:
        (size,) = yield from _exactly(1)
    if size is None:
        raise TunnelError(f"its answer has an address of the unknown kind {kind}")
    yield from _exactly(size + 2)


def _socks_address(host: str) -> bytes:
    """Return a broker's host as SOCKS5 writes it: an address as such, a name by its length."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        name = _passable(host)
        return bytes([NAME, len(name)]) + name
    return bytes([IPV4 if address.version == 4 else IPV6]) + address.packed


def _socks_login(username: str, password: Secret) -> bytes:
    return bytes([LOGIN_VERSION]) + b"".join(
        bytes([len(one.encode())]) + one.encode() for one in (username, password.reveal())
    )


def http_tunnel(
    proxy: str, host: str, port: int, username: str | None, password: Secret | None
) -> Tunnel:
    """Return the steps of HTTP's CONNECT (RFC 9110, 9.3.6)."""
    name = _passable(host)
    target = b"%b:%d" % (b"[%b]" % name if b":" in name else name, port)
    yield b"".join(
        [
            b"CONNECT %b HTTP/1.1\r\nHost: %b\r\n" % (target, target),
            _basic_login(username, password) if username and password is not None else b"",
            b"\r\n",
        ]
    )
    head = b""
    while END_OF_HEAD not in head:
        arrived = yield MAX_HEAD_BYTES - len(head)
        head += _checked(arrived)
        if not b"HTTP/".startswith(head[:5]) or len(head) == MAX_HEAD_BYTES:
            raise TunnelError("it does not answer as an HTTP proxy does")
    match = STATUS_LINE.match(head)
    if match is None:
        raise TunnelError("it does not answer as an HTTP proxy does")
    status = int(match[1])
    if status == 407:
        raise _refused(proxy, username)
    if not 200 <= status < 300:
        raise TunnelError(_http_refusal(status, match[2] or b""))
    if head.index(END_OF_HEAD) + len(END_OF_HEAD) != len(head):
        raise TunnelError("it sends more than the response to CONNECT: is it an HTTP proxy?")


def _basic_login(username: str, password: Secret) -> bytes:
    return b"Proxy-Authorization: Basic %b\r\n" % binascii.b2a_base64(
        f"{username}:{password.reveal()}".encode(), newline=False
    )


def _http_refusal(status: int, reason: bytes) -> str:
    text = reason[:MAX_REASON].decode("latin-1")
    shown = "".join(one if one.isprintable() else " " for one in text).strip()
    hint = HTTP_HINTS.get(status)
    return f"it answers HTTP {status} {shown}".rstrip() + (f": {hint}" if hint else "")


def _exactly(size: int) -> Generator[int, bytes, bytes]:
    """Return the next bytes, so many that nothing beyond them is taken."""
    data = b""
    while len(data) < size:
        arrived = yield size - len(data)
        data += _checked(arrived)
    return data


def _checked(arrived: bytes) -> bytes:
    if not arrived:
        raise TunnelError("it closed the connection before it led to the broker")
    return arrived


def _passable(host: str) -> bytes:
    """Return a name as it is sent. Brokers name hosts, too: nothing else must come in by them."""
    if PASSABLE_HOST.fullmatch(host) is None:
        raise TunnelError("a proxy cannot be asked for a host of this name")
    return host.encode("ascii" if host.isascii() else "idna")


def _refused(proxy: str, username: str | None) -> ProxyAuthenticationError:
    if username is None:
        text = "requires a login: write proxy='SCHEME://user:password@host:port'"
    else:
        text = f"refused the login as {username!r}: check user name and password of proxy="
    return ProxyAuthenticationError(f"the proxy {proxy} {text}")
