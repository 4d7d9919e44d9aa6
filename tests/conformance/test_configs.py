"""Configurations of brokers: the reference broker describes those that Apache Kafka describes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from pyk.protocol.messages import incremental_alter_configs as alter
from pyk.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from pyk.reference_broker.config.kafka_broker_configs import kafka_rows
from support.brokers import Kafka
from support.raw_client import RawClient

BROKER = 4
SET, DELETE = 0, 1
DYNAMIC, DYNAMIC_DEFAULT, STATIC, DEFAULT = 2, 3, 4, 5


@pytest.fixture
async def client(kafka: Kafka) -> AsyncIterator[RawClient]:
    async with RawClient(kafka.bootstrap) as client:
        yield client


async def describe(client: RawClient, broker: str = "0", *names: str) -> dict[str, Any]:
    """Describe configurations (default: all) of a broker, or of the whole cluster for ""."""
    asked = DescribeConfigsResource(
        resource_type=BROKER, resource_name=broker, configuration_keys=list(names) or None
    )
    request = DescribeConfigsRequest(
        resources=[asked], include_synonyms=True, include_documentation=True
    )
    (result,) = (await client.ask(request)).results
    assert result.error_code == 0
    return {entry.name: entry for entry in result.configs}


async def change(client: RawClient, broker: str, name: str, value: str | None) -> None:
    """Set a configuration, or reset it for None, and wait until the broker describes the change."""
    config = alter.AlterableConfig(
        name=name, config_operation=DELETE if value is None else SET, value=value
    )
    resource = alter.AlterConfigsResource(
        resource_type=BROKER, resource_name=broker, configs=[config]
    )
    request = alter.IncrementalAlterConfigsRequest(resources=[resource])
    (response,) = (await client.ask(request)).responses
    assert response.error_code == 0
    source = DYNAMIC if broker else DYNAMIC_DEFAULT
    while True:
        entry = (await describe(client, "0", name)).get(name)
        is_set = entry is not None and source in [each.source for each in entry.synonyms]
        if is_set == (value is not None):
            return


async def test_a_broker_lists_all_configurations_of_kafka(client: RawClient) -> None:
    described = await describe(client)

    types = ["", "boolean", "string", "int", "short", "long", "double", "list", "class", "password"]
    rows = {name: row for name, *row in kafka_rows()}
    assert set(described) == set(rows)
    for name, (kind, default, mode) in rows.items():
        entry = described[name]
        assert (entry.config_type, entry.read_only) == (types.index(kind), mode == "read-only"), (
            name
        )
        assert entry.is_sensitive == (kind == "password"), name
        assert entry.documentation, name
        if entry.config_source == DEFAULT:
            assert entry.value == (None if default == "\\N" else default), name


async def test_a_broker_describes_its_addresses_its_id_and_its_data_directory(
    kafka: Kafka, client: RawClient
) -> None:
    described = await describe(client)

    for name in ("listeners", "advertised.listeners"):
        assert f"PLAINTEXT://{kafka.bootstrap.split(',')[0]}" in described[name].value.split(",")
        assert described[name].config_source == STATIC
    assert described["broker.id"].value == described["node.id"].value == "0"
    assert described["log.dirs"].value
    own = [(each.name, each.value, each.source) for each in described["broker.id"].synonyms]
    assert own == [("broker.id", "0", STATIC), ("broker.id", "-1", DEFAULT)]


@pytest.mark.parametrize(("broker", "source"), [("0", DYNAMIC), ("", DYNAMIC_DEFAULT)])
@pytest.mark.parametrize("name", ["foo.bar", "retention.ms"])
async def test_an_unknown_configuration_of_a_broker_is_described_without_its_value(
    client: RawClient, broker: str, source: int, name: str
) -> None:
    await change(client, broker, name, "1")
    try:
        described = await describe(client, broker, name)
    finally:
        await change(client, broker, name, None)

    entry = described[name]
    assert (entry.value, entry.config_source, entry.config_type) == (None, source, 0)
    assert entry.is_sensitive
    assert entry.read_only


async def test_synonyms_are_described_only_on_request_also_for_the_cluster_wide_default(
    client: RawClient,
) -> None:
    await change(client, "", "log.retention.ms", "86400000")
    try:
        everywhere = await describe(client, "", "log.retention.ms")
        here = await describe(client, "0", "log.retention.ms")
    finally:
        await change(client, "", "log.retention.ms", None)

    def synonyms(entry: Any) -> list[tuple[Any, ...]]:
        return [(each.name, each.value, each.source) for each in entry.synonyms]

    own = ("log.retention.ms", "86400000", DYNAMIC_DEFAULT)
    assert synonyms(everywhere["log.retention.ms"]) == [own]
    assert synonyms(here["log.retention.ms"]) == [own, ("log.retention.hours", "168", DEFAULT)]
    assert (await describe(client, "0", "log.retention.ms"))["log.retention.ms"].synonyms == []


async def test_min_insync_replicas_is_a_cluster_wide_default(
    kafka: Kafka, client: RawClient
) -> None:
    """Kafka sets it when it formats a cluster: with KIP-966 brokers must not differ in it."""
    described = (await describe(client))["min.insync.replicas"]

    value = str(kafka.min_insync_replicas)
    assert (described.value, described.config_source) == (value, DYNAMIC_DEFAULT)
    own = [(each.value, each.source) for each in described.synonyms]
    static = (value, STATIC)  # in the properties of the Apache Kafka of these tests
    assert [each for each in own if each != static] == [(value, DYNAMIC_DEFAULT), ("1", DEFAULT)]
