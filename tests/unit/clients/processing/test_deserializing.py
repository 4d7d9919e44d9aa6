"""A record is deserialized for its handler, and keeps all that is not its key or value."""

from __future__ import annotations

import pytest

from pyk.clients.consumer import ConsumerRecord
from pyk.clients.consumer.records.deserializers import Deserializers
from pyk.clients.errors import DeserializationError
from pyk.clients.processing.deserializing import deserialized
from pyk.protocol.records.record import TimestampType


def record_of(key: bytes | None, value: bytes | None) -> ConsumerRecord[bytes, bytes]:
    return ConsumerRecord(
        "orders", 3, 42, 1_000, TimestampType.LOG_APPEND_TIME, key, value, (("h", b"1"),), 7, 2
    )


def facts_of(record: ConsumerRecord[object, object]) -> tuple[object, ...]:
    return (
        record.topic,
        record.partition,
        record.offset,
        record.timestamp,
        record.timestamp_type,
        record.headers,
        record.leader_epoch,
        record.delivery_count,
    )


@pytest.mark.parametrize(
    ("key_deserializer", "value_deserializer", "key", "value"),
    [
        (int, None, 1, b"2"),
        (None, int, b"1", 2),
        (int, float, 1, 2.0),
    ],
)
def test_each_of_key_and_value_has_its_deserializer(
    key_deserializer, value_deserializer, key, value
):
    raw = record_of(b"1", b"2")

    found = deserialized(raw, Deserializers(key_deserializer, value_deserializer))

    assert (found.key, found.value) == (key, value)
    assert facts_of(found) == facts_of(raw)


def test_null_stays_null():
    found = deserialized(record_of(None, None), Deserializers(int, int))

    assert (found.key, found.value) == (None, None)


@pytest.mark.parametrize(("key", "value"), [(b"one", b"2"), (b"1", b"two")])
def test_a_record_that_a_deserializer_refuses_is_in_the_error_as_it_was_read(key, value):
    raw = record_of(key, value)

    with pytest.raises(DeserializationError, match="orders-3 at offset 42") as raised:
        deserialized(raw, Deserializers(int, int))

    assert raised.value.record is raw
    assert isinstance(raised.value.__cause__, ValueError)
