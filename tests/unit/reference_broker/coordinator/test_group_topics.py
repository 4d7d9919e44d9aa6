"""The topics of the cluster as groups see them."""

from __future__ import annotations

from uuid import UUID

from pyk.reference_broker.coordinator.group.consumer.topics import Topics
from support.consumer_members import ConsumerGroups


def test_a_topic_that_does_not_exist_has_no_partitions(groups: ConsumerGroups) -> None:
    topics = Topics(groups.image)

    assert (topics.count_of("orders"), topics.count_of("missing")) == (4, 0)
    assert topics.partition_count(groups.image.topics["orders"].topic_id) == 4
    assert topics.partition_count(UUID(int=7)) == 0


def test_the_hash_of_no_topics_is_zero_and_others_change_with_their_topics(
    groups: ConsumerGroups,
) -> None:
    topics = Topics(groups.image)
    assert topics.hash_of(["missing"]) == topics.hash_of([]) == 0

    before = topics.hash_of(["orders", "missing"])
    assert before == topics.hash_of(["orders"]) != 0
    groups.create("orders", 5)

    assert topics.hash_of(["orders"]) != before
