"""The limits of connections, as a broker is configured."""

from __future__ import annotations

import pytest

from pyk.reference_broker.broker_configs import BrokerConfigs
from pyk.reference_broker.config import BrokerConfigLayers, InvalidConfigError
from pyk.reference_broker.controller.image import MetadataImage
from pyk.reference_broker.listeners import listeners_of
from pyk.reference_broker.network.configured_limits import listener_limits
from pyk.reference_broker.network.connection_limits import ANY_NUMBER, PlaceLimits
from pyk.reference_broker.network.limits import DEFAULT_BUDGET_BYTES, ListenerLimits

TWO = {
    "listeners": "CLIENTS://localhost:9092,BROKERS://localhost:9093",
    "listener.security.protocol.map": "CLIENTS:PLAINTEXT,BROKERS:PLAINTEXT",
    "inter.broker.listener.name": "BROKERS",
}


def limits_of(config: dict[str, object]) -> ListenerLimits:
    layers = BrokerConfigLayers.of(config)
    listeners = listeners_of(layers.broker_config())
    return listener_limits(BrokerConfigs(layers, MetadataImage()), listeners)


def test_by_default_nothing_but_memory_is_limited() -> None:
    limits = limits_of({})

    assert limits.budget_bytes == DEFAULT_BUDGET_BYTES
    assert limits.connections.broker == PlaceLimits(ANY_NUMBER, ANY_NUMBER)
    assert limits.connections.protected is None


def test_a_listener_may_have_limits_of_its_own() -> None:
    config = {
        **TWO,
        "max.connections": 100,
        "listener.name.clients.max.connections": 10,
        "listener.name.clients.max.connection.creation.rate": 5,
    }

    connections = limits_of(config).connections

    assert connections.protected == "BROKERS"
    assert connections.of_listener("CLIENTS") == PlaceLimits(10, 5)
    assert connections.of_listener("BROKERS") == PlaceLimits(100, ANY_NUMBER)
    assert connections.broker == PlaceLimits(100, ANY_NUMBER)


def test_the_memory_of_requests_is_limited_as_configured() -> None:
    assert limits_of({"queued.max.request.bytes": 1_000_000}).budget_bytes == 1_000_000


def test_overrides_that_are_none_are_refused() -> None:
    with pytest.raises(InvalidConfigError, match=r"overrides='localhost': not valid"):
        limits_of({"max.connections.per.ip.overrides": "localhost"})
