"""Subscriptions to metrics of clients, and pushes of those, get the answers of Apache Kafka.

Apache Kafka serves these requests only if it has a plug-in that takes the metrics.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages import alter_configs
from pyk.protocol.messages import incremental_alter_configs as incremental
from pyk.protocol.messages.api_versions import ApiVersionsRequest
from pyk.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from pyk.protocol.messages.get_telemetry_subscriptions import GetTelemetrySubscriptionsRequest
from pyk.protocol.messages.list_config_resources import ListConfigResourcesRequest
from pyk.protocol.messages.push_telemetry import PushTelemetryRequest
from pyk.protocol.records.compression import Compression, compress
from pyk.reference_broker import Cluster
from support import apache_kafka
from support.raw_client import RawClient
from support.real_time import IN_TIME

E = ErrorCode
CLIENT_METRICS = 16
SET, DELETE, APPEND, SUBTRACT = range(4)
MAX_BYTES = 10_000
CONFIG = {"telemetry.max.bytes": str(MAX_BYTES)}
NEW = UUID(int=0)
RECEIVER = Path(apache_kafka.__file__).with_name("MetricsReceiver.java")


@pytest.fixture(
    scope="module",
    params=["reference", pytest.param("apache", marks=pytest.mark.conformance)],
)
def bootstrap(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    if request.param == "reference":
        with Cluster(config=CONFIG) as cluster:
            yield cluster.bootstrap
        return
    if why := apache_kafka.missing():
        pytest.skip(why)
    plugins = tmp_path_factory.mktemp("plugins")
    apache_kafka.compile_java(RECEIVER, plugins)
    config = {**CONFIG, "metric.reporters": RECEIVER.stem}
    with apache_kafka.ApacheKafka(config=config, plugins=plugins) as kafka:
        yield kafka.bootstrap


@pytest.fixture
async def client(bootstrap: str) -> AsyncIterator[Client]:
    async with RawClient(bootstrap, "orders-app") as connection:
        greeting = ApiVersionsRequest(client_software_name="pyk", client_software_version="1.2")
        await connection.ask(greeting, 4)
        client = Client(connection)
        yield client
        for name in await client.subscriptions():
            await client.configure(name, interval_ms=None, match=None, metrics=None)
        await client.until_asked_for([])


class Client:
    """Asks a broker what to push, and pushes."""

    def __init__(self, connection: RawClient) -> None:
        self._connection = connection
        self.port = connection.writer.get_extra_info("sockname")[1]

    async def alter(
        self, name: str, config: str, value: str | None, operation: int = SET
    ) -> tuple[int, str | None]:
        """Change one configuration of a subscription; return the error code and message."""
        changed = incremental.AlterableConfig(name=config, config_operation=operation, value=value)
        return await self._alter(name, [changed])

    async def configure(self, name: str, **values: str | None) -> None:
        """Set configurations of a subscription; None removes one."""
        changes = [
            incremental.AlterableConfig(
                name=config.replace("_", "."),
                config_operation=DELETE if value is None else SET,
                value=value,
            )
            for config, value in values.items()
        ]
        assert await self._alter(name, changes) == (E.NONE, None)

    async def _alter(self, name: str, changes: list[Any]) -> tuple[int, str | None]:
        resource = incremental.AlterConfigsResource(
            resource_type=CLIENT_METRICS, resource_name=name, configs=changes
        )
        request = incremental.IncrementalAlterConfigsRequest(resources=[resource])
        (result,) = (await self._connection.ask(request)).responses
        return result.error_code, result.error_message

    async def replace(self, name: str, **values: str) -> int:
        """Set all configurations of a subscription, as AlterConfigs does; return the error code."""
        configs = [alter_configs.AlterableConfig(name=key, value=values[key]) for key in values]
        resource = alter_configs.AlterConfigsResource(
            resource_type=CLIENT_METRICS, resource_name=name, configs=configs
        )
        request = alter_configs.AlterConfigsRequest(resources=[resource])
        (result,) = (await self._connection.ask(request)).responses
        return int(result.error_code)

    async def describe(self, name: str) -> Any:
        resource = DescribeConfigsResource(resource_type=CLIENT_METRICS, resource_name=name)
        request = DescribeConfigsRequest(resources=[resource], include_synonyms=True)
        (result,) = (await self._connection.ask(request)).results
        return result

    async def subscriptions(self) -> list[str]:
        response = await self._connection.ask(ListConfigResourcesRequest(), 0)
        return [each.resource_name for each in response.config_resources]

    async def get(self, client_instance_id: UUID = NEW) -> Any:
        return await self._connection.ask(
            GetTelemetrySubscriptionsRequest(client_instance_id=client_instance_id)
        )

    async def push(self, subscribed: Any, **fields: Any) -> int:
        """Push by a response to :meth:`get`, changed by ``fields``; return the error code."""
        request = PushTelemetryRequest(
            **{
                "client_instance_id": subscribed.client_instance_id,
                "subscription_id": subscribed.subscription_id,
                **fields,
            }
        )
        return int((await self._connection.ask(request)).error_code)

    async def push_when_due(self, subscribed: Any, **fields: Any) -> int:
        """Push as often as needed until the broker does not find it too early."""
        return await _until(
            lambda: self.push(subscribed, **fields),
            lambda code: code != E.THROTTLING_QUOTA_EXCEEDED,
        )

    async def until_asked_for(self, metrics: list[str]) -> Any:
        """Return what a new client is told, once it is asked for these metrics.

        The nodes of Apache Kafka learn of a configuration after it is answered.
        """
        return await _until(
            self.get, lambda response: sorted(response.requested_metrics) == sorted(metrics)
        )


async def _until(ask: Callable[[], Any], is_it: Callable[[Any], bool]) -> Any:
    async with asyncio.timeout(IN_TIME):
        while not is_it(answer := await ask()):
            await asyncio.sleep(0.02)
    return answer


@pytest.mark.parametrize(
    ("config", "value", "code", "message"),
    [
        ("interval.ms", "99", E.INVALID_REQUEST, "Invalid value 99 for interval.ms, interval must"),
        ("interval.ms", "3600001", E.INVALID_REQUEST, "between 100 and 3600000 (1 hour)"),
        ("interval.ms", "soon", E.INVALID_CONFIG, "type INT"),
        ("colour", "red", E.INVALID_REQUEST, "Unknown client metrics configuration: colour"),
        ("match", "client_id", E.INVALID_CONFIG, "Illegal client matching pattern: client_id"),
        ("match", "client_id=", E.INVALID_CONFIG, "Illegal client matching pattern: client_id="),
        ("match", "client_id=a=b", E.INVALID_CONFIG, "Illegal client matching pattern"),
        ("match", "client_id=[", E.INVALID_CONFIG, "Illegal client matching pattern"),
        ("match", "client_id=a(?=b)", E.INVALID_CONFIG, "Illegal client matching pattern"),
        ("match", "colour=red", E.INVALID_CONFIG, "Illegal client matching pattern: colour=red"),
        ("match", "client_id=a,", E.INVALID_CONFIG, "values must not be empty"),
        ("metrics", "org.apache.kafka.,,client", E.INVALID_CONFIG, "values must not be empty"),
        ("metrics", None, E.INVALID_REQUEST, "Null value not supported for : metrics"),
    ],
)
async def test_a_subscription_with_an_invalid_configuration_is_refused(
    client: Client, config: str, value: str | None, code: ErrorCode, message: str
) -> None:
    found_code, found_message = await client.alter("refused", config, value)

    assert (found_code, message in str(found_message)) == (code, True), found_message
    assert await client.subscriptions() == []


async def test_a_subscription_needs_a_name_and_its_lists_cannot_grow(client: Client) -> None:
    unnamed = await client.alter("", "metrics", "*")
    appended = await client.alter("lists", "metrics", "*", APPEND)
    taken_away = await client.alter("lists", "metrics", "*", SUBTRACT)

    assert unnamed == (E.INVALID_REQUEST, "Subscription name can't be empty")
    assert appended == (
        E.INVALID_CONFIG,
        "Can't APPEND to key metrics because its type is not LIST.",
    )
    assert taken_away[0] == E.INVALID_CONFIG


async def test_a_subscription_is_described_listed_and_replaced(client: Client) -> None:
    await client.configure("all", metrics="a.,b.", interval_ms=" 200 ")
    described = await client.describe("all")
    unknown = await client.describe("unknown")
    unnamed = await client.describe("")

    assert await client.subscriptions() == ["all"]
    assert {
        one.name: (one.value, one.config_source, one.config_type, one.read_only, one.is_sensitive)
        for one in described.configs
    } == {
        "interval.ms": ("200", 7, 3, False, False),
        "match": ("", 5, 7, False, False),
        "metrics": ("a.,b.", 7, 7, False, False),
    }
    synonyms = {one.name: one.synonyms for one in described.configs}
    assert [(one.value, one.source) for one in synonyms["metrics"]] == [("a.,b.", 7)]
    assert synonyms["match"] == []
    assert {(one.name, one.value, one.config_source) for one in unknown.configs} == {
        ("interval.ms", "300000", 5),
        ("match", "", 5),
        ("metrics", "", 5),
    }
    assert (unnamed.error_code, unnamed.error_message) == (
        E.INVALID_REQUEST,
        "Client metrics subscription name must not be empty",
    )
    assert await client.replace("all", match="client_id=x") == E.NONE
    replaced = {one.name: one.value for one in (await client.describe("all")).configs}
    assert replaced == {"interval.ms": "300000", "match": "client_id=x", "metrics": ""}


async def test_a_client_without_subscriptions_is_asked_for_nothing(client: Client) -> None:
    first = await client.until_asked_for([])
    again = await client.get(first.client_instance_id)

    assert first.client_instance_id.int
    assert first.accepted_compression_types == [4, 3, 1, 2]
    assert (first.push_interval_ms, first.telemetry_max_bytes) == (300_000, MAX_BYTES)
    assert first.delta_temporality
    assert again.error_code == E.THROTTLING_QUOTA_EXCEEDED
    assert await client.push(first) == E.NONE
    assert await client.push(first) == E.THROTTLING_QUOTA_EXCEEDED
    assert await client.push(first, terminating=True) == E.NONE


async def test_the_id_of_a_subscription_comes_from_metrics_interval_and_client(
    client: Client,
) -> None:
    await client.configure("one", metrics="org.apache.kafka.producer.", interval_ms="100")
    await client.until_asked_for(["org.apache.kafka.producer."])

    assert (await client.get(UUID(int=1))).subscription_id == -281_444_565


async def test_a_client_must_ask_again_when_subscriptions_have_changed(client: Client) -> None:
    first = await client.until_asked_for([])
    await client.configure("one", metrics="a.", interval_ms="100")
    await client.until_asked_for(["a."])

    outdated = await client.push(first)
    renewed = await client.get(first.client_instance_id)

    assert outdated == E.UNKNOWN_SUBSCRIPTION_ID
    assert (renewed.error_code, renewed.requested_metrics) == (E.NONE, ["a."])
    assert renewed.subscription_id != first.subscription_id
    assert await client.push_when_due(renewed) == E.NONE


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({}, E.NONE),
        ({"metrics": b"\x0a\x00"}, E.NONE),
        ({"metrics": compress(Compression.GZIP, b"\x0a\x00"), "compression_type": 1}, E.NONE),
        ({"metrics": compress(Compression.SNAPPY, b"\x0a\x00"), "compression_type": 2}, E.NONE),
        ({"metrics": compress(Compression.LZ4, b"\x0a\x00"), "compression_type": 3}, E.NONE),
        ({"metrics": compress(Compression.ZSTD, b"\x0a\x00"), "compression_type": 4}, E.NONE),
        ({"metrics": bytes(MAX_BYTES)}, E.NONE),
        ({"metrics": bytes(MAX_BYTES + 1)}, E.TELEMETRY_TOO_LARGE),
        ({"compression_type": 5}, E.UNSUPPORTED_COMPRESSION_TYPE),
        ({"compression_type": -1}, E.UNSUPPORTED_COMPRESSION_TYPE),
        ({"metrics": b"damaged", "compression_type": 1}, E.INVALID_RECORD),
        ({"metrics": b"\xff\xff\xff", "compression_type": 2}, E.INVALID_RECORD),
        ({"metrics": b"damaged", "compression_type": 3}, E.INVALID_RECORD),
        ({"metrics": b"damaged", "compression_type": 4}, E.INVALID_RECORD),
        ({"subscription_id": 1}, E.UNKNOWN_SUBSCRIPTION_ID),
        ({"client_instance_id": UUID(int=0)}, E.INVALID_REQUEST),
        ({"client_instance_id": UUID(int=1)}, E.INVALID_REQUEST),
        ({"client_instance_id": UUID(int=2)}, E.UNKNOWN_SUBSCRIPTION_ID),
    ],
)
async def test_a_push_is_answered_with(
    client: Client, fields: dict[str, Any], code: ErrorCode
) -> None:
    subscribed = await client.until_asked_for([])

    assert await client.push(subscribed, **fields) == code


async def test_a_small_push_that_grows_beyond_the_limit_is_refused(client: Client) -> None:
    subscribed = await client.until_asked_for([])
    bomb = compress(Compression.ZSTD, bytes(50_000_000))
    assert len(bomb) < MAX_BYTES

    code = await client.push(subscribed, metrics=bomb, compression_type=4)

    assert code == E.INVALID_RECORD


async def test_nothing_is_taken_after_the_last_push(client: Client) -> None:
    subscribed = await client.until_asked_for([])

    codes = [await client.push(subscribed, terminating=last) for last in (False, True, True)]

    assert codes == [E.NONE, E.NONE, E.INVALID_REQUEST]


@pytest.mark.parametrize(
    ("pattern", "is_matched"),
    [
        ("", True),
        ("client_id=orders-app", True),
        (" client_id = orders.* ", True),
        ("client_id=orders", False),
        ("client_id=ORDERS-APP", False),
        ("client_id=x,client_id=orders-app", True),
        ("client_id=orders-app,client_id=x", False),
        ("client_software_name=py.", True),
        ("client_software_name=unknown", False),
        ("client_software_version=1.2,client_software_name=pyk", True),
        ("client_software_version=1.3,client_software_name=pyk", False),
        ("client_source_address=127\\..*", True),
        ("client_source_port=PORT", True),
        ("client_instance_id=[A-Za-z0-9_-]{22}", True),
    ],
)
async def test_a_subscription_is_for_the_clients_that_match(
    client: Client, pattern: str, is_matched: bool
) -> None:
    match = pattern.replace("PORT", str(client.port))
    await client.configure("for-everybody", metrics="a.")
    await client.configure("for-some", metrics="b.", match=match)

    found = await client.until_asked_for(["a.", "b."] if is_matched else ["a."])

    assert found.push_interval_ms == 300_000


async def test_all_metrics_and_the_shortest_interval_win(client: Client) -> None:
    await client.configure("some", metrics="a.,b.", interval_ms="2000")
    await client.configure("all", metrics="c.,*", interval_ms="600000")

    found = await client.until_asked_for(["*"])

    assert found.push_interval_ms == 2_000
