"""Brokers of the scenarios: the reference broker, and on request Apache Kafka with 1 and 3 nodes.

The reference broker runs on one node: clusters of several are not in this release.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from support import apache_kafka
from support.brokers import Kafka, RealKafka, ReferenceBroker, make_topic

_numbers = itertools.count()


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
