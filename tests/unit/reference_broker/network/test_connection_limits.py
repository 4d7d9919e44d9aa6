"""How many connections there may be, and how fast they may come."""

from __future__ import annotations

import pytest

from pyk.reference_broker.config.connection_counts import counts_by_ip
from pyk.reference_broker.network.connection_limits import (
    FULL_RETRY_MS,
    ConnectionCounts,
    ConnectionLimits,
    PlaceLimits,
)

HERE, THERE = "192.0.2.1", "192.0.2.2"
CLIENTS, BROKERS = "CLIENTS", "BROKERS"


def counts_of(limits: ConnectionLimits, rate_of_ip: float | None = None) -> ConnectionCounts:
    return ConnectionCounts(limits, lambda _: rate_of_ip)


def test_a_full_broker_accepts_nothing_until_a_connection_ends() -> None:
    counts = counts_of(ConnectionLimits(broker=PlaceLimits(count=1)))

    assert counts.wait_ms(CLIENTS, 0) == 0
    assert counts.enter(CLIENTS, HERE, 0) is None
    assert counts.wait_ms(CLIENTS, 0) == FULL_RETRY_MS
    counts.leave(CLIENTS, HERE)
    assert counts.wait_ms(CLIENTS, 0) == 0


def test_a_listener_has_a_limit_of_its_own() -> None:
    counts = counts_of(ConnectionLimits(listeners={CLIENTS: PlaceLimits(count=1)}))
    counts.enter(CLIENTS, HERE, 0)

    assert counts.wait_ms(CLIENTS, 0) == FULL_RETRY_MS
    assert counts.wait_ms(BROKERS, 0) == 0


def test_the_protected_listener_is_open_in_a_full_broker() -> None:
    limits = ConnectionLimits(broker=PlaceLimits(count=1, per_second=1), protected=BROKERS)
    counts = counts_of(limits)
    counts.enter(CLIENTS, HERE, 0)

    assert not counts.is_exceeded
    assert counts.wait_ms(BROKERS, 0) == 0
    counts.enter(BROKERS, HERE, 0)
    assert counts.is_exceeded


def test_an_address_has_a_limit_and_some_have_another() -> None:
    counts = counts_of(ConnectionLimits(count_per_ip=1, counts_by_ip={THERE: 2}))

    assert [counts.enter(CLIENTS, HERE, 0) for _ in range(2)] == [None, 0]
    assert [counts.enter(CLIENTS, THERE, 0) for _ in range(3)] == [None, None, 0]
    assert counts.total == 3


def test_a_connection_that_ends_leaves_room_for_one_more_of_its_address() -> None:
    counts = counts_of(ConnectionLimits(count_per_ip=2))
    for _ in range(2):
        counts.enter(CLIENTS, HERE, 0)

    counts.leave(CLIENTS, HERE)

    assert [counts.enter(CLIENTS, HERE, 0) for _ in range(2)] == [None, 0]


@pytest.mark.parametrize(
    "limits",
    [
        ConnectionLimits(broker=PlaceLimits(per_second=5)),
        ConnectionLimits(listeners={CLIENTS: PlaceLimits(per_second=5)}),
    ],
    ids=["broker", "listener"],
)
def test_connections_are_accepted_at_a_rate(limits: ConnectionLimits) -> None:
    counts, accepted = counts_of(limits), 0

    for now_ms in range(0, 60_000, 10):
        if not counts.wait_ms(CLIENTS, now_ms):
            counts.enter(CLIENTS, HERE, now_ms)
            accepted += 1

    # Ten windows of five at once, then five a second.
    assert 300 <= accepted <= 360


def test_a_rate_of_zero_accepts_nothing() -> None:
    counts = counts_of(ConnectionLimits(broker=PlaceLimits(per_second=0)))

    assert counts.wait_ms(CLIENTS, 0) == 1000


def test_an_address_that_connects_too_fast_is_closed_after_a_while() -> None:
    counts = counts_of(ConnectionLimits(), rate_of_ip=1.0)

    outcomes = [counts.enter(CLIENTS, HERE, 0) for _ in range(11)]

    assert outcomes == [None] * 10 + [1000]
    assert counts.total == 10


def test_connections_that_are_closed_do_not_lengthen_the_wait_of_an_address() -> None:
    counts = counts_of(ConnectionLimits(), rate_of_ip=1.0)

    for _ in range(10):
        counts.enter(CLIENTS, HERE, 0)

    closed = [counts.enter(CLIENTS, HERE, now_ms) for now_ms in range(500, 10_000, 100)]

    assert None not in closed
    assert counts.enter(CLIENTS, HERE, 12_000) is None


def test_addresses_that_are_gone_are_forgotten() -> None:
    counts = counts_of(ConnectionLimits(), rate_of_ip=1.0)

    for number in range(10_000):
        counts.enter(CLIENTS, f"host-{number}", number * 100)
        counts.leave(CLIENTS, f"host-{number}")

    assert len(counts._accepted_by_ip) < 1_100
    assert not counts._by_ip


def test_limits_of_addresses_are_read() -> None:
    assert counts_by_ip("") == {}
    assert counts_by_ip("192.0.2.1:3, [::1]:4") == {"192.0.2.1": 3, "::1": 4}
    assert counts_by_ip("2001:DB8:0:0::1:5") == {"2001:db8::1": 5}


@pytest.mark.parametrize("text", ["192.0.2.1", ":3", "192.0.2.1:many", "app.example:3"])
def test_what_is_no_limit_of_addresses_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="must be address:count"):
        counts_by_ip(text)
