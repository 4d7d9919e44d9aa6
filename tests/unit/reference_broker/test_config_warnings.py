"""What a broker says of configurations that it does not use."""

from __future__ import annotations

import pytest

from pyk.protocol.messages.metadata_records import ConfigRecord
from pyk.reference_broker.broker_configs import BrokerConfigs
from pyk.reference_broker.config import BrokerConfigLayers
from pyk.reference_broker.controller.image import TOPIC_RESOURCE, MetadataImage


def test_users_without_a_listener_and_mechanism_are_told_where_they_belong(
    caplog: pytest.LogCaptureFixture,
) -> None:
    BrokerConfigs(BrokerConfigLayers.of({"sasl.jaas.config": "canary"}), MetadataImage())

    (warning,) = caplog.messages
    assert "listener.name.NAME.MECHANISM.sasl.jaas.config" in warning
    assert "canary" not in warning


@pytest.mark.parametrize("name", ["ssl.keystore.type", "listener.name.inner.ssl.truststore.type"])
def test_no_warning_is_given_of_the_type_of_a_key_store(
    name: str, caplog: pytest.LogCaptureFixture
) -> None:
    BrokerConfigs(BrokerConfigLayers.of({name: "PEM"}), MetadataImage())

    assert caplog.messages == []


def configured(topic: str, **values: str) -> MetadataImage:
    image = MetadataImage()
    for name, value in values.items():
        image.replay(
            ConfigRecord(
                resource_type=TOPIC_RESOURCE, resource_name=topic, name=name.replace("_", "."),
                value=value,
            )
        )  # fmt: skip
    return image


def test_a_topic_that_another_version_configured_is_served_without_what_is_unknown(
    caplog: pytest.LogCaptureFixture,
) -> None:
    image = configured("orders", message_format_version="2.8", retention_ms="5")
    configs = BrokerConfigs(BrokerConfigLayers.of({}), image)

    assert configs.log_config("orders").retention_ms == 5
    assert configs.describe_topic("orders")
    (warning,) = caplog.messages
    assert "'orders'" in warning
    assert "message.format.version" in warning


def test_a_configuration_of_topics_without_an_effect_is_warned_about_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    image = configured("orders", local_retention_ms="5")
    configs = BrokerConfigs(BrokerConfigLayers.of({}), image)

    configs.log_config("orders")
    configs.update()
    configs.log_config("orders")

    (warning,) = caplog.messages
    assert "local.retention.ms of topics has no effect" in warning
