"""Waits before something is tried again."""

from __future__ import annotations

import pytest

from pyk.clients.engine.backoff import Backoff
from pyk.clients.engine.reconnect import ConnectLimiter, Reconnect


def test_waits_double_up_to_the_maximum() -> None:
    backoff = Backoff(0.1, 1.0)

    waits = [backoff.delay(failures, chance=0.5) for failures in range(7)]

    assert waits == pytest.approx([0.0, 0.1, 0.2, 0.4, 0.8, 1.0, 1.0])


@pytest.mark.parametrize(("chance", "wait"), [(0.0, 0.8), (0.5, 1.0), (1.0, 1.2)])
def test_chance_makes_a_wait_a_fifth_shorter_or_longer(chance: float, wait: float) -> None:
    assert Backoff(1.0, 10.0).delay(1, chance) == pytest.approx(wait)


def test_any_number_of_failures_has_a_wait() -> None:
    assert Backoff(0.05, 1.0).delay(10**9, chance=0.5) == 1.0


def reconnect() -> Reconnect:
    return Reconnect(Backoff(0.05, 1.0), Backoff(10.0, 30.0))


def test_a_node_that_fails_is_left_alone_longer_each_time() -> None:
    node = reconnect()
    waits = []
    for _ in range(6):
        node.failed(100.0, chance=0.5)
        waits.append(node.due_in(100.0))

    assert waits == pytest.approx([0.05, 0.1, 0.2, 0.4, 0.8, 1.0])


def test_a_node_that_accepts_and_closes_is_backed_off_from_longer_each_time() -> None:
    node = reconnect()
    for _ in range(6):
        node.failed(100.0, chance=0.5)
    node.lost(200.0, chance=0.5)

    assert node.due_in(200.0) == pytest.approx(1.0)


def test_a_node_that_was_of_use_is_connected_to_again_soon() -> None:
    node = reconnect()
    for _ in range(6):
        node.failed(100.0, chance=0.5)
    node.proved()
    node.lost(200.0, chance=0.5)

    assert node.due_in(200.0) == pytest.approx(0.05)


def test_a_node_that_moved_is_connected_to_at_once() -> None:
    node = reconnect()
    node.failed(100.0, chance=0.5)
    node.moved(100.0)

    assert node.due_in(100.0) == 0.0


def test_an_address_is_sure_five_seconds_after_its_last_change() -> None:
    node = reconnect()
    node.moved(100.0)
    node.moved(102.0)

    assert [node.has_settled(now) for now in (106.9, 107.0)] == [False, True]


def test_connecting_may_take_longer_after_each_failure() -> None:
    node = reconnect()
    timeouts = []
    for _ in range(4):
        timeouts.append(node.setup_timeout_for(chance=0.5))
        node.failed(0.0, chance=0.5)

    assert timeouts == pytest.approx([10.0, 20.0, 30.0, 30.0])


def test_connecting_is_capped_whatever_goes_wrong() -> None:
    limiter = ConnectLimiter(10.0, 5.0, 5.0)

    waits = [limiter.due_in(0.0) for _ in range(8)]

    assert waits == pytest.approx([0, 0, 0, 0, 0, 0.1, 0.2, 0.3])
    assert limiter.due_in(60.0) == 0.0
