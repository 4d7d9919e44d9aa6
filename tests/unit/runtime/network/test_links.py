"""The links of a network in memory: which are open, and what happens to data that wait."""

from __future__ import annotations

import pytest

from pyk.runtime.network.links import Links


@pytest.fixture
def links() -> Links:
    links = Links(latency=0.01)
    for name in ("alice", "bob", "carol", "broker"):
        links.add_host(name)
    return links


def is_open(links: Links, source: str, target: str) -> bool:
    return links.link(source, target).is_open


@pytest.mark.parametrize(("source", "target"), [("alice", "broker"), ("broker", "alice")])
def test_nothing_passes_to_or_from_an_isolated_host(links: Links, source: str, target: str) -> None:
    links.link(source, target)

    links.isolate("broker")

    assert not is_open(links, source, target)
    assert is_open(links, "alice", "bob")


def test_a_link_that_is_used_first_while_its_host_is_isolated_is_closed(links: Links) -> None:
    links.isolate("broker")

    assert not is_open(links, "carol", "broker")


def test_healing_everything_ends_isolation(links: Links) -> None:
    links.isolate("broker")

    links.heal()

    assert is_open(links, "alice", "broker")


def test_healing_one_link_of_an_isolated_host_leaves_it_isolated(links: Links) -> None:
    links.isolate("broker")

    links.heal("alice", "broker")

    assert not is_open(links, "alice", "broker")


def test_what_waits_passes_once_and_in_order_when_a_link_is_healed(links: Links) -> None:
    passed: list[str] = []
    links.cut("alice", "broker")
    held = links.link("alice", "broker").held
    held += [lambda: passed.append("first"), lambda: passed.append("second")]

    links.heal()
    links.cut("alice", "broker")
    links.heal()

    assert passed == ["first", "second"]
