"""What a broker says of configurations that it does not use."""

from __future__ import annotations

import pytest

from pyk.reference_broker.broker_configs import BrokerConfigs
from pyk.reference_broker.config import BrokerConfigLayers
from pyk.reference_broker.controller.image import MetadataImage


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
