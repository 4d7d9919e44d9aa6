"""What a transaction consists of: when a partition may get batches."""

from __future__ import annotations

from pyk.clients.producer.transactions.contents import TransactionContents
from pyk.clients.topic_partition import TopicPartition

PARTITION = TopicPartition("orders", 0)


def test_in_version_2_a_partition_is_admitted_at_once_and_starts_the_transaction() -> None:
    contents = TransactionContents(2)

    assert contents.admits(PARTITION)
    assert contents.has_started
    assert contents.partitions_to_add() == []


def test_in_version_1_a_partition_waits_until_it_is_added() -> None:
    contents = TransactionContents(1)

    assert not contents.admits(PARTITION)
    assert contents.partitions_to_add() == [PARTITION]
    assert not contents.has_started
    contents.added([PARTITION])

    assert contents.admits(PARTITION)
    assert contents.partitions_to_add() == []
    assert contents.has_started


def test_a_group_starts_a_transaction_and_leaves_the_partitions_waiting() -> None:
    contents = TransactionContents(1)
    contents.admits(PARTITION)

    contents.added([])

    assert contents.has_started
    assert contents.partitions_to_add() == [PARTITION]


def test_a_request_without_an_answer_may_have_started_the_transaction() -> None:
    contents = TransactionContents(1)
    assert not contents.may_have_started

    contents.request_sent()

    assert contents.may_have_started
    assert not contents.has_started
