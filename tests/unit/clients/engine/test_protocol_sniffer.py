from __future__ import annotations

from pyk.clients.engine.protocol_sniffer import explain
from pyk.runtime.network.frame_reader import FrameSizeError


def test_a_peer_of_another_protocol_is_recognised_by_its_first_bytes() -> None:
    first_bytes = b"HTTP/1.1 400 Bad Request"
    size = int.from_bytes(first_bytes[:4], "big")

    assert "this is a web server" in explain(FrameSizeError(size, 1000, first_bytes))


def test_a_response_that_is_too_large_names_the_option() -> None:
    message = explain(FrameSizeError(3_000_149, 100_000, b"\0\x2d\xc7\x55"))

    assert message == (
        "its response has 3000149 bytes, but max_response_bytes is 100000: "
        "if it is a Kafka broker, raise that option"
    )


def test_a_size_that_no_frame_has_shows_the_first_bytes() -> None:
    assert "begins with b'\\xff" in explain(FrameSizeError(-1, 1000, b"\xff" * 8))
