"""A broker for the tests of a module, and a topic for each."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from pyk.reference_broker import Cluster

_numbers = itertools.count()


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster() as cluster:
        yield cluster


@pytest.fixture
def topic(cluster: Cluster, request: pytest.FixtureRequest) -> str:
    """A new topic with three partitions."""
    name = f"{request.node.originalname}-{next(_numbers)}"
    cluster.create_topic(name, partitions=3)
    return name
