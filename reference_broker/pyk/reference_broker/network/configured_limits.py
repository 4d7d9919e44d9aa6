"""The limits of connections, from the configuration of a broker. Pure."""

from __future__ import annotations

from pyk.reference_broker.broker_configs import BrokerConfigs
from pyk.reference_broker.config.connection_counts import counts_by_ip
from pyk.reference_broker.listeners import Listeners

from .connection_limits import ConnectionLimits, PlaceLimits
from .limits import DEFAULT_BUDGET_BYTES, ListenerLimits


def listener_limits(configs: BrokerConfigs, listeners: Listeners) -> ListenerLimits:
    """Return the limits of all connections of a broker with these listeners."""
    broker = configs.broker
    names = {each.listener for each in listeners.bound}
    max_idle_ms = broker.connections_max_idle_ms
    budget = broker.queued_max_request_bytes
    return ListenerLimits(
        max_request_bytes=broker.socket_request_max_bytes,
        max_idle=max_idle_ms / 1000 if max_idle_ms >= 0 else float("inf"),
        budget_bytes=budget if budget > 0 else DEFAULT_BUDGET_BYTES,
        connections=ConnectionLimits(
            broker=PlaceLimits(broker.max_connections, broker.max_connection_creation_rate),
            listeners={name: _place_limits(configs, name) for name in names},
            # A broker with one listener serves everybody there.
            protected=listeners.inter_broker if len(names) > 1 else None,
            count_per_ip=broker.max_connections_per_ip,
            counts_by_ip=counts_by_ip(broker.max_connections_per_ip_overrides),
            windows=broker.quota_window_num,
            window_ms=broker.quota_window_size_seconds * 1000,
        ),
    )


def _place_limits(configs: BrokerConfigs, name: str) -> PlaceLimits:
    config = configs.listener(name)
    return PlaceLimits(config.max_connections, config.max_connection_creation_rate)
