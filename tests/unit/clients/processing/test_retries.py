"""What follows after a handler has failed, and what moved records say about it."""

from __future__ import annotations

import pickle
from datetime import timedelta
from typing import Any

import pytest

from pyk.clients import DeserializationError, InvalidTopicError, RetryPolicy
from pyk.clients.consumer import ConsumerRecord
from pyk.clients.processing.dead_letters import (
    attempts_before,
    due_at_ms,
    moved_headers,
    origin_topic,
    own_headers,
)
from pyk.clients.processing.retries import (
    NO_RETRIES,
    CallAgain,
    GiveUp,
    MoveTo,
    after_failure,
)

POLICY = RetryPolicy(attempts=3, backoff=1.0, topics={"orders.1m": 60, "orders.1h": 3600})
FAILURE = ValueError("no")


@pytest.mark.parametrize(
    ("topic", "failures", "action"),
    [
        ("orders", 1, CallAgain(1.0)),
        ("orders", 2, CallAgain(2.0)),
        ("orders", 3, MoveTo("orders.1m", 60)),
        ("orders.1m", 1, CallAgain(1.0)),
        ("orders.1m", 3, MoveTo("orders.1h", 3600)),
        ("orders.1h", 3, GiveUp()),
    ],
)
def test_a_record_is_tried_in_place_then_in_each_retry_topic(topic, failures, action):
    assert after_failure(POLICY, topic, failures, FAILURE, 0.5) == action


def test_without_a_policy_the_first_failure_is_the_last():
    assert after_failure(NO_RETRIES, "orders", 1, FAILURE, 0.5) == GiveUp()


def test_what_cannot_be_deserialized_is_not_tried_again():
    assert after_failure(POLICY, "orders", 1, DeserializationError("bad"), 0.5) == GiveUp()


def test_backoff_grows_up_to_its_maximum_with_jitter():
    policy = RetryPolicy(attempts=9, backoff=1.0, max_backoff=3.0)

    assert [policy.backoff_after(n, 0.5) for n in (1, 2, 3, 8)] == [1.0, 2.0, 3.0, 3.0]
    assert policy.backoff_after(1, 0.0) == pytest.approx(0.8)
    assert policy.backoff_after(1, 1.0) == pytest.approx(1.2)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"attempts": 0}, ValueError),
        ({"attempts": "3"}, TypeError),
        ({"backoff": -1}, ValueError),
        ({"backoff": float("nan")}, ValueError),
        ({"backoff": "1s"}, TypeError),
        ({"backoff": True}, TypeError),
        ({"max_backoff": float("inf")}, ValueError),
        ({"topics": ["orders.1m"]}, TypeError),
        ({"topics": {"orders.1m": -1}}, ValueError),
        ({"topics": {"orders.1m": float("inf")}}, ValueError),
        ({"topics": {"orders.1m": "1m"}}, TypeError),
        ({"topics": {"orders.1m": timedelta(minutes=1)}}, TypeError),
        ({"topics": {"orders.1m": True}}, TypeError),
        ({"topics": {"orders 1m": 60}}, InvalidTopicError),
    ],
)
def test_policies_that_make_no_sense_are_refused(
    options: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        RetryPolicy(**options)


def test_the_error_for_a_delay_names_its_retry_topic() -> None:
    with pytest.raises(TypeError, match=r"delay of 'orders\.1h' must be a number of seconds"):
        RetryPolicy(topics={"orders.1m": 60, "orders.1h": "1h"})  # type: ignore[dict-item]


def test_a_policy_does_not_change_with_the_mapping_that_it_was_made_of() -> None:
    topics = {"orders.1m": 60.0}
    policy = RetryPolicy(topics=topics)

    topics["orders 1h"] = -1

    assert policy == RetryPolicy(topics={"orders.1m": 60.0})


@pytest.mark.parametrize("policy", [RetryPolicy(), POLICY])
def test_a_policy_may_be_sent_to_another_process(policy: RetryPolicy) -> None:
    assert pickle.loads(pickle.dumps(policy)) == policy


def test_the_headers_of_a_moved_record_say_why_and_from_where():
    record = ConsumerRecord("orders", 2, 7, 1000, headers=(("mine", b"1"), ("null", None)))

    assert moved_headers(record, ValueError("no\udc80"), 3, retry_at_ms=61_000) == (
        ("mine", b"1"),
        ("null", None),
        ("pyk-origin-topic", b"orders"),
        ("pyk-origin-partition", b"2"),
        ("pyk-origin-offset", b"7"),
        ("pyk-origin-timestamp", b"1000"),
        ("pyk-attempts", b"3"),
        ("pyk-error", b"ValueError"),
        ("pyk-error-text", b"no?"),
        ("pyk-retry-at", b"61000"),
    )


def test_a_record_that_is_moved_twice_keeps_its_origin():
    first = ConsumerRecord("orders", 2, 7, headers=(("mine", b"1"),))
    headers = moved_headers(first, ValueError("no"), 3, retry_at_ms=61_000)
    second = ConsumerRecord("orders.1m", 0, 0, headers=headers)

    moved = ConsumerRecord("dead", 0, 0, headers=moved_headers(second, KeyError("x"), 6))

    assert origin_topic(moved) == "orders"
    assert attempts_before(moved) == 6
    assert due_at_ms(second) == 61_000
    assert due_at_ms(moved) == 0
    assert own_headers(moved) == (("mine", b"1"),)
    assert [name for name, _ in moved.headers].count("pyk-origin-offset") == 1


def test_headers_that_others_wrote_are_no_error():
    record = ConsumerRecord(
        "orders", 0, 0, headers=(("pyk-attempts", b"x"), ("pyk-retry-at", None))
    )

    assert attempts_before(record) == due_at_ms(record) == 0
    assert origin_topic(record) is None
    for value in (b"\xff", None):
        odd = ConsumerRecord("orders", 0, 0, headers=(("pyk-origin-topic", value),))
        assert origin_topic(odd) is None


@pytest.mark.parametrize(
    ("text", "number"), [(b"-1", 0), (b"7", 7), (b"%d" % 2**53, 2**53), (b"%d" % (2**53 + 1), 0)]
)
def test_numbers_that_pyk_does_not_write_are_not_believed(text, number):
    record = ConsumerRecord(
        "orders", 0, 0, headers=(("pyk-attempts", text), ("pyk-retry-at", text))
    )

    assert (attempts_before(record), due_at_ms(record)) == (number, number)


def test_a_dead_letter_tells_the_cause_of_its_error_and_is_never_due():
    error = ValueError("no bill")
    error.__cause__ = KeyError("total")

    headers = dict(moved_headers(ConsumerRecord("orders", 0, 0), error, 3))

    assert headers["pyk-error-text"] == b"no bill: 'total'"
    assert "pyk-retry-at" not in headers


def test_calls_and_moves_may_follow_at_once():
    policy = RetryPolicy(backoff=0, max_backoff=0, topics={"orders.retry": 0})

    assert policy.backoff_after(1, 0.5) == 0
    assert policy.topics["orders.retry"] == 0
