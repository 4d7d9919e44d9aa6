"""Producers: write records to topics.

Each name is loaded when it is first used: a program with one of the two does not pay for the other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyk.runtime.first_use import loaded_on_first_use

if TYPE_CHECKING:
    from pyk.clients.producer.batching.delivery import Delivery, RecordMetadata
    from pyk.clients.producer.bulk.batch_delivery import BatchDelivery
    from pyk.clients.producer.faces.async_producer import AsyncProducer
    from pyk.clients.producer.faces.producer import Producer
    from pyk.clients.producer.faces.stats import ProducerStats
    from pyk.clients.producer.faces.transaction import (
        AsyncTransaction,
        ReadingClient,
        Transaction,
    )
    from pyk.clients.producer.transactions.prepared import PreparedTransaction

__all__ = [
    "AsyncProducer",
    "AsyncTransaction",
    "BatchDelivery",
    "Delivery",
    "PreparedTransaction",
    "Producer",
    "ProducerStats",
    "ReadingClient",
    "RecordMetadata",
    "Transaction",
]

_HOMES = {
    "AsyncProducer": "faces.async_producer",
    "AsyncTransaction": "faces.transaction",
    "BatchDelivery": "bulk.batch_delivery",
    "Delivery": "batching.delivery",
    "PreparedTransaction": "transactions.prepared",
    "Producer": "faces.producer",
    "ProducerStats": "faces.stats",
    "ReadingClient": "faces.transaction",
    "RecordMetadata": "batching.delivery",
    "Transaction": "faces.transaction",
}

__getattr__ = loaded_on_first_use(globals(), _HOMES)
