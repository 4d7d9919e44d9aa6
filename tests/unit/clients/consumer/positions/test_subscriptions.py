from __future__ import annotations

import re
from typing import Any

import pytest

from pyk.clients.consumer.positions.subscriptions import (
    SubscriptionKind,
    Subscriptions,
    checked_partitions,
)
from pyk.clients.consumer.positions.topic_patterns import SubscriptionPattern
from pyk.clients.engine.metadata import MetadataImage, TopicMetadata
from pyk.clients.errors import InvalidTopicError, StateError
from pyk.clients.topic_partition import TopicPartition
from pyk.protocol.errors import ErrorCode


def image(*names: str) -> MetadataImage:
    topics = {name: TopicMetadata(name, None, is_internal=name.startswith("__")) for name in names}
    return MetadataImage(topics=topics)


def make_subscriptions(*, excludes_internal_topics: bool = True) -> Subscriptions:
    return Subscriptions(excludes_internal_topics=excludes_internal_topics)


def test_topics_are_wanted_by_name_and_one_name_is_no_sequence_of_letters() -> None:
    subscriptions = make_subscriptions()

    subscriptions.subscribe(["b", "a", "a"], None)
    assert subscriptions.topics == {"a", "b"}
    subscriptions.subscribe("orders", None)
    assert subscriptions.topics == {"orders"}


@pytest.mark.parametrize(
    "pattern", ["order.*", re.compile("order.*"), SubscriptionPattern(r"order\pL*[[:digit:]]?")]
)
def test_a_pattern_matches_whole_names_that_are_not_internal(pattern: str) -> None:
    subscriptions = make_subscriptions()
    subscriptions.subscribe(None, pattern)

    assert subscriptions.match(image("orders", "old-orders", "__orders"))
    assert subscriptions.topics == {"orders"}
    assert not subscriptions.match(image("orders", "old-orders"))
    assert subscriptions.match(image("orders", "order2"))


def test_a_matching_topic_is_kept_while_it_is_unknown_until_it_is_gone() -> None:
    subscriptions = make_subscriptions()
    subscriptions.subscribe(None, "order.*")
    subscriptions.match(image("orders"))
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    missing = {name: TopicMetadata(name, None, error_code=unknown) for name in ("orders", "order2")}

    assert not subscriptions.match(MetadataImage(topics=missing))
    assert subscriptions.topics == {"orders"}
    assert subscriptions.match(MetadataImage(topics=missing), gone={"orders"})
    assert subscriptions.topics == frozenset()


def test_a_pattern_matches_no_name_that_a_topic_cannot_have() -> None:
    subscriptions = make_subscriptions()
    subscriptions.subscribe(None, ".*")

    subscriptions.match(image("orders", "not a topic"))

    assert subscriptions.topics == {"orders"}


def test_internal_topics_can_be_matched_if_they_are_wanted() -> None:
    subscriptions = make_subscriptions(excludes_internal_topics=False)
    subscriptions.subscribe(None, ".*")

    subscriptions.match(image("__consumer_offsets"))

    assert subscriptions.topics == {"__consumer_offsets"}


def test_topics_by_name_never_change_with_metadata() -> None:
    subscriptions = make_subscriptions()
    subscriptions.subscribe(["a"], None)

    assert not subscriptions.match(image("a", "b"))


def test_a_group_may_resolve_a_subscription_pattern_and_no_other() -> None:
    subscriptions = Subscriptions(excludes_internal_topics=True, group_resolves=True)

    subscriptions.subscribe(None, SubscriptionPattern("order.*"))
    assert (subscriptions.remote_pattern, subscriptions.pattern) == ("order.*", None)
    assert not subscriptions.match(image("orders"))
    assert (subscriptions.topics, subscriptions.has_topics) == (frozenset(), False)
    with pytest.raises(StateError, match="call unsubscribe"):
        subscriptions.assign()

    subscriptions.subscribe(None, "order.*")
    assert (subscriptions.remote_pattern, subscriptions.pattern) == (None, "order.*")


def test_topics_and_partitions_cannot_be_mixed() -> None:
    subscriptions = make_subscriptions()

    subscriptions.assign()
    with pytest.raises(StateError, match="call unsubscribe"):
        subscriptions.subscribe(["a"], None)
    subscriptions.clear()
    subscriptions.subscribe(["a"], None)
    with pytest.raises(StateError, match="call unsubscribe"):
        subscriptions.assign()
    assert subscriptions.kind is SubscriptionKind.TOPICS


@pytest.mark.parametrize(("topics", "pattern"), [(None, None), (["a"], "a"), ([], None)])
def test_either_topics_or_a_pattern_must_be_given(
    topics: list[str] | None, pattern: str | None
) -> None:
    with pytest.raises(ValueError, match=r"subscribe takes|at least one topic"):
        make_subscriptions().subscribe(topics, pattern)


def test_partitions_are_checked() -> None:
    assert checked_partitions([("a", 1), TopicPartition("a", 1)]) == [TopicPartition("a", 1)]
    with pytest.raises(ValueError, match="must be 0 or more"):
        checked_partitions([("a", -1)])


@pytest.mark.parametrize("topics", [["a b"], [""], "x" * 250])
def test_a_name_that_no_topic_can_have_is_refused_and_nothing_changes(topics: Any) -> None:
    subscriptions = make_subscriptions()
    subscriptions.subscribe(["orders"], None)

    with pytest.raises(InvalidTopicError):
        subscriptions.subscribe(topics, None)

    assert subscriptions.topics == {"orders"}


@pytest.mark.parametrize("pattern", [re.compile("a.*"), SubscriptionPattern("a.*")])
def test_a_pattern_in_place_of_topics_leads_to_its_argument(pattern: Any) -> None:
    with pytest.raises(TypeError, match=r"not \w*Pattern; give it as pattern="):
        make_subscriptions().subscribe(pattern, None)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("a", "not 'a'"),
        (TopicPartition("a", 0), r"must be a list of TopicPartition"),
        (["a"], "not 'a'"),
        ([("a", "0")], r"not \('a', '0'\)"),
        ([5], "not 5"),
    ],
)
def test_an_invalid_partition_is_named(given: Any, words: str) -> None:
    with pytest.raises(TypeError, match=words):
        checked_partitions(given)
