"""One Spark session and one broker for all tests of a process."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pyk.reference_broker import Cluster
from pyk.spark_connector import prepare_local_spark
from support.spark_topic import Topic

_numbers = itertools.count()


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    prepare_local_spark()
    session = (
        SparkSession.builder.master("local[2]")
        .appName("tests")
        .config("spark.driver.memory", "768m")
        .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.streaming.numRecentProgressUpdates", "1000")
        .config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse")))
        .config("spark.sql.adaptive.enabled", "false")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


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
    """A fresh topic with three partitions."""
    return make_topic()
