"""Addresses of brokers as text."""

from __future__ import annotations

import pytest

from pyk.reference_broker.address import format_address, parse_address


@pytest.mark.parametrize(
    ("host", "port", "text"),
    [("kafka", 9092, "kafka:9092"), ("127.0.0.1", 1, "127.0.0.1:1"), ("::1", 2, "[::1]:2")],
)
def test_an_ipv6_address_is_in_brackets(host: str, port: int, text: str) -> None:
    assert format_address(host, port) == text
    assert parse_address(text) == (host, port)


@pytest.mark.parametrize(
    ("text", "host"), [("kafka", "kafka"), ("[::1]", "::1"), (" 10.0.0.1 ", "10.0.0.1")]
)
def test_the_port_may_be_left_out(text: str, host: str) -> None:
    assert parse_address(text) == (host, None)


@pytest.mark.parametrize(
    "text",
    ["", ":9092", "kafka:", "kafka:0", "kafka:70000", "kafka:http", "::1", "PLAINTEXT://a:1"],
)
def test_an_invalid_address_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"not HOST or HOST:PORT|a number from 1"):
        parse_address(text)
