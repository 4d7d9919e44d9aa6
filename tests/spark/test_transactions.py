"""Spark reads topics whose transactions were committed, were aborted, or are still open."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from pyk.clients import Admin, NewTopic, Producer
from pyk.reference_broker import Cluster
from support import apache_kafka
from support.apache_kafka import ApacheKafka
from support.spark_topic import Topic

pytestmark = pytest.mark.spark

COMMITTED = {"kafka.isolation.level": "read_committed", "startingOffsets": "earliest"}
_numbers = itertools.count()


class TransactionalTopic(Topic):
    """A topic of one partition, written in transactions."""

    def __init__(self, spark: SparkSession, cluster: Any, name: str, folder: Path) -> None:
        super().__init__(spark, cluster, name, folder)
        self._bootstrap = cluster.bootstrap
        self._open = ExitStack()

    def begin(self, values: Sequence[bytes]) -> Producer[bytes, bytes]:
        """Write the values in a transaction and leave that open."""
        transactional_id = f"{self.name}-{next(_numbers)}"
        producer = Producer[bytes, bytes](self._bootstrap, transactional_id=transactional_id)
        self._open.enter_context(producer)
        producer.begin_transaction()
        for value in values:
            producer.send(self.name, value)
        producer.flush(60)
        return producer

    def commit(self, values: Sequence[bytes]) -> None:
        self.begin(values).commit_transaction()

    def abort(self, values: Sequence[bytes]) -> None:
        self.begin(values).abort_transaction()

    def close(self) -> None:
        self._open.close()


@pytest.fixture(
    scope="module",
    params=["reference", pytest.param("apache", marks=pytest.mark.conformance)],
)
def broker(request: pytest.FixtureRequest) -> Iterator[Cluster | ApacheKafka]:
    if request.param == "reference":
        yield request.getfixturevalue("cluster")
        return
    if why := apache_kafka.missing():
        pytest.skip(why)
    with ApacheKafka() as running:
        yield running


@pytest.fixture
def topic(
    spark: SparkSession, broker: Cluster | ApacheKafka, tmp_path: Path
) -> Iterator[TransactionalTopic]:
    name = f"transactions-{next(_numbers)}"
    with Admin(broker.bootstrap) as admin:
        admin.create_topics([NewTopic(name, 1)])
    topic = TransactionalTopic(spark, broker, name, tmp_path)
    yield topic
    topic.close()


def values(first: int, last: int) -> list[bytes]:
    return [b"%05d" % number for number in range(first, last)]


def read(frame: DataFrame) -> list[bytes]:
    return [bytes(row.value) for row in frame.orderBy("offset").collect()]


class Seen:
    """The values that a stream has read."""

    def __init__(self) -> None:
        self.counts = Counter[bytes]()

    def __call__(self, frame: DataFrame, batch_id: int) -> None:
        self.counts.update(bytes(row.value) for row in frame.collect())


def test_a_batch_query_ends_in_front_of_an_open_transaction(topic: TransactionalTopic) -> None:
    topic.commit(values(0, 10))
    topic.abort(values(10, 20))
    topic.commit(values(20, 30))
    topic.begin(values(30, 40))

    frame = topic.batch(**COMMITTED)

    assert read(frame) == values(0, 10) + values(20, 30)
    assert frame.count() == 20


def test_a_batch_query_reads_everything_by_default_as_kafkas_consumers_do(
    topic: TransactionalTopic,
) -> None:
    topic.commit(values(0, 10))
    topic.abort(values(10, 20))
    topic.begin(values(20, 30))

    assert read(topic.batch()) == values(0, 30)


def test_tasks_that_begin_within_an_aborted_transaction_read_none_of_it(
    topic: TransactionalTopic,
) -> None:
    topic.commit(values(0, 500))
    topic.abort(values(500, 5_000))
    topic.commit(values(5_000, 6_000))
    topic.abort(values(6_000, 7_000))

    frame = topic.batch(schema="value binary, offset long", minPartitions=8, **COMMITTED)

    assert frame.rdd.getNumPartitions() == 8
    assert read(frame) == values(0, 500) + values(5_000, 6_000)


def test_a_stream_goes_on_when_the_open_transaction_ends(topic: TransactionalTopic) -> None:
    topic.commit(values(0, 10))
    producer = topic.begin(values(10, 20))
    seen = Seen()
    query = topic.start(topic.stream(**COMMITTED), seen)

    query.processAllAvailable()
    topic.produce(values(20, 30))  # behind the open transaction
    query.processAllAvailable()
    assert seen.counts == Counter(values(0, 10))

    producer.commit_transaction()
    topic.abort(values(30, 40))
    topic.commit(values(40, 50))
    query.processAllAvailable()
    query.stop()

    assert seen.counts == Counter(values(0, 30) + values(40, 50))


def test_available_now_ends_in_front_of_an_open_transaction(topic: TransactionalTopic) -> None:
    topic.commit(values(0, 10))
    producer = topic.begin(values(10, 20))
    seen = Seen()
    topic.run(topic.stream(**COMMITTED), seen)
    assert seen.counts == Counter(values(0, 10))

    producer.abort_transaction()
    topic.commit(values(20, 30))
    topic.run(topic.stream(**COMMITTED), seen)

    assert seen.counts == Counter(values(0, 10) + values(20, 30))


def test_a_query_that_has_read_uncommitted_records_goes_on_with_committed_ones(
    topic: TransactionalTopic,
) -> None:
    topic.commit(values(0, 10))
    producer = topic.begin(values(10, 20))
    seen = Seen()
    topic.run(topic.stream(startingOffsets="earliest"), seen)
    assert seen.counts == Counter(values(0, 20))

    topic.commit(values(20, 30))
    topic.run(topic.stream(**COMMITTED), seen)
    assert seen.counts == Counter(values(0, 20))

    producer.abort_transaction()
    topic.abort(values(30, 40))
    topic.run(topic.stream(**COMMITTED), seen)

    assert seen.counts == Counter(values(0, 30))


def test_an_ending_offset_behind_an_open_transaction_is_an_invalid_option(
    topic: TransactionalTopic,
) -> None:
    topic.commit(values(0, 10))
    topic.begin(values(10, 20))
    ending = json.dumps({topic.name: {"0": 15}})

    with pytest.raises(Exception, match=r"PYK_OPTION.*in front of the first open transaction"):
        read(topic.batch(endingOffsets=ending, **COMMITTED))
    committed = topic.batch(endingOffsets=ending, failOnDataLoss="false", **COMMITTED)
    assert read(committed) == values(0, 10)


def test_a_stream_has_no_lag_in_front_of_an_open_transaction(topic: TransactionalTopic) -> None:
    topic.commit(values(0, 10))
    topic.begin(values(10, 20))

    query = topic.run(topic.stream(**COMMITTED), Seen())

    (batch,) = (one for one in query.recentProgress if one.numInputRows)
    source = json.loads(batch.sources[0].json)
    # Behind the ten records is a marker, and the open transaction begins behind that.
    assert source["endOffset"][topic.name] == source["latestOffset"][topic.name] == {"0": 11}
    assert batch.numInputRows == 10
