"""The configurations that groups may have for themselves, and what brokers let them be."""

from __future__ import annotations

import pytest

from pyk.reference_broker.config import (
    BrokerConfig,
    BrokerConfigLayers,
    InvalidConfigError,
    check_assignment_interval,
    check_group_configs,
)
from pyk.reference_broker.config.group_config import GROUP_DEFINITIONS
from pyk.reference_broker.coordinator.group.consumer.group_config import ConsumerGroupConfig
from pyk.reference_broker.coordinator.group.share.group_config import ShareGroupConfig
from pyk.reference_broker.coordinator.group.streams.group_config import StreamsGroupConfig

INTEGERS = [
    ("consumer.assignment.interval.ms", 1_000, 0),
    ("consumer.heartbeat.interval.ms", 5_000, 1),
    ("consumer.session.timeout.ms", 45_000, 1),
    ("share.assignment.interval.ms", 1_000, 0),
    ("share.delivery.count.limit", 5, 2),
    ("share.heartbeat.interval.ms", 5_000, 1),
    ("share.partition.max.record.locks", 2_000, 100),
    ("share.record.lock.duration.ms", 30_000, 1_000),
    ("share.session.timeout.ms", 45_000, 1),
    ("streams.assignment.interval.ms", 1_000, 0),
    ("streams.heartbeat.interval.ms", 5_000, 1),
    ("streams.initial.rebalance.delay.ms", 3_000, 0),
    ("streams.num.standby.replicas", 0, 0),
    ("streams.session.timeout.ms", 45_000, 1),
]
"""Name, default and least value of each configuration of Apache Kafka that is a number."""
OTHERS = {
    "share.auto.offset.reset": "latest",
    "share.isolation.level": "read_uncommitted",
    "share.renew.acknowledge.enable": True,
}

OTHER_TEXTS = {"share.auto.offset.reset": "earliest", "share.isolation.level": "read_committed"}


def broker(**values: str) -> BrokerConfig:
    names = {name.replace("_", "."): value for name, value in values.items()}
    return BrokerConfigLayers.of(names).broker_config()


def test_names_defaults_and_ranges_are_kafkas() -> None:
    known = {**{name: (default, least) for name, default, least in INTEGERS}}
    expected = {**known, **{name: (default, None) for name, default in OTHERS.items()}}

    assert {
        name: (each.default, each.minimum) for name, each in GROUP_DEFINITIONS.items()
    } == expected


@pytest.mark.parametrize("name", [name for name, _, _ in INTEGERS])
def test_the_default_of_a_number_is_the_configuration_of_the_broker(name: str) -> None:
    (fallback,) = GROUP_DEFINITIONS[name].fallbacks

    assert (fallback.name, fallback.unit) == (f"group.{name}", 1)


@pytest.mark.parametrize("name", OTHERS)
def test_brokers_have_no_default_of_other_configurations(name: str) -> None:
    assert GROUP_DEFINITIONS[name].fallbacks == ()


@pytest.mark.parametrize(
    ("name", "limit", "allowed", "refused"),
    [
        ("consumer.session.timeout.ms", "min", 45_000, 44_999),
        ("consumer.session.timeout.ms", "max", 60_000, 60_001),
        ("share.delivery.count.limit", "min", 2, None),
        ("share.delivery.count.limit", "max", 10, 11),
        ("streams.heartbeat.interval.ms", "min", 5_000, 4_999),
        ("streams.heartbeat.interval.ms", "max", 15_000, 15_001),
        ("streams.num.standby.replicas", "max", 2, 3),
        ("streams.initial.rebalance.delay.ms", "max", 10_000_000, None),
    ],
)
def test_limits_of_the_broker_are_the_last_values_that_are_allowed(
    name: str, limit: str, allowed: int, refused: int | None
) -> None:
    check_group_configs({name: str(allowed)}, broker())

    if refused is not None:
        with pytest.raises(InvalidConfigError, match=rf"{name} must be .* group\..*\.{limit}\."):
            check_group_configs({name: str(refused)}, broker())


def test_an_unknown_configuration_of_a_group_is_refused_by_name() -> None:
    with pytest.raises(InvalidConfigError, match=r"Unknown group config name: consumer\.what"):
        check_group_configs({"consumer.what": "1"}, broker())


@pytest.mark.parametrize("group_type", ["consumer", "share", "streams"])
def test_a_session_lasts_longer_than_the_interval_of_heartbeats(group_type: str) -> None:
    limits = {
        f"group_{group_type}_min_session_timeout_ms": "1",
        f"group_{group_type}_heartbeat_interval_ms": "6000",
    }
    session = f"{group_type}.session.timeout.ms"
    check_group_configs({session: "6001"}, broker(**limits))

    with pytest.raises(
        InvalidConfigError,
        match=rf"{session} must be greater than {group_type}\.heartbeat\.interval\.ms",
    ):
        check_group_configs({session: "6000"}, broker(**limits))


def test_both_values_of_a_group_are_compared_where_it_has_both() -> None:
    limits = {
        "group_share_min_session_timeout_ms": "1",
        "group_share_min_heartbeat_interval_ms": "1",
    }
    own = {"share.session.timeout.ms": "2000", "share.heartbeat.interval.ms": "1999"}
    check_group_configs(own, broker(**limits))

    with pytest.raises(InvalidConfigError, match=r"share\.session\.timeout\.ms must be greater"):
        check_group_configs({**own, "share.heartbeat.interval.ms": "2000"}, broker(**limits))


@pytest.mark.parametrize("group_type", ["consumer", "share", "streams"])
def test_the_assignment_interval_of_a_broker_is_within_its_own_limits(group_type: str) -> None:
    name = f"group.{group_type}.assignment.interval.ms"
    check_assignment_interval(name, 15_000, broker())

    with pytest.raises(
        InvalidConfigError, match=rf"group\.{group_type}\.max\.assignment\.interval\.ms"
    ):
        check_assignment_interval(name, 15_001, broker())


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("group.consumer.session.timeout.ms", 1_000_000_000),
        ("group.my.assignment.interval.ms", "of an unknown configuration"),
        ("my.assignment.interval.ms", "of an unknown configuration"),
        ("log.dirs", None),
    ],
)
def test_other_configurations_of_a_broker_are_no_assignment_intervals(
    name: str, value: int | str | None
) -> None:
    check_assignment_interval(name, value, broker())


@pytest.mark.parametrize("kind", [ConsumerGroupConfig, ShareGroupConfig, StreamsGroupConfig])
def test_a_group_obeys_only_the_configurations_of_its_own_kind(
    kind: type[ConsumerGroupConfig | ShareGroupConfig | StreamsGroupConfig],
) -> None:
    own = {f"{each}.session.timeout.ms": "50000" for each in ("consumer", "share", "streams")}

    assert kind().of_group({**own, **OTHER_TEXTS}) == kind(session_timeout_ms=50_000)
