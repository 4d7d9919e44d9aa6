"""Addresses of IP version 6 are read and printed with brackets."""

from __future__ import annotations

import pytest

from pyk.reference_broker import Cluster
from support.pyk_command import run


def test_commands_work_on_a_broker_that_is_reached_by_ip_version_6() -> None:
    with Cluster(host="::1") as cluster:
        b = cluster.bootstrap
        created = run("topic", "create", "orders", "-b", b)
        produced = run("produce", "orders", "-b", b, stdin="one\n")
        consumed = run("consume", "orders", "-b", b)
        shown = run("cluster", "-b", b, "--json")
        checked = run("doctor", "-b", b, "-t", "orders", "--json")

    assert b.startswith("[::1]:")
    assert [one.code for one in (created, produced, consumed, shown, checked)] == [0] * 5
    assert consumed.lines == ["one"]
    assert checked.json[0]["subject"] == b
    assert f"brokers 0 ({b})" in [one["seen"] for one in checked.json]


@pytest.mark.parametrize(
    ("bootstrap", "code", "said"),
    [
        ("[::1]:1", 3, "[::1]:1: TCP: connection refused"),
        ("::1:9092", 2, "'[::1]:9092' for IPv6"),
        ("::1", 2, "'[::1]:9092' for IPv6"),
        ("[::1]", 2, "'[::1]:9092' for IPv6"),
        ("[::1]:port", 2, "whose port is not a number"),
    ],
)
def test_a_wrong_address_is_explained_with_brackets(bootstrap: str, code: int, said: str) -> None:
    ran = run("topic", "list", "-b", bootstrap)

    assert ran.code == code
    assert said in ran.err
