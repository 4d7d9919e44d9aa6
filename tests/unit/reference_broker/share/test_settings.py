"""The configuration of share groups: the broker's, and the group's own."""

from __future__ import annotations

import pytest

from pyk.reference_broker.config import BrokerConfigLayers
from pyk.reference_broker.partition_reader import Isolation
from pyk.reference_broker.share.settings import settings_of

BROKER = BrokerConfigLayers.of({"group.share.record.lock.duration.ms": "20000"}).broker_config()


def test_the_broker_decides_what_a_group_does_not() -> None:
    settings = settings_of(BROKER, {})

    assert settings.limits.lock_seconds == 20.0
    assert (settings.limits.deliveries, settings.limits.records_in_flight) == (5, 2000)
    assert settings.limits.may_renew
    assert settings.isolation is Isolation.READ_UNCOMMITTED


def test_a_group_has_settings_of_its_own() -> None:
    own = {
        "share.record.lock.duration.ms": "45000",
        "share.delivery.count.limit": "3",
        "share.partition.max.record.locks": "150",
        "share.isolation.level": "read_committed",
        "share.renew.acknowledge.enable": "false",
        "consumer.session.timeout.ms": "60000",
    }

    settings = settings_of(BROKER, own)

    assert settings.limits.lock_seconds == 45.0
    assert (settings.limits.deliveries, settings.limits.records_in_flight) == (3, 150)
    assert not settings.limits.may_renew
    assert settings.isolation is Isolation.READ_COMMITTED


@pytest.mark.parametrize(
    ("strategy", "timestamp"),
    [
        ("latest", -1),
        ("earliest", -2),
        ("by_duration:PT1H", 6_400_000),
        ("by_duration:P9D", 0),
    ],
)
def test_where_a_group_begins(strategy: str, timestamp: int) -> None:
    settings = settings_of(BROKER, {"share.auto.offset.reset": strategy})

    assert settings.reset_timestamp(10_000_000) == timestamp
