"""Misuse of a consumer raises at once, in the line of the application."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from typing import Any

import pytest

from pyk.clients import (
    AsyncConsumer,
    Consumer,
    InvalidTopicError,
    Producer,
    RebalanceListener,
    StateError,
    TopicPartition,
)
from pyk.reference_broker import Cluster


def print_nothing() -> None: ...


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster() as cluster:
        cluster.create_topic("orders", partitions=2)
        yield cluster


@pytest.fixture
def consumer(cluster: Cluster) -> Iterator[Consumer[Any, Any]]:
    with Consumer(cluster.bootstrap, group_id="mistaken") as consumer:
        yield consumer


def test_reading_without_a_subscription_raises(
    consumer: Consumer[Any, Any],
) -> None:
    with pytest.raises(StateError, match="nothing to read: call subscribe"):
        consumer.poll(timeout=5)
    with pytest.raises(StateError, match="nothing to read: call subscribe"):
        next(iter(consumer))


async def read_nothing(bootstrap: str) -> None:
    async with AsyncConsumer(bootstrap) as consumer:
        await consumer.poll(timeout=5)


def test_reading_without_a_subscription_raises_in_asyncio(cluster: Cluster) -> None:
    with pytest.raises(StateError, match="nothing to read: call subscribe"):
        asyncio.run(read_nothing(cluster.bootstrap))


def test_a_poll_without_a_timeout_waits_for_records(cluster: Cluster) -> None:
    with Producer(cluster.bootstrap) as producer:
        producer.send("awaited", b"here")

    with Consumer(cluster.bootstrap, topics="awaited", auto_offset_reset="earliest") as consumer:
        assert [record.value for record in consumer.poll(timeout=None)] == [b"here"]


@pytest.mark.parametrize(
    ("topics", "error"), [(["a b"], InvalidTopicError), ([5], TypeError), (5, TypeError)]
)
def test_invalid_topic_names_are_refused(cluster: Cluster, topics: Any, error: type) -> None:
    with pytest.raises(error), Consumer(cluster.bootstrap, topics=topics, group_id="mistaken"):
        pass


def test_a_rebalance_listener_without_its_methods_is_refused(consumer: Consumer[Any, Any]) -> None:
    class OnlyAssigned:
        def on_partitions_assigned(self, partitions: Any) -> None: ...

    with pytest.raises(TypeError, match="no on_partitions_revoked, on_partitions_lost: derive"):
        consumer.subscribe(["orders"], listener=OnlyAssigned())  # type: ignore[arg-type]

    consumer.subscribe(["orders"], listener=RebalanceListener())


def test_a_single_partition_instead_of_a_list_is_refused(consumer: Consumer[Any, Any]) -> None:
    orders: Any = TopicPartition("orders", 0)

    for call in (consumer.assign, consumer.committed, consumer.end_offsets):
        with pytest.raises(TypeError, match="partitions must be a list"):
            call(orders)
    with pytest.raises(TypeError, match=r"a partition must be TopicPartition\(topic, partition\)"):
        consumer.pause("orders")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("callback", "words"),
    [(5, "must be callable, not int"), (print_nothing, "callback(offsets, error)")],
)
def test_a_commit_callback_that_cannot_be_called_is_refused_at_once(
    consumer: Consumer[Any, Any], callback: Any, words: str
) -> None:
    with pytest.raises(TypeError, match=re.escape(words)):
        consumer.commit_async({TopicPartition("orders", 0): 1}, callback)
