"""The blocking and the asyncio consumer.

Each name is loaded when it is first used: a program with one of the two does not pay for the other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyk.runtime.first_use import loaded_on_first_use

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

__getattr__ = loaded_on_first_use(globals(), _HOMES)
