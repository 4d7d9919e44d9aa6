"""Which configurations of brokers may change while they run, as Apache Kafka has them."""

from __future__ import annotations

import pytest

from pyk.reference_broker.config import BrokerConfig
from pyk.reference_broker.controller.broker_config_checks import ALL_BROKERS, check_broker_configs
from pyk.reference_broker.errors import ApiError

CONFIG = BrokerConfig(log_retention_ms=604_800_000)
ONE = "0"
PER_IP = "max.connections.per.ip"
PRINCIPALS = "org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder"
REPORTER = "org.apache.kafka.common.metrics.JmxReporter"


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
        (ALL_BROKERS, {PER_IP: "0", f"{PER_IP}.overrides": "127.0.0.1:5"}),
        (ONE, {PER_IP: "1"}),
        (ALL_BROKERS, {"log.retention.ms": "-1"}),
        (ALL_BROKERS, {"log.retention.ms": "1", "log.local.retention.ms": "1"}),
        (ALL_BROKERS, {"log.retention.ms": "-1", "log.local.retention.ms": "-1"}),
        (ALL_BROKERS, {"log.retention.bytes": "5", "log.local.retention.bytes": "-2"}),
        (ALL_BROKERS, {"log.local.retention.bytes": "9"}),
        (ONE, {"principal.builder.class": PRINCIPALS}),
        (ALL_BROKERS, {"metric.reporters": REPORTER}),
        (ALL_BROKERS, {"metric.reporters": ""}),
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
        (ALL_BROKERS, {PER_IP: "0"}, "only if max.connections.per.ip.overrides"),
        (ONE, {PER_IP: "0", f"{PER_IP}.overrides": ""}, "only if max.connections.per.ip.overrides"),
        (ALL_BROKERS, {"log.retention.ms": "0"}, r"log\.retention\.ms='0'"),
        (ALL_BROKERS, {"log.local.retention.ms": "-1"}, "must not be -1"),
        (ALL_BROKERS, {"log.retention.ms": "5", "log.local.retention.ms": "6"}, "5 at most"),
        (ALL_BROKERS, {"log.retention.bytes": "5", "log.local.retention.bytes": "6"}, "5 at most"),
        (ONE, {"principal.builder.class": "a.Builder"}, r"a\.Builder could not be found"),
        (ALL_BROKERS, {"metric.reporters": f"{REPORTER},b"}, "b could not be found"),
        (ONE, {"ssl.engine.factory.class": "a.Factory"}, r"a\.Factory could not be found"),
        (ALL_BROKERS, {"ssl.cipher.suites": "X", "max.connections": "-1"}, r"max\.connections"),
    ],
)
def test_these_are_refused(broker: str, changed: dict[str, str], why: str) -> None:
    with pytest.raises(ApiError, match=why):
        check_broker_configs(broker, changed, CONFIG)


def test_overrides_stay_while_all_other_addresses_may_have_no_connection() -> None:
    config = BrokerConfig(max_connections_per_ip=0, max_connections_per_ip_overrides="127.0.0.1:5")

    with pytest.raises(ApiError, match=r"only if max\.connections\.per\.ip\.overrides"):
        check_broker_configs(ONE, {}, config, removed={f"{PER_IP}.overrides"})
    check_broker_configs(ONE, {}, config, removed={PER_IP, f"{PER_IP}.overrides"})
    check_broker_configs(ONE, {}, config, removed={PER_IP})
