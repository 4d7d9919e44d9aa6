"""The blocking and the asyncio consumer.

Each name is loaded when it is first used: a program with one of the two does not pay for the other.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyk.clients.consumer.faces.async_consumer import AsyncConsumer
    from pyk.clients.consumer.faces.consumer import Consumer
    from pyk.clients.consumer.faces.health import (
        ConsumerHealth,
        ConsumerStats,
        PartitionHealth,
        PartitionState,
    )
    from pyk.clients.consumer.faces.rebalance_listener import RebalanceListener
    from pyk.clients.consumer.positions.topic_patterns import SubscriptionPattern
    from pyk.clients.consumer.records.record import ConsumerRecord, TimestampType
    from pyk.clients.consumer.records.records import ConsumerRecords

__all__ = [
    "AsyncConsumer",
    "Consumer",
    "ConsumerHealth",
    "ConsumerRecord",
    "ConsumerRecords",
    "ConsumerStats",
    "PartitionHealth",
    "PartitionState",
    "RebalanceListener",
    "SubscriptionPattern",
    "TimestampType",
]

_HOMES = {
    "AsyncConsumer": "faces.async_consumer",
    "Consumer": "faces.consumer",
    "ConsumerHealth": "faces.health",
    "ConsumerRecord": "records.record",
    "ConsumerRecords": "records.records",
    "ConsumerStats": "faces.health",
    "PartitionHealth": "faces.health",
    "PartitionState": "faces.health",
    "RebalanceListener": "faces.rebalance_listener",
    "SubscriptionPattern": "positions.topic_patterns",
    "TimestampType": "records.record",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    return found
