"""When a connection logs in again before its session ends (KIP-368)."""

from __future__ import annotations

from math import inf

import pytest

from pyk.clients.engine.reconnect import next_attempt, times_of_session


@pytest.mark.parametrize(("chance", "at"), [(0.0, 95.0), (0.5, 100.0), (1.0, 105.0)])
def test_a_login_comes_at_85_to_95_percent_of_a_session(chance: float, at: float) -> None:
    assert times_of_session(10.0, 100.0, chance) == (pytest.approx(at), 110.0)


@pytest.mark.parametrize("lifetime", [0.0, 366 * 86_400.0])
def test_a_session_without_an_end_needs_no_other_login(lifetime: float) -> None:
    assert times_of_session(10.0, lifetime, 0.5) == (inf, inf)


@pytest.mark.parametrize(
    ("left", "wait"), [(100.0, 10.0), (20.0, 10.0), (8.0, 4.0), (1.0, 0.5), (0.9, None)]
)
def test_a_login_that_could_not_begin_is_tried_again_while_the_session_lasts(
    left: float, wait: float | None
) -> None:
    assert next_attempt(50.0, 50.0 + left) == (None if wait is None else 50.0 + wait)
