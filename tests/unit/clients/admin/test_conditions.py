"""When the conditions hold that the admin client waits for, and what was seen of their subjects."""

from __future__ import annotations

from typing import Any

import pytest

from pyk.clients import TopicPartition
from pyk.clients.admin import (
    ConsumerGroupDescription,
    PartitionLag,
    TopicDescription,
    Until,
)
from pyk.clients.admin.conditions import Subject, last_seen
from pyk.clients.admin.groups import MemberDescription
from pyk.clients.admin.topic_descriptions import PartitionDescription

ORDERS = TopicPartition("orders", 0)


def topic(*leaders: int | None) -> TopicDescription:
    partitions = tuple(
        PartitionDescription(number, leader, 0, (), (), ()) for number, leader in enumerate(leaders)
    )
    return TopicDescription("orders", None, False, partitions)


def group(members: int, state: str = "Stable") -> ConsumerGroupDescription:
    one = MemberDescription("m", None, "c", "h", ())
    return ConsumerGroupDescription("g", state, "consumer", "", 1, (one,) * members, "classic")


def lag(*committed: int | None) -> dict[TopicPartition, PartitionLag]:
    return {
        TopicPartition("orders", number): PartitionLag(offset, 10)
        for number, offset in enumerate(committed)
    }


CASES: list[tuple[Any, Any, bool]] = [
    (Until.topic_exists("orders"), topic(), True),
    (Until.topic_exists("orders"), None, False),
    (Until.topic_is_deleted("orders"), None, True),
    (Until.topic_is_deleted("orders"), topic(), False),
    (Until.topic_has_leaders("orders", 2), topic(0, 1), True),
    (Until.topic_has_leaders("orders", 2), topic(0, 1, 1), True),
    (Until.topic_has_leaders("orders", 2), topic(0), False),
    (Until.topic_has_leaders("orders", 2), topic(0, None), False),
    (Until.topic_has_leaders("orders", 2), None, False),
    (Until.group_is_empty("g"), None, True),
    (Until.group_is_empty("g"), group(0), True),
    (Until.group_is_empty("g"), group(1), False),
    (Until.group_is_stable("g", 2), group(2), True),
    (Until.group_is_stable("g", 2), group(3), True),
    (Until.group_is_stable("g", 2), group(1), False),
    (Until.group_is_stable("g", 2), group(2, "PreparingRebalance"), False),
    (Until.group_is_stable("g", 2), None, False),
    (Until.offset_is_reached(ORDERS, 5), 5, True),
    (Until.offset_is_reached(ORDERS, 5), 6, True),
    (Until.offset_is_reached(ORDERS, 5), 4, False),
    (Until.offset_is_reached(ORDERS, 5), None, False),
    (Until.lag_is("g", 3), lag(9, 8), True),
    (Until.lag_is("g", 3), lag(9, 7), False),
    (Until.lag_is("g"), lag(10, None), True),
    (Until.lag_is("g"), {}, False),
    (Until.lag_is("g"), None, False),
]


@pytest.mark.parametrize(("condition", "seen", "holds"), CASES)
def test_a_condition_holds_for_what_it_is_about_and_nothing_less(
    condition: Any, seen: Any, holds: bool
) -> None:
    assert condition.holds(seen) is holds


@pytest.mark.parametrize(
    ("subject", "seen", "text"),
    [
        (Subject.TOPIC, None, "it does not exist"),
        (Subject.TOPIC, topic(0, 1), "2 partitions"),
        (Subject.TOPIC, topic(0, None), "2 partitions, of which [1] have no leader"),
        (Subject.GROUP, group(1), "state Stable with 1 member"),
        (Subject.LAG, lag(9, 7, None), "a lag of 4"),
        (Subject.LAG, {}, "it has committed nothing"),
        (Subject.LOG_END, 7, "7"),
    ],
)
def test_what_was_last_seen_is_told_in_words(subject: Subject, seen: Any, text: str) -> None:
    assert last_seen(subject, seen) == text
