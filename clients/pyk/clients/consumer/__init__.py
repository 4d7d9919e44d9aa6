"""The blocking and the asyncio consumer."""

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
