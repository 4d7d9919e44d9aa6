"""The configurations that a group may have for itself (KIP-848).

Defaults, ranges and names are those of Apache Kafka 4.3. Each names the broker configuration that
is its default; brokers also limit what groups may set.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyk.reference_broker.config.broker_config import BrokerConfig
from pyk.reference_broker.config.definition import ConfigValue, Fallback, definitions_of, integer
from pyk.reference_broker.config.errors import InvalidConfigError
from pyk.runtime import slotted


def _broker(name: str) -> dict[str, Any]:
    return {"fallbacks": (Fallback(name=name),)}


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


GROUP_DEFINITIONS = definitions_of(GroupConfig)
_SESSION_TIMEOUT = "consumer.session.timeout.ms"
_HEARTBEAT_INTERVAL = "consumer.heartbeat.interval.ms"


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
    _check_session(effective, broker)


def _check_session(values: Mapping[str, ConfigValue], broker: BrokerConfig) -> None:
    session_timeout_ms = values.get(_SESSION_TIMEOUT, broker.group_consumer_session_timeout_ms)
    interval_ms = values.get(_HEARTBEAT_INTERVAL, broker.group_consumer_heartbeat_interval_ms)
    assert isinstance(session_timeout_ms, int)
    assert isinstance(interval_ms, int)
    if session_timeout_ms <= interval_ms:
        raise InvalidConfigError(
            f"{_SESSION_TIMEOUT} must be greater than {_HEARTBEAT_INTERVAL}",
            name=_SESSION_TIMEOUT,
        )


def _check_limits(name: str, value: int, broker: BrokerConfig) -> None:
    kind = name.removeprefix("consumer.")
    for limit, relation in (("min", "greater"), ("max", "less")):
        limit_name = f"group.consumer.{limit}.{kind}"
        bound: int = getattr(broker, limit_name.replace(".", "_"))
        if value < bound if limit == "min" else value > bound:
            raise InvalidConfigError(
                f"{name} must be {relation} than or equal to {limit_name}", name=name
            )
