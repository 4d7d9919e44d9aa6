"""One broker for all tests of a process, and new topics."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pyk.reference_broker import Cluster
from support.spark_topic import Topic

_numbers = itertools.count()


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    with Cluster() as running:
        yield running


@pytest.fixture
def make_topic(spark: SparkSession, cluster: Cluster, tmp_path: Path) -> Callable[..., Topic]:
    def make(partitions: int = 3) -> Topic:
        name = f"topic-{next(_numbers)}"
        cluster.create_topic(name, partitions=partitions, configs={"retention.ms": -1})
        return Topic(spark, cluster, name, tmp_path)

    return make


@pytest.fixture
def topic(make_topic: Callable[..., Topic]) -> Topic:
    """A new topic with three partitions."""
    return make_topic()
