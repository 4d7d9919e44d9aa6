"""Reading records: the blocking and the asyncio consumer."""

from pyk.clients.consumer.async_consumer import AsyncConsumer
from pyk.clients.consumer.consumer import Consumer
from pyk.clients.consumer.health import (
    ConsumerHealth,
    ConsumerStats,
    PartitionHealth,
    PartitionState,
)
from pyk.clients.consumer.rebalance_listener import RebalanceListener
from pyk.clients.consumer.record import ConsumerRecord, TimestampType
from pyk.clients.consumer.records import ConsumerRecords

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
    "TimestampType",
]
