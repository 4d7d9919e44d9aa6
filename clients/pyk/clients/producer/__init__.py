"""Producers: write records to topics."""

from __future__ import annotations

from pyk.clients.producer.batching.delivery import Delivery, RecordMetadata
from pyk.clients.producer.bulk.batch_delivery import BatchDelivery
from pyk.clients.producer.faces.async_producer import AsyncProducer
from pyk.clients.producer.faces.producer import Producer
from pyk.clients.producer.faces.stats import ProducerStats
from pyk.clients.producer.transactions.prepared import PreparedTransaction

__all__ = [
    "AsyncProducer",
    "BatchDelivery",
    "Delivery",
    "PreparedTransaction",
    "Producer",
    "ProducerStats",
    "RecordMetadata",
]
