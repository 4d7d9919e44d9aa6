"""What names a partition, and which names a topic may have."""

from __future__ import annotations

import pickle
import re

import pytest

from pyk.clients import TopicPartition as ClientsTopicPartition
from pyk.clients import topic_partition as clients_module
from pyk.protocol.topics import TOPIC_NAME, TopicPartition, is_topic_name, topic_name_error


@pytest.mark.parametrize("name", ["a", "x" * 249, "...", ".a", "A.b_c-0", "__consumer_offsets"])
def test_a_name_that_a_topic_may_have(name: str) -> None:
    assert topic_name_error(name) is None
    assert is_topic_name(name)
    assert re.fullmatch(TOPIC_NAME, name)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("", "the empty string is not allowed"),
        (".", "'.' is not allowed"),
        ("..", "'..' is not allowed"),
        ("x" * 250, "is longer than the max allowed length 249"),
        ("a b", "characters other than ASCII alphanumerics"),
        ("a/b", "characters other than ASCII alphanumerics"),
        ("ü", "characters other than ASCII alphanumerics"),
        ("a\n", "characters other than ASCII alphanumerics"),
        ("a\0b", "characters other than ASCII alphanumerics"),
    ],
)
def test_a_name_that_no_topic_can_have_comes_with_the_reason(name: str, reason: str) -> None:
    assert reason in (topic_name_error(name) or "")
    assert not is_topic_name(name)


def test_a_partition_is_a_tuple_that_sorts_and_shows_its_directory() -> None:
    partition = TopicPartition("orders", 2)

    assert partition == ("orders", 2)
    assert {partition: 1}[TopicPartition("orders", 2)] == 1
    assert sorted([partition, TopicPartition("a", 9), TopicPartition("orders", 1)])[2] is partition
    assert str(partition) == "orders-2"
    assert repr(partition) == "TopicPartition(topic='orders', partition=2)"


def test_clients_and_protocol_have_one_class_also_for_partitions_that_older_versions_pickled() -> (
    None
):
    older = pickle.dumps(TopicPartition("orders", 2), protocol=0).replace(
        b"pyk.protocol.topics", b"pyk.clients.topic_partition"
    )

    assert ClientsTopicPartition is clients_module.TopicPartition is TopicPartition
    assert pickle.loads(older) == TopicPartition("orders", 2)
