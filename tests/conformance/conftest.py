"""Brokers of the scenarios: the reference broker, and on request Apache Kafka with 1 and 3 nodes.

The reference broker runs on one node: clusters of several are not in this release.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from pyk.clients import Admin
from pyk.clients.errors import KafkaError
from support import apache_kafka
from support.brokers import Kafka, RealKafka, ReferenceBroker, make_topic
from support.new_brokers import KINDS, NewBroker, new_broker_of

_numbers = itertools.count()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the tests of one broker of Apache Kafka in one worker, and others by file: a broker is a
    JVM, and takes long to start."""
    for item in items:
        if item.get_closest_marker("conformance") and not item.get_closest_marker("spark"):
            item.add_marker(pytest.mark.xdist_group(_broker_of(item)))


def _broker_of(item: pytest.Item) -> str:
    """Return the broker that all scenarios share, or the file that starts one of its own."""
    definitions = item._fixtureinfo.name2fixturedefs.get("kafka", ())
    if not any(definition.scope == "session" for definition in definitions[-1:]):
        return item.path.stem
    return str(item.callspec.params["kafka"])


@pytest.fixture(
    scope="session",
    params=[
        "reference",
        pytest.param("apache", marks=pytest.mark.conformance),
        pytest.param("apache, three nodes", marks=pytest.mark.conformance),
    ],
)
def kafka(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Kafka]:
    """One broker, or one cluster of three, for all scenarios of a process."""
    if request.param == "reference":
        with ReferenceBroker(tmp_path_factory.mktemp("broker")) as reference:
            yield reference
        return
    if why := apache_kafka.missing():
        pytest.skip(why)
    with RealKafka(nodes=1 if request.param == "apache" else 3) as real:
        yield real


@pytest.fixture(autouse=True)
def _topics_end_with_their_test(request: pytest.FixtureRequest) -> Iterator[None]:
    """Delete the topics that a test makes in Apache Kafka.

    A node there looks at each partition that it has for each produce and fetch request, and would
    have thousands at the end of a run.
    """
    kafka = request.getfixturevalue("kafka") if "kafka" in request.fixturenames else None
    if not isinstance(kafka, RealKafka):
        yield
        return
    with Admin(kafka.bootstrap) as admin:
        before = admin.list_topics().keys()
    yield
    with Admin(kafka.bootstrap) as admin, contextlib.suppress(KafkaError):
        admin.delete_topics(admin.list_topics().keys() - before)


@pytest.fixture(params=KINDS)
def new_broker(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[NewBroker]:
    """A broker of its own for one test."""
    with new_broker_of(request.param, tmp_path) as broker:
        yield broker


@pytest.fixture
def _apache_kafka_can_run() -> None:
    """Skip a test where Apache Kafka cannot run."""
    if why := apache_kafka.missing():
        pytest.skip(why)


@pytest.fixture
def topic(kafka: Kafka, request: pytest.FixtureRequest) -> str:
    """A new topic with three partitions."""
    return make_topic(kafka, request.node.originalname, partitions=3)


@pytest.fixture
def group(request: pytest.FixtureRequest) -> str:
    return f"{request.node.originalname}-group-{next(_numbers)}"
