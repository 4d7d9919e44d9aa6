"""How long a member has been refused, and when that is reported."""

from __future__ import annotations

import pytest

from pyk.clients.consumer.group.join_failures import JoinFailures
from pyk.clients.errors import CoordinatorNotAvailableError, KafkaError, NotCoordinatorError

FIRST, LAST = CoordinatorNotAvailableError("first"), NotCoordinatorError("last")


@pytest.fixture
def failures() -> JoinFailures:
    """Failures that began 100 seconds after the clock did, and have gone on for 9 seconds."""
    failures = JoinFailures(raise_after=30.0)
    failures.failed(FIRST, 100.0)
    failures.failed(LAST, 109.0)
    return failures


def test_failures_are_a_problem_ten_seconds_after_the_first(failures: JoinFailures) -> None:
    assert [failures.problem(now) for now in (109.9, 110.0)] == [None, LAST]
    assert failures.seconds(110.0) == 10.0


def test_the_log_is_warned_once_a_minute(failures: JoinFailures) -> None:
    times = (109.0, 110.0, 111.0, 169.9, 170.0, 171.0)
    assert [failures.take_warning(now) is LAST for now in times] == [0, 1, 0, 0, 1, 0]


def test_the_error_is_raised_once_per_limit(failures: JoinFailures) -> None:
    times = (129.9, 130.0, 131.0, 159.9, 160.0, 161.0)
    assert [failures.take_error(now) is LAST for now in times] == [0, 1, 0, 0, 1, 0]
    assert failures.must_raise(190.0)


def test_a_success_ends_it_all(failures: JoinFailures) -> None:
    assert failures.take_warning(130.0) is LAST
    assert failures.take_error(130.0) is LAST
    failures.succeeded()
    assert told(failures, 131.0) == (None, None, None)
    assert failures.seconds(131.0) == 0.0

    failures.failed(FIRST, 131.0)
    assert told(failures, 140.0) == (None, None, None)
    assert told(failures, 161.0) == (FIRST, FIRST, FIRST)


def test_an_outage_is_over_when_the_coordinator_has_forgotten_the_member(
    failures: JoinFailures,
) -> None:
    failures.forgotten(LAST, 131.0)
    assert told(failures, 140.0) == (None, None, None)
    assert told(failures, 161.0) == (LAST, LAST, LAST)


def test_a_member_that_is_forgotten_again_and_again_fails_since_the_first_time(
    failures: JoinFailures,
) -> None:
    for now in (131.0, 141.0, 151.0):
        failures.forgotten(LAST, now)
    assert failures.seconds(161.0) == 30.0

    failures.succeeded()
    failures.failed(FIRST, 162.0)
    failures.forgotten(LAST, 191.0)
    assert failures.seconds(192.0) == 1.0


def told(failures: JoinFailures, now: float) -> tuple[KafkaError | None, ...]:
    return failures.problem(now), failures.take_warning(now), failures.take_error(now)
