"""Deserialize a record when its handler is about to be called. Pure.

Under ``process()`` polls return bytes: a record that cannot be deserialized concerns its own
handler only, and lanes and dead letters need the bytes.
"""

from __future__ import annotations

from typing import Any

from pyk.clients.consumer.records.deserializers import Deserializers
from pyk.clients.consumer.records.record import ConsumerRecord
from pyk.clients.consumer.records.unreadable import deserialization_error


def deserialized(record: Any, deserializers: Deserializers) -> Any:
    """Return a record for the application; raise :class:`DeserializationError`."""
    key_deserializer, value_deserializer = deserializers.of(record.topic)
    key, value = record.key, record.value
    try:
        if key_deserializer is not None and key is not None:
            key = key_deserializer(key)
        if value_deserializer is not None and value is not None:
            value = value_deserializer(value)
    except Exception as cause:
        raise deserialization_error(record, cause) from cause
    return ConsumerRecord(
        record.topic,
        record.partition,
        record.offset,
        record.timestamp,
        record.timestamp_type,
        key,
        value,
        record.headers,
        record.leader_epoch,
        record.delivery_count,
    )
