"""The levels of a broker's loggers, which change while it runs (KIP-412): as in Apache Kafka."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterator

import pytest

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages import incremental_alter_configs as alter
from pyk.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from support.brokers import Kafka
from support.raw_client import RawClient

TOPIC, BROKER, LOGGER = 2, 4, 8
SET, DELETE, APPEND, SUBTRACT = range(4)
E = ErrorCode
Change = tuple[str, int, str | None]


class Levels:
    """Describes and alters the levels of the loggers of broker 0."""

    def __init__(self, client: RawClient) -> None:
        self.client = client

    async def describe(self, *names: str, broker: str = "0") -> tuple[int, dict[str, str]]:
        asked = DescribeConfigsResource(
            resource_type=LOGGER, resource_name=broker, configuration_keys=list(names) or None
        )
        (result,) = (await self.client.ask(DescribeConfigsRequest(resources=[asked]))).results
        for entry in result.configs:
            assert (entry.config_source, entry.read_only, entry.is_sensitive) == (6, False, False)
        return result.error_code, {entry.name: entry.value for entry in result.configs}

    async def level(self, name: str) -> str:
        return (await self.describe(name))[1][name]

    async def alter(self, *changes: Change, broker: str = "0", validates: bool = False) -> int:
        (code,) = await self.alter_all(resource(LOGGER, broker, *changes), validates=validates)
        return code

    async def alter_all(
        self, *resources: alter.AlterConfigsResource, validates: bool = False
    ) -> list[int]:
        request = alter.IncrementalAlterConfigsRequest(
            resources=list(resources), validate_only=validates
        )
        return [each.error_code for each in (await self.client.ask(request)).responses]

    async def one(self) -> str:
        """Return the name of a logger."""
        return next(name for name in (await self.describe())[1] if name != "root")


def resource(kind: int, name: str, *changes: Change) -> alter.AlterConfigsResource:
    return alter.AlterConfigsResource(
        resource_type=kind,
        resource_name=name,
        configs=[
            alter.AlterableConfig(name=each, config_operation=operation, value=value)
            for each, operation, value in changes
        ],
    )


@pytest.fixture(autouse=True)
def levels_of_this_process() -> Iterator[None]:
    """Keep what the tests do to our broker, which may run here, from other tests."""
    root = logging.getLogger("pyk.reference_broker")
    before = root.level
    yield
    root.setLevel(before)


@pytest.fixture
async def levels(kafka: Kafka) -> AsyncIterator[Levels]:
    async with RawClient(kafka.bootstrap) as client:
        levels = Levels(client)
        name, root = await levels.one(), await levels.level("root")
        yield levels
        await levels.alter((name, DELETE, None))
        await levels.alter(("root", SET, root))


async def test_a_level_is_set_and_removed_while_the_broker_runs(levels: Levels) -> None:
    name = await levels.one()

    for level in ["TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL"]:
        assert await levels.alter((name, SET, level)) == 0
        assert await levels.level(name) == level
    assert await levels.alter((name, DELETE, None)) == 0

    assert await levels.level(name) == await levels.level("root")


async def test_loggers_without_a_level_obey_the_root(levels: Levels) -> None:
    name = await levels.one()

    assert await levels.alter(("root", SET, "FATAL")) == 0

    assert await levels.describe("root", name) == (0, {"root": "FATAL", name: "FATAL"})


async def test_levels_that_are_only_validated_do_not_change(levels: Levels) -> None:
    name = await levels.one()
    before = await levels.level(name)

    assert await levels.alter((name, SET, "TRACE"), validates=True) == 0
    assert await levels.alter((name, SET, "SHOUT"), validates=True) == E.INVALID_CONFIG

    assert await levels.level(name) == before


@pytest.mark.parametrize(
    ("operation", "value", "code"),
    [
        (SET, "debug", E.INVALID_CONFIG),
        (SET, "WARNING", E.INVALID_CONFIG),
        (SET, "OFF", E.INVALID_CONFIG),
        (SET, "", E.INVALID_CONFIG),
        (SET, None, E.INVALID_REQUEST),
        (APPEND, "INFO", E.INVALID_REQUEST),
        (SUBTRACT, "INFO", E.INVALID_REQUEST),
    ],
)
async def test_what_is_no_level_is_refused(
    levels: Levels, operation: int, value: str | None, code: int
) -> None:
    name = await levels.one()
    before = await levels.level(name)

    assert await levels.alter((name, operation, value)) == code

    assert await levels.level(name) == before


async def test_of_a_logger_that_does_not_exist_nothing_is_changed_or_described(
    levels: Levels,
) -> None:
    name = await levels.one()
    before = await levels.level(name)

    assert await levels.alter(("none", SET, "INFO")) == E.INVALID_CONFIG
    assert await levels.alter(("none", DELETE, None)) == E.INVALID_CONFIG
    assert await levels.alter((name, SET, "FATAL"), ("none", SET, "INFO")) == E.INVALID_CONFIG

    assert await levels.describe("none") == (0, {})
    assert await levels.level(name) == before


async def test_the_level_of_the_root_cannot_be_removed(levels: Levels) -> None:
    assert await levels.alter(("root", DELETE, None)) == E.INVALID_REQUEST


@pytest.mark.parametrize("broker", ["", "7", "x"])
async def test_another_broker_is_refused(levels: Levels, broker: str) -> None:
    name = await levels.one()

    assert await levels.alter((name, SET, "INFO"), broker=broker) == E.INVALID_REQUEST
    assert await levels.describe(broker=broker) == (E.INVALID_REQUEST, {})


async def test_a_logger_or_a_broker_that_is_named_twice_is_refused(levels: Levels) -> None:
    name = await levels.one()
    before = await levels.level(name)
    once = resource(LOGGER, "0", (name, SET, "FATAL"))

    assert await levels.alter((name, SET, "FATAL"), (name, SET, "INFO")) == E.INVALID_REQUEST
    assert await levels.alter_all(once, once) == [E.INVALID_REQUEST] * 2

    assert await levels.level(name) == before


async def test_levels_and_other_configurations_change_in_one_request(levels: Levels) -> None:
    name = await levels.one()
    broker = resource(BROKER, "0", ("log.cleaner.threads", DELETE, None))
    missing = resource(TOPIC, "a-topic-that-is-missing", ("retention.ms", SET, "1"))

    changed = [missing, resource(LOGGER, "0", (name, SET, "FATAL")), broker]

    assert await levels.alter_all(*changed) == [E.UNKNOWN_TOPIC_OR_PARTITION, 0, 0]
    assert await levels.level(name) == "FATAL"
