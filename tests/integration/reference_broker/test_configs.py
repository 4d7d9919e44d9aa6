"""Configurations take effect, also while a broker runs, or are reported."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator

import pytest

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages import incremental_alter_configs as alter
from pyk.protocol.messages.metadata import MetadataRequest
from pyk.protocol.messages.metadata_records import ConfigRecord
from pyk.protocol.records import Compression, read_batches
from pyk.reference_broker import AsyncCluster
from pyk.reference_broker.config import InvalidConfigError
from pyk.reference_broker.controller.records import MetadataRecord
from support.broker_requests import TOPIC, commit, find_coordinator
from support.raw_client import RawClient

BROKER, SET = 4, 0
DEFAULT_BROKER = ""


@pytest.fixture
async def cluster() -> AsyncIterator[AsyncCluster]:
    async with AsyncCluster() as cluster:
        yield cluster


async def change(cluster: AsyncCluster, name: str, value: str, broker: str = "") -> None:
    config = alter.AlterableConfig(name=name, config_operation=SET, value=value)
    resource = alter.AlterConfigsResource(
        resource_type=BROKER, resource_name=broker, configs=[config]
    )
    async with RawClient(cluster.bootstrap) as client:
        request = alter.IncrementalAlterConfigsRequest(resources=[resource])
        assert (await client.ask(request)).responses[0].error_code == ErrorCode.NONE


async def test_the_limit_of_an_address_changes_while_the_broker_runs(cluster: AsyncCluster) -> None:
    name = "max.connections.per.ip"
    await change(cluster, name, "1")

    async with RawClient(cluster.bootstrap) as first:
        assert (await first.ask(MetadataRequest())).brokers
        async with RawClient(cluster.bootstrap) as second:
            assert await second.is_cut_off()
        await change_through(first, name, "2")
        async with RawClient(cluster.bootstrap) as third:
            assert (await third.ask(MetadataRequest())).brokers


async def test_connections_above_the_limit_wait_until_there_is_room(cluster: AsyncCluster) -> None:
    await change(cluster, "max.connections", "1")

    async with RawClient(cluster.bootstrap) as first, RawClient(cluster.bootstrap) as second:
        assert (await first.ask(MetadataRequest())).brokers
        second.send(MetadataRequest())
        assert (await first.ask(MetadataRequest())).brokers
        (broker,) = cluster._brokers.values()
        assert broker._listener is not None
        assert broker._listener.connection_count == 1

        await change_through(first, "max.connections", "2")
        assert (await second.receive()).brokers


async def change_through(client: RawClient, name: str, value: str) -> None:
    config = alter.AlterableConfig(name=name, config_operation=SET, value=value)
    resource = alter.AlterConfigsResource(resource_type=BROKER, configs=[config])
    await client.ask(alter.IncrementalAlterConfigsRequest(resources=[resource]))


async def test_producers_expire_as_configured_while_the_broker_runs(cluster: AsyncCluster) -> None:
    await change(cluster, "producer.id.expiration.ms", "12345", broker="0")

    (broker,) = cluster._brokers.values()
    assert broker._logs.config.producer_id_expiration_ms == 12345


async def test_offsets_are_stored_with_the_codec_of_their_topic() -> None:
    config = {"offsets.topic.compression.codec": "3", "offsets.topic.num.partitions": "1"}
    async with AsyncCluster(config=config) as cluster:
        await cluster.create_topic(TOPIC)
        async with RawClient(cluster.bootstrap) as client:
            while (await client.ask(find_coordinator())).coordinators[0].error_code:
                pass
            committed = await client.ask(commit(5), 9)
        (broker,) = cluster._brokers.values()
        stored = (
            broker.services.replicas.get("__consumer_offsets", 0).log.reader.read(0, 1 << 20).read()
        )

    assert committed.topics[0].partitions[0].error_code == ErrorCode.NONE
    assert {each.compression_type for each in read_batches(stored)} == {Compression.LZ4}


async def test_a_configuration_without_effect_is_logged_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.WARNING)
    async with AsyncCluster(config={"num.io.threads": "4"}) as cluster:
        await change(cluster, "num.network.threads", "2")
        await change(cluster, "no.such.name", "2", broker="0")
        await change(cluster, "log.retention.ms", "86400000")

    assert caplog.messages == [
        f"Configuration {name} has no effect in the reference broker"
        for name in ("num.io.threads", "num.network.threads", "no.such.name")
    ]


@pytest.mark.parametrize("name", ["node.id", "broker.id"])
def test_a_configuration_that_an_argument_sets_is_refused(name: str) -> None:
    with pytest.raises(InvalidConfigError, match=f"{name} is set by "):
        AsyncCluster(config={name: "7"})


async def test_an_invalid_stored_configuration_does_not_keep_a_broker_from_starting(
    cluster: AsyncCluster, caplog: pytest.LogCaptureFixture
) -> None:
    await change(cluster, "num.io.threads", "4")
    (broker,) = cluster._brokers.values()
    broker.image.configs[BROKER, ""]["num.io.threads"] = "many"

    await change(cluster, "log.retention.ms", "86400000")

    assert "num.io.threads='many'" in caplog.text
    assert broker.configs.broker.log_retention_ms == 86400000


async def test_a_listener_has_a_limit_of_connections_of_its_own() -> None:
    config = {"listener.name.plaintext.max.connections": "1"}
    async with AsyncCluster(config=config) as cluster:
        (broker,) = cluster._brokers.values()
        async with RawClient(cluster.bootstrap) as first, RawClient(cluster.bootstrap):
            assert (await first.ask(MetadataRequest())).brokers
            assert (await first.ask(MetadataRequest())).brokers
            assert broker._listener is not None
            assert broker._listener.connection_count == 1


async def test_limits_of_addresses_that_are_none_are_refused() -> None:
    config = {"max.connections.per.ip.overrides": "everybody"}

    with pytest.raises(InvalidConfigError, match=r"'everybody': not valid.*address:count"):
        async with AsyncCluster(config=config):
            raise AssertionError


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max.connections", "0"),
        ("max.connection.creation.rate", "0"),
        ("listener.name.plaintext.max.connections", "0"),
        ("max.connections.per.ip.overrides", "everybody"),
    ],
)
async def test_a_broker_starts_in_spite_of_a_stored_limit_that_lets_nobody_in(
    name: str, value: str
) -> None:
    """Such a limit is refused today, and is ignored in older data directories."""
    record = ConfigRecord(
        resource_type=BROKER, resource_name=DEFAULT_BROKER, name=name, value=value
    )
    async with AsyncCluster() as cluster:
        (broker,) = cluster._brokers.values()

        broker.follower.commit([MetadataRecord(record)])

        async with RawClient(cluster.bootstrap) as client:
            assert (await client.ask(MetadataRequest())).brokers
