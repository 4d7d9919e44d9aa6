"""Consumer groups whose members subscribe to patterns: the coordinator resolves them (KIP-848)."""

from __future__ import annotations

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.consumer_group_records import ConsumerGroupRegularExpressionKey
from pyk.protocol.persisted import decode_coordinator_key
from support.consumer_members import ConsumerGroups, error_of


def test_a_pattern_stands_for_the_topics_that_match_as_a_whole(groups: ConsumerGroups) -> None:
    groups.create("orders.eu", 1)
    groups.create("my orders", 1)

    joined = groups.join_as("a", subscribed_topic_regex="orders.*")

    assert groups.told(joined) == {"orders": [0, 1, 2, 3], "orders.eu": [0]}


def test_a_pattern_is_kept_with_the_version_of_the_metadata_it_was_resolved_by(
    groups: ConsumerGroups,
) -> None:
    groups.join_as("a", subscribed_topic_regex="ord.*")

    assert groups.group.patterns["ord.*"].version == groups.shard.consumer_groups.topics.version - 1


def test_another_pattern_for_the_same_topics_begins_an_epoch(groups: ConsumerGroups) -> None:
    groups.join_as("a", subscribed_topic_regex="ord.*")
    before = groups.group.epoch

    groups.beat("a", 2, {"orders": [0, 1, 2, 3]}, subscribed_topic_regex="orders?")

    assert groups.group.epoch == before + 1


def test_another_pattern_takes_away_at_once_what_it_does_not_match() -> None:
    groups = ConsumerGroups(assignment_interval_ms=60_000)
    groups.create("orders", 1)
    groups.join_as("a", subscribed_topic_regex="ord.*")

    told = groups.beat("a", 2, {"orders": [0]}, subscribed_topic_regex="pay.*")

    assert groups.told(told) == {}


def test_an_invalid_pattern_is_refused(groups: ConsumerGroups) -> None:
    response = groups.join_as("a", subscribed_topic_regex="(")

    assert error_of(response) is ErrorCode.INVALID_REGULAR_EXPRESSION
    assert response.error_message == (
        "SubscribedTopicRegex `(` is not a valid regular expression: missing closing )."
    )


def test_a_pattern_finds_new_topics_at_most_every_ten_seconds(groups: ConsumerGroups) -> None:
    groups.join_as("a", subscribed_topic_regex="orders.*")
    groups.create("payments", 1)
    groups.beat("a", 2)

    groups.create("orders.eu", 1)
    assert groups.told(groups.beat("a", 2)) is None
    groups.advance(10)

    assert groups.told(groups.beat("a", 2)) == {"orders": [0, 1, 2, 3], "orders.eu": [0]}


def test_a_known_topic_of_a_pattern_grows_at_once(groups: ConsumerGroups) -> None:
    groups.join_as("a", subscribed_topic_regex="orders.*")
    groups.create("payments", 1)
    groups.beat("a", 2)

    groups.create("orders", 5)

    assert groups.told(groups.beat("a", 2)) == {"orders": [0, 1, 2, 3, 4]}


def test_a_pattern_shows_no_topic_that_the_member_may_not_see(groups: ConsumerGroups) -> None:
    groups.create("secrets", 1)

    joined = groups.join_as(
        "a", subscribed_topic_regex=".*", may_see=lambda topic: topic == "orders"
    )

    assert groups.told(joined) == {"orders": [0, 1, 2, 3]}


def test_a_pattern_that_nobody_uses_is_forgotten(groups: ConsumerGroups) -> None:
    groups.join_as("a", subscribed_topic_regex="orders.*")
    groups.join_as("b", subscribed_topic_regex="orders.*")

    groups.beat("a", 2, subscribed_topic_regex="")
    assert set(groups.group.patterns) == {"orders.*"}
    groups.leave_as("b")

    assert groups.group.patterns == {}


def test_a_classic_member_that_joins_again_takes_no_topic_from_the_pattern_of_another(
    groups: ConsumerGroups,
) -> None:
    groups.join_as("x", subscribed_topic_regex="ord.*")
    a, _ = groups.join_dynamic(session_s=30)
    groups.advance(10)
    groups.create("payments", 1)

    groups.join(a)

    assert groups.group.patterns["ord.*"].topics == {"orders"}


def test_topics_that_come_while_classic_members_join_are_found_by_the_next_heartbeat(
    groups: ConsumerGroups,
) -> None:
    groups.join_as("x", subscribed_topic_regex="ord.*")
    a, _ = groups.join_dynamic(session_s=30)
    groups.advance(10)
    groups.create("orders.eu", 1)
    groups.join(a)

    groups.beat("x", groups.group.members["x"].epoch, groups.assigned("x"))

    assert groups.group.patterns["ord.*"].topics == {"orders", "orders.eu"}


def test_a_topic_that_another_member_reads_by_name_is_found_by_a_pattern_too(
    groups: ConsumerGroups,
) -> None:
    groups.join_as("a", subscribed_topic_regex="orders.*")
    groups.join_as("b", "orders.eu")
    groups.create("payments", 1)
    groups.beat("a", groups.group.members["a"].epoch)
    groups.create("orders.eu", 1)
    groups.beat("b", groups.group.members["b"].epoch)
    before = groups.group.epoch

    groups.advance(10)
    groups.beat("a", groups.group.members["a"].epoch)

    assert groups.group.patterns["orders.*"].topics == {"orders", "orders.eu"}
    assert groups.group.epoch == before + 1


def test_nothing_is_written_of_patterns_where_members_have_none(groups: ConsumerGroups) -> None:
    groups.join_as("a", "orders")

    groups.leave_as("a")

    keys = [decode_coordinator_key(key) for batch in groups.log.batches for key, _ in batch]
    assert not [key for key in keys if isinstance(key, ConsumerGroupRegularExpressionKey)]
