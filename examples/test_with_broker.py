"""Test code that talks to Kafka with a broker of its own, which can fail on demand.

pytest examples/test_with_broker.py
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pyk.clients import Consumer, Producer
from pyk.reference_broker import Cluster


def copy_in_capitals(bootstrap: str, source: str, target: str, count: int) -> None:
    """The code under test: copy some records from topic to topic, in capitals."""
    with (
        Consumer(
            bootstrap, topics=[source], group_id="capitals", auto_offset_reset="earliest"
        ) as consumer,
        Producer(bootstrap) as producer,
    ):
        for _, record in zip(range(count), consumer, strict=False):
            producer.send(target, record.value.upper(), record.key)


def values(bootstrap: str, topic: str, count: int) -> list[bytes]:
    with Consumer(bootstrap, topics=[topic], auto_offset_reset="earliest") as consumer:
        return [record.value for _, record in zip(range(count), consumer, strict=False)]


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with Cluster() as cluster:  # in memory, on a free port, gone afterwards
        cluster.create_topic("words", partitions=3)
        with Producer(cluster.bootstrap) as producer:
            producer.send_batch("words", [b"espresso", b"water", b"tea"])
        yield cluster


def test_words_are_copied(cluster: Cluster) -> None:
    copy_in_capitals(cluster.bootstrap, "words", "capitals", 3)

    assert sorted(values(cluster.bootstrap, "capitals", 3)) == [b"ESPRESSO", b"TEA", b"WATER"]


def test_a_lost_answer_of_the_broker_doubles_nothing(cluster: Cluster) -> None:
    cluster.faults.on("Produce").once().apply_then_lose_response()

    copy_in_capitals(cluster.bootstrap, "words", "capitals", 3)

    assert sorted(values(cluster.bootstrap, "capitals", 3)) == [b"ESPRESSO", b"TEA", b"WATER"]
