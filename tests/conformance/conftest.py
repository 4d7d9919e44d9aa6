"""The brokers of every scenario: ours always, Apache Kafka (one and three nodes) when asked for."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from support import apache_kafka
from support.brokers import Kafka, RealKafka, ReferenceBroker, make_topic

SCENARIOS_OF_THREE_NODES = {"test_leaders.py"}

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


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave three nodes to what is about several leaders; the rest expects one node."""
    items[:] = [
        item
        for item in items
        if "three nodes" not in item.name or item.path.name in SCENARIOS_OF_THREE_NODES
    ]


@pytest.fixture
def topic(kafka: Kafka, request: pytest.FixtureRequest) -> str:
    """A fresh topic with three partitions."""
    return make_topic(kafka, request.node.originalname, partitions=3)


@pytest.fixture
def group(request: pytest.FixtureRequest) -> str:
    return f"{request.node.originalname}-group-{next(_numbers)}"
