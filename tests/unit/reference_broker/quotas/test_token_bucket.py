"""Permits that fill at a rate, and debts."""

from __future__ import annotations

import pytest

from pyk.reference_broker.quotas.sampled_rate import LONGEST_THROTTLE_MS
from pyk.reference_broker.quotas.token_bucket import TokenBucket


def test_a_bucket_begins_full() -> None:
    bucket = TokenBucket(10, 5)

    assert bucket.permits(123) == 50
    assert bucket.is_idle(123)


def test_debts_are_paid_at_the_rate() -> None:
    bucket = TokenBucket(10, 5)

    bucket.take(60, 0)

    assert bucket.permits(0) == -10
    assert bucket.throttle_ms(0) == 2000
    assert bucket.throttle_ms(500) == 1500
    assert bucket.throttle_ms(2000) == 0


def test_no_more_is_saved_up_than_the_bucket_holds() -> None:
    bucket = TokenBucket(10, 5)
    bucket.take(50, 0)

    assert not bucket.is_idle(9_999)
    assert bucket.permits(1_000_000) == 50


def test_a_new_rate_counts_from_the_last_use_on() -> None:
    bucket = TokenBucket(10, 5)
    bucket.take(60, 0)

    bucket.per_second = 10

    assert bucket.throttle_ms(0) == 1000


@pytest.mark.parametrize("per_second", [1e-9, 5e-324])
def test_no_throttle_time_is_longer_than_a_response_can_say(per_second: float) -> None:
    bucket = TokenBucket(10, per_second)

    bucket.take(60, 0)

    assert bucket.throttle_ms(0) == LONGEST_THROTTLE_MS
