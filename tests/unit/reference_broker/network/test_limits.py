from __future__ import annotations

import logging

import pytest

from pyk.reference_broker.network.limits import ByteBudget, LogLimiter, Progress
from pyk.runtime.virtual_time import VirtualClock


def test_a_budget_is_exhausted_only_above_its_limit() -> None:
    budget = ByteBudget(10)

    budget.take(10)
    assert not budget.is_exhausted
    budget.take(1)
    assert budget.is_exhausted
    budget.give_back(5)

    assert not budget.is_exhausted
    assert budget.used == 6


def test_a_flood_of_warnings_becomes_a_few_and_a_count(caplog: pytest.LogCaptureFixture) -> None:
    clock = VirtualClock()
    limiter = LogLimiter(logging.getLogger("peers"), clock.now, burst=2, period=10)

    for number in range(5):
        limiter.warning("refused %d", number)
    clock.advance(10)
    limiter.warning("refused %d", 5)

    assert caplog.messages == [
        "refused 0",
        "refused 1",
        "refused 5 (3 similar ones were not logged)",
    ]


def overdue(
    progress: Progress, now: float, *, receiving: int = 0, handling: bool = False
) -> object:
    return progress.overdue(now, max_idle=600, receiving_bytes=receiving, is_handling=handling)


def test_a_connection_may_be_idle_for_so_long() -> None:
    progress = Progress(last_active=0)

    assert overdue(progress, 600) is None
    assert overdue(progress, 601) == "it is idle"
    assert overdue(progress, 601, handling=True) is None


def test_a_request_that_trickles_in_is_given_up() -> None:
    progress = Progress(last_active=0)

    assert overdue(progress, 5, receiving=100) is None
    assert overdue(progress, 34, receiving=100) is None
    assert overdue(progress, 36, receiving=100) == "its request does not arrive"


def test_a_large_request_may_take_longer() -> None:
    progress = Progress(last_active=0)

    overdue(progress, 5, receiving=10_000_000)

    assert overdue(progress, 1000, receiving=10_000_000) is None
    assert overdue(progress, 1036, receiving=10_000_000) is not None


def test_a_request_that_arrives_resets_the_idle_time() -> None:
    progress = Progress(last_active=0)
    overdue(progress, 5, receiving=100)

    progress.received(30)

    assert overdue(progress, 40, receiving=100) is None


def test_a_peer_that_does_not_read_is_given_up() -> None:
    progress = Progress(last_active=0)
    progress.sending(0, 100_000)

    assert overdue(progress, 39) is None
    assert overdue(progress, 41) == "it does not read its responses"
    progress.sent(41)
    assert overdue(progress, 41) is None
