"""URLs of proxies, and what is said to SOCKS5 and HTTP proxies."""

from __future__ import annotations

import base64

import pytest

from pyk.clients.errors import ProxyAuthenticationError
from pyk.clients.security.proxies import Proxy, parse_proxy
from pyk.clients.security.tunnels import TunnelError
from pyk.runtime.network import Tunnel

GRANTED = b"\x05\0\0\x01\x7f\0\0\x01\x23\x84"


def sent_through(tunnel: Tunnel, received: bytes, piece: int = 1 << 20) -> bytes:
    """Return what the steps send to a proxy that answers all this, in pieces."""
    sent = b""
    try:
        step = next(tunnel)
        while True:
            if isinstance(step, bytes):
                sent += step
                step = next(tunnel)
            else:
                size = min(step, piece)
                arrived, received = received[:size], received[size:]
                step = tunnel.send(arrived)
    except StopIteration:
        assert received == b"", "the broker's bytes were taken"
    return sent


def tunnel(url: str, host: str = "kafka", port: int = 9092) -> Tunnel:
    return parse_proxy(url).tunnel(host, port)


def test_user_name_and_password_are_percent_decoded_and_not_shown() -> None:
    proxy = parse_proxy("socks5h://a%40b:k4n%2Fri3n@proxy.example:1080")

    assert (proxy.host, proxy.port, proxy.username) == ("proxy.example", 1080, "a@b")
    assert proxy.password is not None
    assert proxy.password.reveal() == "k4n/ri3n"
    assert str(proxy) == "socks5h://proxy.example:1080"
    assert "k4n" not in repr(proxy)


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("", "must be a URL"),
        ("proxy:1080", "must be a URL"),
        ("socks5://", "must be a URL"),
        ("socks5://canary@", "must be a URL"),
        ("https://proxy:1", "must begin with socks5://, socks5h://, http://"),
        ("socks4://canary:canary@proxy:1", "must begin with"),
        ("socks5://proxy", "must have a port"),
        ("http://proxy:0", "must have a port"),
        ("http://proxy:65536", "must have a port"),
        ("http://pro xy:1", "invalid host name"),
        ("http://:canary@proxy:1", "1 to 255 bytes"),
        (f"http://u:{'canary' * 50}@proxy:1", "1 to 255 bytes"),
        ("http://u:canary%ff@proxy:1", "not UTF-8"),
    ],
)
def test_urls_that_cannot_be_used_are_refused_without_showing_them(url: str, words: str) -> None:
    with pytest.raises(ValueError, match=words) as caught:
        parse_proxy(url)

    assert "canary" not in str(caught.value)


def test_only_socks5_leaves_names_to_this_machine() -> None:
    urls = ("socks5://p:1", "socks5h://p:1", "http://p:1")

    assert [parse_proxy(url).resolves_names for url in urls] == [False, True, True]


@pytest.mark.parametrize("piece", [1, 3, 1000])
@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("kafka", b"\x03\x05kafka"),
        ("kafka.example.", b"\x03\x0ekafka.example."),
        ("bücher", b"\x03\x0dxn--bcher-kva"),
        ("10.0.0.7", b"\x01\x0a\0\0\x07"),
        ("::1", b"\x04" + b"\0" * 15 + b"\x01"),
    ],
)
def test_socks_asks_for_names_and_addresses(host: str, address: bytes, piece: int) -> None:
    sent = sent_through(tunnel("socks5h://p:1", host), b"\x05\0" + GRANTED, piece)

    assert sent == b"\x05\x01\0" + b"\x05\x01\0" + address + b"\x23\x84"


@pytest.mark.parametrize("bound", [b"\x01" + b"\0" * 6, b"\x03\x02ab\0\0", b"\x04" + b"\0" * 18])
def test_all_of_a_socks_answer_is_taken_and_nothing_more(bound: bytes) -> None:
    sent_through(tunnel("socks5h://p:1"), b"\x05\0" + b"\x05\0\0" + bound)


def test_socks_logs_in_if_the_proxy_wants_that() -> None:
    url = "socks5h://alice:secret@p:1"

    sent = sent_through(tunnel(url), b"\x05\x02" + b"\x01\0" + GRANTED)

    assert sent.startswith(b"\x05\x02\0\x02" + b"\x01\x05alice\x06secret" + b"\x05\x01\0")


def test_a_login_that_socks_does_not_want_is_not_sent() -> None:
    sent = sent_through(tunnel("socks5h://alice:secret@p:1"), b"\x05\0" + GRANTED)

    assert b"secret" not in sent


@pytest.mark.parametrize("answer", [b"\x05\x02" + b"\x01\x01", b"\x05\xff"])
def test_a_login_that_socks_refuses_is_an_error_of_its_own(answer: bytes) -> None:
    with pytest.raises(ProxyAuthenticationError) as caught:
        sent_through(tunnel("socks5h://alice:canary@p:1"), answer)

    assert str(caught.value) == (
        "the proxy socks5h://p:1 refused the login as 'alice': check user name and password of "
        "proxy="
    )
    assert caught.value.fatal
    assert not caught.value.retriable


def test_a_login_that_is_missing_is_told() -> None:
    with pytest.raises(ProxyAuthenticationError, match="requires a login: write proxy="):
        sent_through(tunnel("socks5h://p:1"), b"\x05\xff")


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (b"", "closed the connection"),
        (b"\x05", "closed the connection"),
        (b"\x05\0\x05\0\0\x01\0", "closed the connection"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "does not answer as a SOCKS5 proxy"),
        (b"\x04\0", "does not answer as a SOCKS5 proxy"),
        (b"\x05\x01", "a login of kind 1"),
        (b"\x05\x02", "a login of kind 2"),
        (b"\x05\0\x04\0\0\x01", "does not answer as a SOCKS5 proxy"),
        (b"\x05\0\x05\x02\0\x01", "its rules do not allow"),
        (b"\x05\0\x05\x04\0\x01", "not known to the proxy"),
        (b"\x05\0\x05\x05\0\x01", "the broker refused the connection"),
        (b"\x05\0\x05\x63\0\x01", "refuses with code 99"),
        (b"\x05\0\x05\0\0\x09", "unknown kind 9"),
    ],
)
def test_answers_of_socks_that_do_not_lead_to_the_broker(answer: bytes, words: str) -> None:
    with pytest.raises(TunnelError, match=words):
        sent_through(tunnel("socks5h://p:1"), answer)


@pytest.mark.parametrize("piece", [1, 1000])
@pytest.mark.parametrize(
    ("host", "target"),
    [("kafka", b"kafka:9092"), ("::1", b"[::1]:9092"), ("10.0.0.7", b"10.0.0.7:9092")],
)
def test_http_asks_for_names_and_addresses(host: str, target: bytes, piece: int) -> None:
    answer = b"HTTP/1.1 200 Connection established\r\nVia: x\r\n\r\n"

    sent = sent_through(tunnel("http://p:1", host), answer, piece)

    assert sent == b"CONNECT %b HTTP/1.1\r\nHost: %b\r\n\r\n" % (target, target)


def test_http_logs_in_at_once() -> None:
    sent = sent_through(tunnel("http://alice:secret@p:1"), b"HTTP/1.0 200\r\n\r\n")

    (line,) = [one for one in sent.split(b"\r\n") if one.startswith(b"Proxy-Authorization: Basic ")]
    assert base64.b64decode(line.split()[-1]) == b"alice:secret"


@pytest.mark.parametrize(
    ("url", "words"),
    [("http://p:1", "requires a login"), ("http://alice:canary@p:1", "refused the login as 'alic")],
)
def test_a_login_that_http_refuses_is_an_error_of_its_own(url: str, words: str) -> None:
    with pytest.raises(ProxyAuthenticationError, match=words) as caught:
        sent_through(tunnel(url), b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")

    assert "canary" not in str(caught.value)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (b"", "closed the connection"),
        (b"HTTP/1.1 200 OK\r\n", "closed the connection"),
        (b"\0\0\0\x01", "does not answer as an HTTP proxy"),
        (b"HTTP/2 200\r\n\r\n", "does not answer as an HTTP proxy"),
        (b"HTTP/1.1 " + b"x" * 20_000, "does not answer as an HTTP proxy"),
        (b"HTTP/1.1 403 No\x1b[2J\r\n\r\n", r"HTTP 403 No \[2J: its rules do not allow"),
        (b"HTTP/1.1 502 Bad Gateway\r\n\r\n<html>", "HTTP 502 Bad Gateway: it cannot reach"),
        (b"HTTP/1.1 302\r\nLocation: http://evil/\r\n\r\n", "answers HTTP 302$"),
        (b"HTTP/1.1 200 OK\r\n\r\n<html>", "more than the response"),
        (b"HTTP/1.1 200 OK\r\n\r\n\r\n\r\n", "more than the response"),
    ],
)
def test_answers_of_http_that_do_not_lead_to_the_broker(answer: bytes, words: str) -> None:
    with pytest.raises(TunnelError, match=words):
        sent_through(tunnel("http://p:1"), answer)


@pytest.mark.parametrize("scheme", ["http", "socks5h"])
@pytest.mark.parametrize(
    "host", ["", "a b", "kafka\r\nX-Evil: 1", "kafka\0", "a/b", "user@kafka", "k" * 256]
)
def test_no_name_that_a_broker_makes_up_reaches_the_proxy(host: str, scheme: str) -> None:
    with pytest.raises(TunnelError, match="cannot be asked for a host"):
        next(Proxy(scheme, "p", 1).tunnel(host, 9092))
