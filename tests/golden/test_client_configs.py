"""A properties file of a Java client configures pyk's clients.

``client_configs.json`` holds the configurations of Kafka 4.3.1's producer, consumer and admin
clients with their defaults as str, as its ``ConfigDef`` lists them; null without a default.
"""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest

from pyk.clients.config import AdminConfig, ClientConfig, ConsumerConfig, ProducerConfig

KAFKA: dict[str, dict[str, str | None]] = json.loads(
    Path(__file__).with_name("client_configs.json").read_text()
)
CLIENTS: dict[str, type[ClientConfig]] = {
    "producer": ProducerConfig,
    "consumer": ConsumerConfig,
    "admin": AdminConfig,
}
VALUES = {
    "bootstrap.servers": "kafka1:9092",
    "group.id": "g",
    "key.serializer": "org.apache.kafka.common.serialization.StringSerializer",
    "value.serializer": "org.apache.kafka.common.serialization.ByteArraySerializer",
    "key.deserializer": "org.apache.kafka.common.serialization.StringDeserializer",
    "value.deserializer": "org.apache.kafka.common.serialization.ByteArrayDeserializer",
    "sasl.login.connect.timeout.ms": "10000",
    "sasl.login.read.timeout.ms": "10000",
}
REFUSED = {"group.remote.assignor"}
"""Kafka refuses a value of it with its default of ``group.protocol``, too."""
OBEYED_ANYWAY = {"ssl.keystore.type", "ssl.truststore.type"}
"""The contents of a file tell its format."""


def properties(client: str) -> dict[str, str]:
    """Return all configurations of a Kafka client with their defaults, or valid values."""
    return {
        name: VALUES.get(name, default if default is not None else "something")
        for name, default in KAFKA[client].items()
        if name not in REFUSED
    }


@pytest.mark.parametrize("client", CLIENTS)
def test_all_configurations_of_kafka_are_accepted_with_their_defaults_and_one_warning(
    client: str, caplog: pytest.LogCaptureFixture
) -> None:
    config = CLIENTS[client].from_properties(properties(client))

    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    text = record.getMessage()
    for name in KAFKA[client]:
        is_option = name.replace(".", "_") in config.options()
        assert is_option or name in text or name in OBEYED_ANYWAY, name


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("other", CLIENTS)
def test_a_file_that_all_clients_share_configures_each(client: str, other: str) -> None:
    CLIENTS[client].from_properties(properties(client) | properties(other))
