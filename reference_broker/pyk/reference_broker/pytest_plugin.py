"""Fixtures for pytest: a cluster for the session, topics for its tests, and virtual time.

pytest finds them by itself. Each process of pytest-xdist has a cluster of its own. What costs time
is imported by the first test that uses a fixture.
"""

from __future__ import annotations

import itertools
import logging
import re
from collections.abc import Callable, Generator, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from . import pytest_settings as settings

if TYPE_CHECKING:
    from pyk.reference_broker import AsyncCluster, Cluster, World

MOST_OF_A_NAME = 200
VIRTUAL_TIME = "virtual_time"
TOPIC_ARGUMENTS = ("partitions", "replication_factor", "configs")
WORLD_ARGUMENTS = ("seed", "latency", "observe")
_CLUSTER: pytest.StashKey[Cluster] = pytest.StashKey()
_BEGAN_MS: pytest.StashKey[int] = pytest.StashKey()
_numbers = itertools.count()


def pytest_addoption(parser: pytest.Parser) -> None:
    settings.add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "virtual_time(seed=0, latency=0.0): run an async test in virtual time, in the world of "
        "kafka_world",
    )
    config.addinivalue_line(
        "markers", "kafka_topic(partitions=1, configs=None): what the topic of kafka_topic is like"
    )
    settings.check(config)


# -- clusters --------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def kafka_options(pytestconfig: pytest.Config) -> dict[str, Any]:
    """Return the arguments of the clusters, from the settings; override it in ``conftest.py``.

    With ``{"tls": True, "sasl": {"alice": "secret"}}`` all tests run over TLS and SCRAM.
    """
    return settings.cluster_options(pytestconfig)


@pytest.fixture(scope="session")
def kafka(kafka_options: dict[str, Any], pytestconfig: pytest.Config) -> Iterator[Cluster]:
    """Run a cluster for the session; ``kafka.client_options()`` is for clients.

    A test begins with a cluster that works: what faults the one before left end, and its node runs.
    """
    from pyk.reference_broker import Cluster

    level = settings.log_level(pytestconfig)
    logger = logging.getLogger("pyk.reference_broker")
    level_before = logger.level
    if level is not None:
        logger.setLevel(level)
    try:
        with settings.data_folder(pytestconfig) as folder:
            given = kafka_options if folder is None else {"data_dir": folder, **kafka_options}
            with Cluster(**given) as cluster:
                cluster.faults.pretend(settings.release(pytestconfig))
                pytestconfig.stash[_CLUSTER] = cluster
                yield cluster
    finally:
        if _CLUSTER in pytestconfig.stash:
            del pytestconfig.stash[_CLUSTER]
        logger.setLevel(level_before)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    cluster = item.config.stash.get(_CLUSTER, None)
    if cluster is None:
        return
    try:
        cluster.heal()
    except RuntimeError as error:
        if "kafka" not in getattr(item, "fixturenames", ()):
            return  # it may do without
        raise pytest.UsageError(
            "a test before this one closed the cluster of the session: end a node with stop() or "
            f"kill(), or use a Cluster of the test's own ({error})"
        ) from error
    cluster.faults.pretend(settings.release(item.config))
    item.stash[_BEGAN_MS] = cluster.clock.time_ms()


@pytest.fixture
def kafka_topic_factory(kafka: Cluster, request: pytest.FixtureRequest) -> Callable[..., str]:
    """Return a function that creates a topic with a new name, and returns the name.

    Its arguments are those of ``Cluster.create_topic`` after the name.
    """
    words = re.sub(r"[^a-zA-Z0-9._-]+", "-", request.node.name).strip("-")

    def create(partitions: int = 1, **arguments: Any) -> str:
        name = f"{words[:MOST_OF_A_NAME]}-{next(_numbers)}"
        kafka.create_topic(name, partitions, **arguments)
        return name

    return create


@pytest.fixture
def kafka_topic(kafka_topic_factory: Callable[..., str], request: pytest.FixtureRequest) -> str:
    """Return the name of a new topic: of one partition, unless the test has a mark ``kafka_topic``.

    ``@pytest.mark.kafka_topic(partitions=3, configs={"cleanup.policy": "compact"})``
    """
    mark = request.node.get_closest_marker("kafka_topic")
    if mark is None:
        return kafka_topic_factory()
    with settings.usage_errors("@pytest.mark.kafka_topic", mark.kwargs, TOPIC_ARGUMENTS):
        return kafka_topic_factory(*mark.args, **mark.kwargs)


@pytest.fixture
def async_kafka(kafka_options: dict[str, Any], request: pytest.FixtureRequest) -> AsyncCluster:
    """Return a cluster of the test's own, on its event loop once it is entered.

    ``async with async_kafka:`` works with any plugin for async tests. In a test that is marked
    ``virtual_time`` it is a cluster of ``kafka_world``.
    """
    from pyk.reference_broker import AsyncCluster

    if request.node.get_closest_marker(VIRTUAL_TIME) is None:
        cluster = AsyncCluster(**kafka_options)
    else:
        world: World = request.getfixturevalue("kafka_world")
        with world.host("app"):
            cluster = AsyncCluster(**kafka_options)
    cluster.faults.pretend(settings.release(request.config))
    return cluster


# -- virtual time ----------------------------------------------------------------------------------


@pytest.fixture
def kafka_world(request: pytest.FixtureRequest) -> World:
    """Return the world that a test marked ``virtual_time`` runs in."""
    from pyk.reference_broker import World

    mark = request.node.get_closest_marker(VIRTUAL_TIME)
    if mark is None:
        raise pytest.UsageError("kafka_world is for async tests marked @pytest.mark.virtual_time")
    seed = {} if mark.args else {"seed": settings.seed(request.config)}
    with settings.usage_errors("@pytest.mark.virtual_time", mark.kwargs, WORLD_ARGUMENTS):
        return World(*mark.args, **{**seed, **mark.kwargs})


@pytest.hookimpl(hookwrapper=True, trylast=True)
def pytest_pycollect_makeitem() -> Generator[None, Any, None]:
    """Make ordinary tests of those that run in virtual time, before other plugins see them."""
    outcome = yield
    made = outcome.get_result()
    for item in made if isinstance(made, list) else [made]:
        if isinstance(item, pytest.Function) and item.get_closest_marker(VIRTUAL_TIME):
            item.fixturenames.insert(0, "kafka_world")
            item.obj = _in_virtual_time(item, item.obj)


def _in_virtual_time(item: pytest.Function, test: Callable[..., Any]) -> Callable[..., None]:
    def run(**arguments: Any) -> None:
        import inspect

        if not inspect.iscoroutinefunction(test):
            pytest.fail(
                f"@pytest.mark.virtual_time is for async tests: write async def {item.name}",
                pytrace=False,
            )
        if "kafka" in item.funcargs:
            pytest.fail(
                "kafka runs in real time, on sockets: a test in virtual time uses async_kafka",
                pytrace=False,
            )
        world: Any = item.funcargs["kafka_world"]
        world.run(test(**arguments))

    run.__doc__ = test.__doc__
    return run


# -- what a failed test sees -----------------------------------------------------------------------


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, Any, None]:
    """Add to the report of a failed test what its cluster saw, or the seed of its world."""
    outcome = yield
    if call.when != "call" or call.excinfo is None or not isinstance(item, pytest.Function):
        return
    lines = []
    world: Any = item.funcargs.get("kafka_world")
    if world is not None:
        lines.append(f"virtual time: seed={world.seed}, {world.clock.now():.3f} s have passed")
    cluster = item.config.stash.get(_CLUSTER, None)
    if cluster is not None and "kafka" in item.fixturenames:
        lines += settings.requests_since(cluster, item.stash.get(_BEGAN_MS, 0))
    if lines:
        outcome.get_result().sections.append(("Kafka", "\n".join(lines)))
