"""Fixtures for pytest: a cluster for the session, topics for its tests.

pytest finds them by itself. Each process of pytest-xdist has a cluster of its own.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pyk.reference_broker import AsyncCluster, Cluster

MOST_OF_A_NAME = 200
_numbers = itertools.count()


@pytest.fixture(scope="session")
def kafka_options() -> dict[str, Any]:
    """Return the arguments of the clusters, none by default; override it in ``conftest.py``.

    With ``{"tls": True, "sasl": {"alice": "secret"}}`` all tests run over TLS and SCRAM.
    """
    return {}


@pytest.fixture(scope="session")
def kafka(kafka_options: dict[str, Any]) -> Iterator[Cluster]:
    """Run a cluster for the session; ``kafka.client_options()`` is for clients."""
    from pyk.reference_broker import Cluster

    with Cluster(**kafka_options) as cluster:
        yield cluster


@pytest.fixture
def kafka_topic(kafka: Cluster, request: pytest.FixtureRequest) -> str:
    """Return the name of a new topic with one partition."""
    words = re.sub(r"[^a-zA-Z0-9._-]+", "-", request.node.name).strip("-")
    name = f"{words[:MOST_OF_A_NAME]}-{next(_numbers)}"
    kafka.create_topic(name)
    return name


@pytest.fixture
def async_kafka(kafka_options: dict[str, Any]) -> AsyncCluster:
    """Return a cluster of the test's own, on its event loop once it is entered.

    ``async with async_kafka:`` works with any plugin for async tests.
    """
    from pyk.reference_broker import AsyncCluster

    return AsyncCluster(**kafka_options)
