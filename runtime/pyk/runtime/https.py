"""One request over HTTPS: for the tokens and keys of identity providers.

It blocks, so it is called in a thread. It is strict on purpose (CVE-2025-27817): a configuration
that somebody else wrote must not make it read files, nor ask other servers than the named one. So
there are no schemes but ``https``, no redirects, and no proxies or passwords of the environment.
"""

from __future__ import annotations

import contextlib
import http.client
import ipaddress
import socket
import ssl
import threading
from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit

from pyk.runtime import slotted

LONGEST_URL = 2048
MAX_ANSWER_BYTES = 1024 * 1024
"""The largest answer that is read; tokens and sets of keys have some KiB."""


class HttpsError(Exception):
    """There is no answer. The text says why, and shows nothing that was sent or received.

    ``is_retriable`` if another attempt may bring one.
    """

    def __init__(self, text: str, *, is_retriable: bool = False) -> None:
        super().__init__(text)
        self.is_retriable = is_retriable


@slotted.frozen
class Url:
    """An address that may be asked."""

    host: str
    port: int
    path: str
    """With the query."""
    has_tls: bool = True

    def __str__(self) -> str:
        """Return the URL without its query, which may hold a key."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        scheme, default = ("https", 443) if self.has_tls else ("http", 80)
        port = "" if self.port == default else f":{self.port}"
        return f"{scheme}://{host}{port}{self.path.partition('?')[0]}"


@slotted.frozen(kw_only=True)
class Limits:
    """How long a request may take, in seconds, and how many bytes its answer may have."""

    connect_timeout: float = 10.0
    """Of each address of the name."""
    read_timeout: float = 10.0
    """From the connection to the last byte."""
    max_bytes: int = MAX_ANSWER_BYTES


@slotted.frozen
class Answer:
    """What a server answered."""

    status: int
    body: bytes


def parse_url(text: str, *, allows_http_on_loopback: bool = False) -> Url:
    """Return a URL that may be asked; raise ValueError with the rest of a sentence about it."""
    if not text or len(text) > LONGEST_URL:
        raise ValueError(f"must be a URL of 1 to {LONGEST_URL} characters")
    if not text.isascii() or any(one <= " " or one == "\x7f" for one in text):
        raise ValueError("must be a URL in ASCII without spaces")
    try:
        parts = urlsplit(text)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise ValueError("is not a URL") from None
    if parts.username is not None or parts.password is not None:
        raise ValueError("must not hold a user name or password")
    if not host or parts.fragment:
        raise ValueError("must be https://HOST/PATH, without '#'")
    is_local_http = parts.scheme == "http" and allows_http_on_loopback and _is_loopback(host)
    if parts.scheme != "https" and not is_local_http:
        raise ValueError("must begin with https://")
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    has_tls = not is_local_http
    return Url(host, port or (443 if has_tls else 80), path, has_tls)


def send(
    url: Url,
    *,
    body: bytes | None = None,
    headers: Mapping[str, str],
    context: ssl.SSLContext | None,
    limits: Limits,
) -> Answer:
    """Return the answer to a GET, or to a POST if there is a ``body``.

    ``context`` checks the server's certificate: by the system's authorities if it is None. Raises
    :class:`HttpsError`; an answer with any status is one.
    """
    kind = http.client.HTTPSConnection if url.has_tls else http.client.HTTPConnection
    with _explained(url, limits), contextlib.closing(kind(url.host, url.port)) as connection:
        connection.sock = sock = _connected(url, context, limits)
        with _deadline(sock, limits.read_timeout):
            if isinstance(sock, ssl.SSLSocket):
                sock.do_handshake()
            connection.request("GET" if body is None else "POST", url.path, body, dict(headers))
            with connection.getresponse() as response:
                return Answer(response.status, _body(response, url, limits.max_bytes))


def _connected(url: Url, context: ssl.SSLContext | None, limits: Limits) -> socket.socket:
    """Return a socket that is connected; the handshake of TLS comes under the deadline."""
    sock = socket.create_connection((url.host, url.port), limits.connect_timeout)
    sock.settimeout(limits.read_timeout)
    if not url.has_tls:
        return sock
    try:
        if context is None:
            context = ssl.create_default_context()
            context.minimum_version = ssl.TLSVersion.TLSv1_2
        return context.wrap_socket(sock, server_hostname=url.host, do_handshake_on_connect=False)
    except BaseException:
        sock.close()
        raise


def _body(response: http.client.HTTPResponse, url: Url, max_bytes: int) -> bytes:
    body = response.read(max_bytes + 1)
    if len(body) > max_bytes:
        raise HttpsError(f"{url} answers with more than {max_bytes} bytes")
    if response.length:
        raise HttpsError(f"{url} broke off its answer", is_retriable=True)
    return body


@contextlib.contextmanager
def _deadline(sock: socket.socket, seconds: float) -> Iterator[None]:
    """End the connection after some seconds.

    A timeout of the socket begins again with each byte, so a server could hold a thread for days.
    """

    is_over = threading.Event()

    def end() -> None:
        is_over.set()
        with contextlib.suppress(OSError):
            # Not the method of SSLSocket, which changes what another thread is reading from.
            socket.socket.shutdown(sock, socket.SHUT_RDWR)

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()
    try:
        yield
    except (OSError, http.client.HTTPException, HttpsError):
        if not is_over.is_set():
            raise
    finally:
        timer.cancel()
    if is_over.is_set():
        raise TimeoutError


@contextlib.contextmanager
def _explained(url: Url, limits: Limits) -> Iterator[None]:
    """Raise what ends a request as :class:`HttpsError`."""
    try:
        yield
    except ssl.SSLCertVerificationError as error:
        raise HttpsError(
            f"the certificate of {url.host} is not accepted: {error.verify_message}; check the "
            "host name, and the authorities that are trusted"
        ) from None
    except TimeoutError:
        seconds = max(limits.connect_timeout, limits.read_timeout)
        raise HttpsError(f"{url} did not answer within {seconds:g} s", is_retriable=True) from None
    except ssl.SSLError as error:
        raise HttpsError(f"TLS with {url} failed: {error.reason or 'it was ended'}") from None
    except http.client.HTTPException as error:
        kind = type(error).__name__
        raise HttpsError(f"{url} does not answer in HTTP ({kind})", is_retriable=True) from None
    except socket.gaierror:
        raise HttpsError(f"the name {url.host} is not known", is_retriable=True) from None
    except OSError as error:
        text = error.strerror or type(error).__name__
        raise HttpsError(f"cannot reach {url}: {text}", is_retriable=True) from None


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
