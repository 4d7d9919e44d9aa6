from __future__ import annotations

import pytest

from pyk.clients.consumer.positions.topic_watch import TopicWatch, unavailable
from pyk.clients.engine.metadata import MetadataImage, PartitionMetadata, TopicMetadata
from pyk.clients.errors import (
    InvalidTopicError,
    KafkaError,
    LeaderNotAvailableError,
    TopicAuthorizationFailedError,
    UnknownTopicOrPartitionError,
)
from pyk.clients.topic_partition import TopicPartition
from pyk.protocol.errors import ErrorCode


def image(code: ErrorCode, *leaders: int | None) -> MetadataImage:
    partitions = tuple(PartitionMetadata(n, leader, 0) for n, leader in enumerate(leaders))
    return MetadataImage(topics={"a": TopicMetadata("a", None, partitions, error_code=code)})


def observed(code: ErrorCode, now: float = 0.0) -> TopicWatch:
    watch = TopicWatch()
    watch.observe(["a"], None, image(code), now)
    return watch


def test_a_topic_that_can_be_read_is_no_error() -> None:
    assert observed(ErrorCode.NONE).errors == {}
    assert observed(ErrorCode.LEADER_NOT_AVAILABLE).errors == {}


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (ErrorCode.TOPIC_AUTHORIZATION_FAILED, TopicAuthorizationFailedError),
        (ErrorCode.INVALID_TOPIC_EXCEPTION, InvalidTopicError),
    ],
)
def test_an_error_that_is_not_retriable_is_raised_once_per_response(
    code: ErrorCode, kind: type[KafkaError]
) -> None:
    watch = observed(code)

    assert isinstance(watch.take_error(), kind)
    assert watch.take_error() is None
    watch.observe(["a"], None, image(code), 1.0)
    assert isinstance(watch.take_error(), kind)
    watch.observe(["a"], None, image(ErrorCode.NONE), 2.0)
    assert (watch.take_error(), watch.errors) == (None, {})


def test_an_assigned_partition_that_its_topic_lacks_is_a_warning_once_a_minute() -> None:
    watch = TopicWatch()
    partitions = {TopicPartition("a", 1), TopicPartition("a", 9)}
    warned_at = []

    for now in range(130):
        watch.observe(["a"], None, image(ErrorCode.NONE, 1, 2), float(now), partitions)
        warned_at += [(now, str(error)) for error in watch.due_warnings(float(now))]

    said = "topic 'a' has no partition 9: it has 2 partitions"
    assert warned_at == [(0, said), (60, said), (120, said)]
    assert watch.errors == {}


def test_a_missing_topic_is_a_warning_once_a_minute_when_it_stays_missing() -> None:
    watch = TopicWatch()
    warned_at = []

    for now in range(130):
        watch.observe(["a"], None, image(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION), float(now))
        warned_at += [now for _ in watch.due_warnings(float(now))]

    assert warned_at == [5, 65, 125]
    assert not watch.has_error


def test_a_topic_that_is_missing_for_a_moment_is_not_gone() -> None:
    watch = observed(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, now=0.0)
    watch.observe(["a"], None, image(ErrorCode.NONE, 1), 4.0)
    watch.observe(["a"], None, image(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, 1), 5.0)

    assert watch.gone(9.0) == frozenset()
    assert watch.gone(10.0) == {"a"}


def test_a_pattern_that_matches_nothing_is_a_warning_at_once() -> None:
    watch = TopicWatch()
    watch.observe([], "b.*", image(ErrorCode.NONE, 1), 0.0)

    (warning,) = watch.due_warnings(0.0)
    assert "'b.*'" in str(warning)
    assert watch.due_warnings(59.0) == []


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        (image(ErrorCode.NONE, 1), None),
        (image(ErrorCode.NONE, None), LeaderNotAvailableError),
        (image(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, 1), UnknownTopicOrPartitionError),
        (image(ErrorCode.TOPIC_AUTHORIZATION_FAILED), TopicAuthorizationFailedError),
        (MetadataImage(), LeaderNotAvailableError),
    ],
)
def test_why_a_partition_cannot_be_read(
    seen: MetadataImage, expected: type[KafkaError] | None
) -> None:
    error = unavailable(TopicPartition("a", 0), seen)

    assert error is None if expected is None else isinstance(error, expected)


def test_a_partition_beyond_those_of_the_topic_is_named() -> None:
    error = unavailable(TopicPartition("a", 4), image(ErrorCode.NONE, 1, 1))

    assert isinstance(error, UnknownTopicOrPartitionError)
    assert "topic 'a' has no partition 4: it has 2 partitions" in str(error)
