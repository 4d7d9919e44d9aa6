"""Blocking producers write what handlers return in threads, and say what cannot be written."""

from __future__ import annotations

from typing import Any

import pytest

from pyk.clients import Producer, ProducerRecord
from pyk.clients.errors import RecordTooLargeError
from support.blocking_consuming import partitions, produce, reader

EXACTLY_ONCE = {"enable_auto_commit": False, "isolation_level": "read_committed"}


def test_a_record_is_not_finished_if_brokers_refuse_its_result(cluster, topic):
    produce(cluster, topic, 1)
    small = f"{topic}-small"
    cluster.create_topic(small, configs={"max.message.bytes": "1000"})
    producer = Producer[Any, Any](cluster.bootstrap)
    with producer, reader(cluster, topic, group_id=topic) as consumer:
        with pytest.raises(RecordTooLargeError):
            consumer.process(lambda _: ProducerRecord(small, b"x" * 5_000), producer=producer)
        committed = consumer.committed(partitions(topic)).values()

    assert {one.offset for one in committed if one is not None} <= {0}


def test_a_result_of_a_transaction_that_cannot_be_serialized_is_put_aside(cluster, topic):
    produce(cluster, topic, 2)
    bills = f"{topic}-bills"
    cluster.create_topic(bills)
    dead: list[tuple[bytes, str]] = []

    def serialize(value: bytes) -> bytes:
        if value == b"1":
            raise LookupError("no such bill")
        return value

    producer = Producer[Any, Any](
        cluster.bootstrap, transactional_id=topic, value_serializer=serialize
    )
    with producer, reader(cluster, topic, group_id=topic, **EXACTLY_ONCE) as consumer:

        def put_aside(record: Any, error: Exception) -> None:
            dead.append((record.value, type(error).__name__))
            consumer.wakeup()

        consumer.process(
            lambda record: ProducerRecord(bills, record.value),
            producer=producer,
            dead_letter=put_aside,
        )
        committed = consumer.committed(partitions(topic)).values()

    assert dead == [(b"1", "SerializationError")]
    assert sum(one.offset for one in committed if one is not None) == 2
