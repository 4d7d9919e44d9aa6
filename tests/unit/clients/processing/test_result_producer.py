"""Which producers ``process()`` takes for its results, and which results are refused for good."""

from __future__ import annotations

from typing import Any

import pytest

from pyk.clients import AsyncProducer, Producer, StateError
from pyk.clients.config import ConsumerConfig
from pyk.clients.errors import RecordTooLargeError, SerializationError, error_for
from pyk.clients.processing.result_producer import is_about_record, result_producer
from pyk.protocol.errors import ErrorCode

NOWHERE = "localhost:1"


def config(**options: Any) -> ConsumerConfig:
    return ConsumerConfig(bootstrap_servers=[NOWHERE], **options)


EXACTLY_ONCE = config(enable_auto_commit=False, isolation_level="read_committed")


def test_no_producer_writes_no_results():
    assert result_producer(None, Producer, config()) is None


@pytest.mark.parametrize(
    ("producer", "kind", "words"),
    [
        ("billing-1", Producer, "a Producer, not str"),
        (AsyncProducer(NOWHERE), Producer, "a Producer, not AsyncProducer"),
        (Producer(NOWHERE), AsyncProducer, "an AsyncProducer, not Producer"),
    ],
)
def test_a_producer_of_another_kind_is_refused(producer, kind, words):
    with pytest.raises(TypeError, match=f"producer must be {words}$"):
        result_producer(producer, kind, EXACTLY_ONCE)


@pytest.mark.parametrize("kind", [Producer, AsyncProducer])
def test_only_a_transactional_producer_needs_a_consumer_that_leaves_commits_to_it(kind):
    plain = result_producer(kind(NOWHERE), kind, config())
    transactional = result_producer(kind(NOWHERE, transactional_id="a"), kind, EXACTLY_ONCE)

    assert plain is not None
    assert not plain.is_transactional
    assert transactional is not None
    assert transactional.is_transactional


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"isolation_level": "read_committed"}, "enable_auto_commit=False"),
        ({"enable_auto_commit": False}, "isolation_level='read_committed'"),
    ],
)
def test_a_consumer_with_which_it_would_not_be_exactly_once_is_refused(options, words):
    producer = Producer[Any, Any](NOWHERE, transactional_id="a")

    with pytest.raises(StateError, match=words):
        result_producer(producer, Producer, config(**options))


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (ErrorCode.MESSAGE_TOO_LARGE, True),
        (ErrorCode.RECORD_LIST_TOO_LARGE, True),
        (ErrorCode.INVALID_RECORD, True),
        (ErrorCode.INVALID_TIMESTAMP, True),
        (ErrorCode.INVALID_TOPIC_EXCEPTION, True),
        (ErrorCode.TOPIC_AUTHORIZATION_FAILED, True),
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, False),
        (ErrorCode.INVALID_PRODUCER_EPOCH, False),
        (ErrorCode.CLUSTER_AUTHORIZATION_FAILED, False),
    ],
)
def test_some_errors_of_brokers_are_about_the_record(code, expected):
    assert is_about_record(error_for(code)) is expected


@pytest.mark.parametrize("kind", [RecordTooLargeError, SerializationError])
def test_what_the_producer_cannot_take_is_refused_for_good(kind):
    assert is_about_record(kind("a bill of 2000000 bytes"))
