"""Requests over HTTPS: what is asked, and what is refused."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from pyk.runtime.https import HttpsError, Limits, parse_url, send
from support.certificates import LONG_AGO, Authority
from support.identity_provider import Answer, IdentityProvider

SECRET = {"Authorization": "Basic canary"}


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture
def provider(authority: Authority) -> Iterator[IdentityProvider]:
    provider = IdentityProvider(authority.server(authority.issue("localhost")))
    yield provider
    provider.close()


def ask(
    url: str, authority: Authority, body: bytes | None = None, **limits: float
) -> tuple[int, bytes]:
    context = ssl.create_default_context(cafile=str(authority.file))
    given = Limits(**limits)  # type: ignore[arg-type]
    answer = send(parse_url(url), body=body, headers=SECRET, context=context, limits=given)
    return answer.status, answer.body


def failure(provider: IdentityProvider, authority: Authority, **limits: float) -> HttpsError:
    with pytest.raises(HttpsError) as caught:
        ask(provider.url("/token?key=canary"), authority, b"secret=canary", **limits)
    assert "canary" not in str(caught.value)
    return caught.value


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("https://login.example", "https://login.example/"),
        ("https://login.example:8443/a/b?c=d", "https://login.example:8443/a/b"),
        ("https://[::1]/token", "https://[::1]/token"),
    ],
)
def test_a_url_is_shown_without_its_query(text: str, shown: str) -> None:
    assert str(parse_url(text)) == shown


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "1 to 2048"),
        ("https://h/" + "x" * 2048, "1 to 2048"),
        ("http://login.example/token", "https://"),
        ("file:///etc/passwd", "https://HOST/PATH"),
        ("file://localhost/etc/passwd", "begin with https://"),
        ("ftp://login.example/", "begin with https://"),
        ("https:///token", "https://HOST/PATH"),
        ("https://alice:canary@login.example/", "user name or password"),
        ("https://login.example/#here", "without '#'"),
        ("https://login.example/a b", "without spaces"),
        ("https://login.example/\r\nHost: x", "without spaces"),
        ("https://lögin.example/", "in ASCII"),
        ("https://login.example:99999/", "is not a URL"),
        ("https://[::1", "is not a URL"),
        ("http://localhost/token", "begin with https://"),
    ],
)
def test_other_urls_are_refused(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words) as caught:
        parse_url(text)

    assert "canary" not in str(caught.value)


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.9.9.9", "[::1]"])
def test_http_is_for_this_machine_only_and_has_to_be_allowed(host: str) -> None:
    assert not parse_url(f"http://{host}/", allows_http_on_loopback=True).has_tls
    for other in ("login.example", "10.0.0.1", "localhost.example"):
        with pytest.raises(ValueError, match="begin with https://"):
            parse_url(f"http://{other}/", allows_http_on_loopback=True)


def test_a_form_is_posted_and_the_answer_returned(
    provider: IdentityProvider, authority: Authority
) -> None:
    provider.answers = lambda _: Answer(b"hello", 201)

    assert ask(provider.url("/token?tenant=1"), authority, b"a=b") == (201, b"hello")
    (asked,) = provider.asked
    assert (asked.method, asked.path, asked.body) == ("POST", "/token?tenant=1", "a=b")
    assert asked.headers["Authorization"] == "Basic canary"
    assert asked.headers["Host"] == f"localhost:{provider.port}"


@pytest.mark.parametrize("target", ["file:///etc/passwd", "http://localhost/", "/other"])
def test_a_redirect_is_an_answer_and_not_followed(
    target: str, provider: IdentityProvider, authority: Authority
) -> None:
    provider.answers = lambda _: Answer(b"", 302, {"Location": target})

    assert ask(provider.url(), authority)[0] == 302
    assert len(provider.asked) == 1


def test_the_proxy_of_the_environment_is_not_asked(
    provider: IdentityProvider, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:1")

    assert ask(provider.url(), authority)[0] == 200


@pytest.mark.parametrize("chunked", [False, True])
def test_an_answer_that_is_too_large_is_refused_unread(
    chunked: bool, provider: IdentityProvider, authority: Authority
) -> None:
    head = b"HTTP/1.1 200 OK\r\n"
    length = b"Transfer-Encoding: chunked\r\n\r\nfffffff\r\n" if chunked else b"\r\n"
    provider.answers = lambda _: Answer(raw=head + length + b"x" * 100_000)

    assert "more than 5000 bytes" in str(failure(provider, authority, max_bytes=5000))


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"", "does not answer in HTTP"),
        (b"SSH-2.0-canary\r\n", "does not answer in HTTP"),
        (b"HTTP/1.1 200 OK\r\n" + b"A: canary\r\n" * 1000, "does not answer in HTTP"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\ncanary", "broke off"),
    ],
)
def test_what_is_not_http_is_told_and_may_be_asked_again(
    raw: bytes, words: str, provider: IdentityProvider, authority: Authority
) -> None:
    provider.answers = lambda _: Answer(raw=raw)

    error = failure(provider, authority)

    assert words in str(error)
    assert error.is_retriable


def test_a_server_that_sends_a_byte_now_and_then_is_given_up(
    provider: IdentityProvider, authority: Authority
) -> None:
    provider.answers = lambda _: Answer(drips=True)

    error = failure(provider, authority, read_timeout=0.2)

    assert "did not answer within" in str(error)
    assert error.is_retriable


def test_a_handshake_that_never_ends_is_given_up(authority: Authority) -> None:
    is_over = threading.Event()

    def drip(listening: socket.socket) -> None:
        accepted, _ = listening.accept()
        with accepted, contextlib.suppress(OSError):
            accepted.sendall(b"\x16\x03\x03\x3f\xff")
            while not is_over.wait(0.02):
                accepted.sendall(b"\x02")

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=drip, args=(listening,))
        thread.start()
        url = f"https://127.0.0.1:{listening.getsockname()[1]}/"
        try:
            with pytest.raises(HttpsError, match="did not answer within") as caught:
                ask(url, authority, read_timeout=0.2, connect_timeout=0.2)
        finally:
            is_over.set()
            thread.join()

    assert caught.value.is_retriable


@pytest.mark.parametrize(
    ("names", "expires", "words"),
    [(["other.example"], None, "localhost"), (["localhost"], LONG_AGO, "expired")],
)
def test_certificates_are_checked(
    names: list[str], expires: object, words: str, authority: Authority
) -> None:
    leaf = authority.issue(*names, **({"expires": expires} if expires else {}))  # type: ignore[arg-type]
    provider = IdentityProvider(authority.server(leaf))
    try:
        error = failure(provider, authority)
    finally:
        provider.close()

    assert "certificate of localhost is not accepted" in str(error)
    assert not error.is_retriable
    assert provider.asked == []


def test_an_authority_that_is_not_known_is_refused(
    provider: IdentityProvider, tmp_path: Path
) -> None:
    assert "is not accepted" in str(failure(provider, Authority(tmp_path)))


def test_a_port_where_nobody_listens_is_told(authority: Authority) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]

    with pytest.raises(HttpsError, match=f"cannot reach https://127.0.0.1:{port}/") as caught:
        ask(f"https://127.0.0.1:{port}/", authority)
    assert caught.value.is_retriable
