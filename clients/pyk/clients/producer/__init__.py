"""Producers: write records to topics."""

from __future__ import annotations

from pyk.clients.producer.async_producer import AsyncProducer
from pyk.clients.producer.batch_delivery import BatchDelivery
from pyk.clients.producer.delivery import Delivery, RecordMetadata
from pyk.clients.producer.producer import Producer
from pyk.clients.producer.stats import ProducerStats

__all__ = [
    "AsyncProducer",
    "BatchDelivery",
    "Delivery",
    "Producer",
    "ProducerStats",
    "RecordMetadata",
]
