"""The configurations that a group may have for itself (KIP-848, KIP-932, KIP-1071).

Defaults, ranges and names are those of Apache Kafka 4.3. Each names the broker configuration that
is its default; brokers also limit what groups may set.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyk.protocol.durations import duration_ms
from pyk.reference_broker.config.broker_config import BrokerConfig
from pyk.reference_broker.config.definition import (
    ConfigValue,
    Fallback,
    boolean,
    definitions_of,
    integer,
    string,
)
from pyk.reference_broker.config.errors import InvalidConfigError
from pyk.runtime import slotted

BY_DURATION = "by_duration:"


def _broker(name: str) -> dict[str, Any]:
    return {"fallbacks": (Fallback(name=name),)}


def _is_offset_reset(text: str) -> bool:
    if text.lower() in ("earliest", "latest"):
        return True
    try:
        duration_ms(text.removeprefix(BY_DURATION))
    except ValueError:
        return False
    return text.startswith(BY_DURATION)


@slotted.frozen(kw_only=True)
class GroupConfig:
    """The effective configuration of one group."""

    consumer_assignment_interval_ms: int = integer(
        1_000,
        minimum=0,
        doc="How far apart two assignments of the group are at least.",
        **_broker("group.consumer.assignment.interval.ms"),
    )
    consumer_heartbeat_interval_ms: int = integer(
        5_000,
        minimum=1,
        doc="How often members send heartbeats.",
        **_broker("group.consumer.heartbeat.interval.ms"),
    )
    consumer_session_timeout_ms: int = integer(
        45_000,
        minimum=1,
        doc="After how long without a heartbeat a member is removed.",
        **_broker("group.consumer.session.timeout.ms"),
    )
    share_assignment_interval_ms: int = integer(
        1_000,
        minimum=0,
        doc="How far apart two assignments of a share group are at least.",
        **_broker("group.share.assignment.interval.ms"),
    )
    share_auto_offset_reset: str = string(
        "latest",
        check=_is_offset_reset,
        doc="Where a share group begins in a partition: earliest, latest, or by_duration:PT1H.",
    )
    share_delivery_count_limit: int = integer(
        5,
        minimum=2,
        doc="How often a record is delivered to the share group at most.",
        **_broker("group.share.delivery.count.limit"),
    )
    share_heartbeat_interval_ms: int = integer(
        5_000,
        minimum=1,
        doc="How often members of the share group send heartbeats.",
        **_broker("group.share.heartbeat.interval.ms"),
    )
    share_isolation_level: str = string(
        "read_uncommitted",
        choices=("read_committed", "read_uncommitted"),
        doc="Whether the share group gets records of open and of aborted transactions.",
    )
    share_partition_max_record_locks: int = integer(
        2_000,
        minimum=100,
        doc="How many records of a partition the share group may have in flight.",
        **_broker("group.share.partition.max.record.locks"),
    )
    share_record_lock_duration_ms: int = integer(
        30_000,
        minimum=1_000,
        doc="How long a record is locked for the member that it was delivered to.",
        **_broker("group.share.record.lock.duration.ms"),
    )
    share_renew_acknowledge_enable: bool = boolean(
        True, doc="Whether members of the share group may renew the locks of records."
    )
    share_session_timeout_ms: int = integer(
        45_000,
        minimum=1,
        doc="After how long without a heartbeat a member of the share group is removed.",
        **_broker("group.share.session.timeout.ms"),
    )
    streams_assignment_interval_ms: int = integer(
        1_000,
        minimum=0,
        doc="How far apart two assignments of a streams group are at least.",
        **_broker("group.streams.assignment.interval.ms"),
    )
    streams_heartbeat_interval_ms: int = integer(
        5_000,
        minimum=1,
        doc="How often members of the streams group send heartbeats.",
        **_broker("group.streams.heartbeat.interval.ms"),
    )
    streams_initial_rebalance_delay_ms: int = integer(
        3_000,
        minimum=0,
        doc="How long the first assignment of the empty streams group waits for more members.",
        **_broker("group.streams.initial.rebalance.delay.ms"),
    )
    streams_num_standby_replicas: int = integer(
        0,
        minimum=0,
        doc="How many standby tasks each task of the streams group has.",
        **_broker("group.streams.num.standby.replicas"),
    )
    streams_session_timeout_ms: int = integer(
        45_000,
        minimum=1,
        doc="After how long without a heartbeat a member of the streams group is removed.",
        **_broker("group.streams.session.timeout.ms"),
    )


GROUP_DEFINITIONS = definitions_of(GroupConfig)
_TYPES = ("consumer", "share", "streams")
_LIMITED_AS = {"num.standby.replicas": "standby.replicas"}
"""Where the broker's limit of a configuration has another name."""


def check_group_configs(values: Mapping[str, str], broker: BrokerConfig) -> None:
    """Raise ``InvalidConfigError`` unless a group may be given all these by the broker."""
    effective: dict[str, ConfigValue] = {}
    for name, value in values.items():
        definition = GROUP_DEFINITIONS.get(name)
        if definition is None:
            raise InvalidConfigError(f"Unknown group config name: {name}", name=name)
        effective[name] = definition.parse(value)
    for name in GROUP_DEFINITIONS:
        limited = effective.get(name)
        if isinstance(limited, int):
            _check_limits(name, limited, broker)
    for group_type in _TYPES:
        _check_session(group_type, effective, broker)


def _check_session(
    group_type: str, values: Mapping[str, ConfigValue], broker: BrokerConfig
) -> None:
    session_timeout, interval = (
        f"{group_type}.session.timeout.ms",
        f"{group_type}.heartbeat.interval.ms",
    )
    session_timeout_ms, interval_ms = (
        values.get(name, _of_broker(broker, f"group.{name}"))
        for name in (session_timeout, interval)
    )
    assert isinstance(session_timeout_ms, int)
    assert isinstance(interval_ms, int)
    if session_timeout_ms <= interval_ms:
        raise InvalidConfigError(
            f"{session_timeout} must be greater than {interval}", name=session_timeout
        )


def check_assignment_interval(name: str, value: ConfigValue, broker: BrokerConfig) -> None:
    """Raise ``InvalidConfigError`` if a configuration of a broker is such an interval out of range.

    Configurations with other names are accepted.
    """
    # An unknown configuration has a str, whatever its name.
    if name.endswith(".assignment.interval.ms") and isinstance(value, int):
        _check_limits(name.removeprefix("group."), value, broker)


def _check_limits(name: str, value: int, broker: BrokerConfig) -> None:
    group_type, _, kind = name.partition(".")
    kind = _LIMITED_AS.get(kind, kind)
    for limit, relation in (("min", "greater"), ("max", "less")):
        limit_name = f"group.{group_type}.{limit}.{kind}"
        bound = getattr(broker, limit_name.replace(".", "_"), None)
        if bound is None:
            continue
        if value < bound if limit == "min" else value > bound:
            raise InvalidConfigError(
                f"{name} must be {relation} than or equal to {limit_name}", name=name
            )


def _of_broker(broker: BrokerConfig, name: str) -> int:
    value: int = getattr(broker, name.replace(".", "_"))
    return value
