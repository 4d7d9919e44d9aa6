"""Which configurations may change while a broker runs, and to what: as in Apache Kafka."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from typing import Any

import pytest

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages import incremental_alter_configs as alter
from pyk.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from pyk.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from pyk.reference_broker.config import TOPIC_DEFINITIONS
from support.brokers import Kafka
from support.raw_client import RawClient

TOPIC, BROKER, SET, DELETE = 2, 4, 0, 1
ALL, ONE = "", "0"
E = ErrorCode


@pytest.fixture
async def client(kafka: Kafka) -> AsyncIterator[RawClient]:
    async with RawClient(kafka.bootstrap) as client:
        yield client


async def change(
    client: RawClient, kind: int, resource: str, name: str, value: str | None, *, validates: bool
) -> int:
    config = alter.AlterableConfig(
        name=name, config_operation=DELETE if value is None else SET, value=value
    )
    request = alter.IncrementalAlterConfigsRequest(
        resources=[
            alter.AlterConfigsResource(resource_type=kind, resource_name=resource, configs=[config])
        ],
        validate_only=validates,
    )
    code: int = (await client.ask(request)).responses[0].error_code
    return code


async def describe(client: RawClient, kind: int, resource: str) -> dict[str, Any]:
    asked = DescribeConfigsResource(
        resource_type=kind, resource_name=resource, configuration_keys=None
    )
    request = DescribeConfigsRequest(resources=[asked], include_synonyms=True)
    while True:
        (result,) = (await client.ask(request)).results
        if result.error_code != E.UNKNOWN_TOPIC_OR_PARTITION:  # a new topic is known soon
            break
    assert result.error_code == 0
    return {entry.name: entry for entry in result.configs}


@pytest.mark.parametrize(
    ("broker", "name", "value", "code"),
    [
        (ALL, "max.connections", "0", E.INVALID_REQUEST),
        (ALL, "max.connections", "1000", E.NONE),
        (ALL, "max.connection.creation.rate", "0", E.INVALID_REQUEST),
        (ALL, "max.connections.per.ip", "0", E.INVALID_REQUEST),
        (ONE, "max.connections.per.ip", "0", E.INVALID_REQUEST),
        (ALL, "max.connections.per.ip", "1000", E.NONE),
        (ALL, "log.retention.ms", "0", E.INVALID_REQUEST),
        (ALL, "log.retention.ms", "1", E.NONE),
        (ALL, "log.local.retention.ms", "-1", E.INVALID_REQUEST),
        (ALL, "log.local.retention.ms", "604800000", E.NONE),
        (ALL, "log.local.retention.ms", "604800001", E.INVALID_REQUEST),
        (ALL, "log.local.retention.bytes", "-1", E.NONE),
        (ONE, "principal.builder.class", "org.example.Missing", E.INVALID_REQUEST),
        (ALL, "metric.reporters", "org.example.Missing", E.INVALID_REQUEST),
        (ALL, "metric.reporters", "", E.NONE),
        (ONE, "ssl.engine.factory.class", "org.example.Missing", E.INVALID_REQUEST),
        (ALL, "max.connections.per.ip.overrides", "everybody", E.INVALID_REQUEST),
        (ALL, "max.connections.per.ip.overrides", "127.0.0.1:x", E.INVALID_REQUEST),
        (ALL, "max.connections.per.ip.overrides", "192.0.2.1:100", E.NONE),
        (ONE, "listener.name.plaintext.max.connections", "0", E.INVALID_REQUEST),
        (ALL, "listener.name.plaintext.max.connections", "1000", E.NONE),
        (ALL, "listener.name.plaintext.ssl.keystore.location", "/x", E.INVALID_REQUEST),
        (ONE, "listener.name.plaintext.ssl.client.auth", "maybe", E.INVALID_REQUEST),
        (ONE, "ssl.keystore.location", "/x", E.INVALID_REQUEST),
        (ONE, "ssl.truststore.certificates", "x", E.INVALID_REQUEST),
        (ONE, "listener.security.protocol.map", "PLAINTEXT:SSL", E.INVALID_REQUEST),
        (ALL, "sasl.mechanism.inter.broker.protocol", "PLAIN", E.INVALID_REQUEST),
        (ONE, "node.id", "7", E.INVALID_REQUEST),
        (ALL, "log.cleaner.threads", "0", E.INVALID_REQUEST),
        (ALL, "log.cleaner.threads", "2", E.NONE),
        (ALL, "log.cleaner.dedupe.buffer.size", "1000", E.INVALID_REQUEST),
        (ALL, "group.consumer.assignment.interval.ms", "60000", E.INVALID_REQUEST),
        (ALL, "group.share.assignment.interval.ms", "60000", E.INVALID_REQUEST),
        (ALL, "group.streams.assignment.interval.ms", "60000", E.INVALID_REQUEST),
        (ALL, "group.streams.assignment.interval.ms", "15000", E.NONE),
        (ALL, "log.cleanup.policy", "compact,", E.INVALID_REQUEST),
        (ALL, "compression.gzip.level", "0", E.INVALID_REQUEST),
        (ALL, "background.threads", "0", E.INVALID_REQUEST),
        (ALL, "num.io.threads", "0", E.INVALID_REQUEST),
        (ALL, "num.io.threads", "9", E.NONE),
        (ALL, "num.network.threads", "0", E.INVALID_REQUEST),
        (ALL, "num.recovery.threads.per.data.dir", "0", E.INVALID_REQUEST),
        (ALL, "num.replica.fetchers", "0", E.INVALID_REQUEST),
        (ALL, "remote.fetch.max.wait.ms", "0", E.INVALID_REQUEST),
        (ALL, "remote.list.offsets.request.timeout.ms", "0", E.INVALID_REQUEST),
        (ALL, "remote.log.index.file.cache.total.size.bytes", "0", E.INVALID_REQUEST),
        (ALL, "remote.log.manager.copy.max.bytes.per.second", "0", E.INVALID_REQUEST),
        (ALL, "remote.log.manager.fetch.max.bytes.per.second", "0", E.INVALID_REQUEST),
        (ALL, "remote.log.manager.copier.thread.pool.size", "0", E.INVALID_REQUEST),
        (ALL, "remote.log.manager.expiration.thread.pool.size", "0", E.INVALID_REQUEST),
        (ALL, "remote.log.manager.follower.thread.pool.size", "0", E.INVALID_REQUEST),
        (ALL, "remote.log.reader.threads", "0", E.INVALID_REQUEST),
        (ALL, "group.coordinator.cached.buffer.max.bytes", "5", E.INVALID_REQUEST),
        (ALL, "share.coordinator.cached.buffer.max.bytes", "5", E.INVALID_REQUEST),
        (ALL, "log.local.retention.ms", "-3", E.INVALID_REQUEST),
        (ONE, "leader.replication.throttled.rate", "fast", E.INVALID_REQUEST),
        (ONE, "leader.replication.throttled.rate", "5", E.NONE),
    ],
)
async def test_a_value_of_a_broker_is_taken_or_refused(
    client: RawClient, broker: str, name: str, value: str, code: ErrorCode
) -> None:
    found = await change(client, BROKER, broker, name, value, validates=True)

    assert ErrorCode(found) is code


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("leader.replication.throttled.rate", "5"),
        ("listener.name.unused.max.connections", "7"),
    ],
)
async def test_what_only_a_running_broker_has_is_described_with_its_value(
    client: RawClient, name: str, value: str
) -> None:
    assert await change(client, BROKER, ONE, name, value, validates=False) == E.NONE
    try:
        while name not in (described := await describe(client, BROKER, ONE)):
            pass
    finally:
        await change(client, BROKER, ONE, name, None, validates=False)

    entry = described[name]
    assert (entry.value, entry.is_sensitive) == (value, False)
    assert entry.read_only == name.startswith("listener.name.")
    synonyms = [(each.name, each.value) for each in entry.synonyms]
    assert synonyms[0] == (name, value)
    assert ("max.connections", "2147483647") in synonyms or "listener" not in name


async def new_topic(client: RawClient) -> str:
    name = f"configured-{uuid.uuid4().hex[:8]}"
    topic = CreatableTopic(name=name, num_partitions=1, replication_factor=-1)
    (created,) = (await client.ask(CreateTopicsRequest(topics=[topic]))).topics
    assert created.error_code == E.NONE
    return name


async def test_a_topic_has_all_configurations_of_kafka(client: RawClient) -> None:
    topic = await new_topic(client)

    described = await describe(client, TOPIC, topic)

    own = {name: each for name, each in TOPIC_DEFINITIONS.items() if not each.is_internal}
    assert set(described) == set(own)
    for name, definition in own.items():
        entry = described[name]
        assert entry.config_type == definition.type, name
        if entry.is_default:
            assert entry.value == definition.format(definition.default), name


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        ("follower.replication.throttled.replicas", "*", E.NONE),
        ("leader.replication.throttled.replicas", "0:0,1:0", E.NONE),
        ("leader.replication.throttled.replicas", "orders", E.INVALID_CONFIG),
        ("local.retention.bytes", "5", E.NONE),
        ("local.retention.ms", "-3", E.INVALID_CONFIG),
        ("remote.storage.enable", "false", E.NONE),
        ("remote.storage.enable", "true", E.INVALID_CONFIG),
        ("remote.log.copy.disable", "maybe", E.INVALID_CONFIG),
        ("compression.gzip.level", "0", E.INVALID_CONFIG),
        ("compression.gzip.level", "-1", E.NONE),
        ("message.format.version", "3.0", E.INVALID_CONFIG),
        ("cleanup.policy", "", E.NONE),
        ("cleanup.policy", " compact , delete ", E.NONE),
        ("cleanup.policy", "compact,compact", E.NONE),
        ("cleanup.policy", "compact,", E.INVALID_CONFIG),
        ("cleanup.policy", ",", E.INVALID_CONFIG),
    ],
)
async def test_a_value_of_a_topic_is_taken_or_refused(
    client: RawClient, name: str, value: str, code: ErrorCode
) -> None:
    topic = await new_topic(client)

    found = await change(client, TOPIC, topic, name, value, validates=True)

    assert ErrorCode(found) is code


@pytest.mark.parametrize(
    ("topic", "name", "value", "code"),
    [
        ("missing", "retention.ms", "5", E.UNKNOWN_TOPIC_OR_PARTITION),
        ("missing", "retention.ms", "soon", E.INVALID_CONFIG),
        ("missing", "no.such.name", "5", E.INVALID_CONFIG),
        ("..", "retention.ms", "5", E.INVALID_TOPIC_EXCEPTION),
        ("two words", "retention.ms", "soon", E.INVALID_TOPIC_EXCEPTION),
    ],
)
async def test_what_is_wrong_with_a_value_of_a_topic_that_does_not_exist(
    client: RawClient, topic: str, name: str, value: str, code: ErrorCode
) -> None:
    found = await change(client, TOPIC, topic, name, value, validates=False)

    assert ErrorCode(found) is code
