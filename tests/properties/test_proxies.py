"""Whatever a proxy sends, and whatever its URL is: a connection to the broker, or a typed error."""

from __future__ import annotations

import contextlib

from hypothesis import example, given
from hypothesis import strategies as st

from pyk.clients.errors import ProxyAuthenticationError
from pyk.clients.security.proxies import SCHEMES, Proxy, parse_proxy
from pyk.clients.security.tunnels import TunnelError
from pyk.runtime.secret import Secret

HEADS = [b"", b"\x05\0", b"\x05\x02\x01\0", b"\x05\0\x05\0\0", b"HTTP/1.1 200 OK\r\n", b"HTTP/1.0 "]
ANSWERS = st.tuples(st.sampled_from(HEADS), st.binary(max_size=400)).map(b"".join)


@given(st.sampled_from(SCHEMES), st.booleans(), ANSWERS, st.integers(1, 50))
@example("http", False, b"HTTP/1.1 200 \xff\r\n\r\n", 1)
def test_any_answer_leads_to_the_broker_or_is_a_typed_error(
    scheme: str, has_login: bool, answer: bytes, piece: int
) -> None:
    login = ("alice", Secret("secret")) if has_login else (None, None)
    tunnel, taken = Proxy(scheme, "proxy", 1, *login).tunnel("kafka", 9092), 0

    with contextlib.suppress(TunnelError, ProxyAuthenticationError, StopIteration):
        step = next(tunnel)
        while True:
            if isinstance(step, bytes):
                step = next(tunnel)
                continue
            assert step > 0
            arrived = answer[taken : taken + min(step, piece)]
            taken += len(arrived)
            step = tunnel.send(arrived)

    assert taken <= len(answer)


@given(st.text(max_size=60) | st.from_regex(r"(socks5h?|http)://[^ ]{0,30}:[0-9]{1,6}"))
def test_any_url_is_a_proxy_or_a_value_error_that_does_not_show_it(url: str) -> None:
    proxy, said = None, ""
    try:
        proxy = parse_proxy(url)
    except ValueError as error:
        said = str(error)

    assert len(url) < 8 or url not in said
    if proxy is not None:
        assert 0 < proxy.port < 65_536
        assert parse_proxy(str(proxy)).host == proxy.host != ""
