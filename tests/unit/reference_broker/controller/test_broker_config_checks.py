"""Which configurations of brokers may change while they run, as Apache Kafka has them."""

from __future__ import annotations

import pytest

from pyk.reference_broker.config import BrokerConfig
from pyk.reference_broker.controller.broker_config_checks import ALL_BROKERS, check_broker_configs
from pyk.reference_broker.errors import ApiError

CONFIG = BrokerConfig()
ONE = "0"


@pytest.mark.parametrize(
    ("broker", "changed"),
    [
        (ONE, {"listener.name.inner.ssl.keystore.location": "/x"}),
        (ONE, {"ssl.cipher.suites": "X"}),
        (ALL_BROKERS, {"listener.name.inner.max.connections": "5"}),
        (ALL_BROKERS, {"log.cleaner.threads": "4", "log.cleaner.dedupe.buffer.size": "4194304"}),
        (ALL_BROKERS, {"group.share.assignment.interval.ms": "15000"}),
        (ALL_BROKERS, {"of.nobody": "1"}),
        (ONE, {"listener.name.inner.of.nobody": "1"}),
    ],
)
def test_these_may_change(broker: str, changed: dict[str, str]) -> None:
    check_broker_configs(broker, changed, CONFIG)


@pytest.mark.parametrize(
    ("broker", "changed", "why"),
    [
        (ONE, {"node.id": "1", "log.dirs": "/x"}, r"dynamically: \[node\.id, log\.dirs\]"),
        (ONE, {"ssl.keystore.location": "/x"}, "only per-listener using the listener prefix"),
        (ALL_BROKERS, {"ssl.cipher.suites": "X"}, "broker id must be specified"),
        (
            ALL_BROKERS,
            {"listener.name.inner.ssl.keystore.location": "/x"},
            "broker id must be specified",
        ),
        (ONE, {"listener.name.inner.sasl.enabled.mechanisms": "PLAIN"}, "restart the broker"),
        (ALL_BROKERS, {"log.cleaner.dedupe.buffer.size": "1048575"}, "1MB per cleaner thread"),
        (ALL_BROKERS, {"log.cleaner.threads": "129"}, "1MB per cleaner thread"),
        (ALL_BROKERS, {"log.cleaner.threads": "0"}, "at least 1"),
        (ALL_BROKERS, {"group.share.assignment.interval.ms": "15001"}, "less than or equal"),
        (ALL_BROKERS, {"max.connections": "0"}, "nobody could connect"),
        (ALL_BROKERS, {"ssl.cipher.suites": "X", "max.connections": "-1"}, r"max\.connections"),
    ],
)
def test_these_are_refused(broker: str, changed: dict[str, str], why: str) -> None:
    with pytest.raises(ApiError, match=why):
        check_broker_configs(broker, changed, CONFIG)
