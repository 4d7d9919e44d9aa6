"""A read_committed consumer and a transaction that librdkafka holds open, on Apache Kafka."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from pyk.clients import Consumer, Producer, TopicPartition
from support import apache_kafka
from support.apache_kafka import ApacheKafka
from support.real_time import eventually

pytestmark = pytest.mark.conformance

confluent_kafka = pytest.importorskip("confluent_kafka")


@pytest.fixture(scope="module")
def bootstrap() -> Iterator[str]:
    if why := apache_kafka.missing():
        pytest.skip(why)
    with ApacheKafka() as kafka:
        yield kafka.bootstrap


def begin_transaction(bootstrap: str, topic: str) -> Any:
    """Produce one record in a transaction that stays open."""
    producer = confluent_kafka.Producer({"bootstrap.servers": bootstrap, "transactional.id": topic})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(topic, b"in the transaction")
    assert producer.flush(30) == 0
    return producer


@pytest.mark.parametrize("is_committed", [True, False])
def test_a_read_committed_consumer_is_healthy_while_it_waits_for_a_transaction_to_end(
    bootstrap: str, is_committed: bool
) -> None:
    topic = f"transaction-{is_committed}"
    open_transaction = begin_transaction(bootstrap, topic)
    with (
        Producer(bootstrap) as producer,
        Consumer(
            bootstrap, auto_offset_reset="earliest", isolation_level="read_committed"
        ) as consumer,
    ):
        consumer.assign([TopicPartition(topic, 0)])
        values: list[bytes | None] = []

        def reads(expected: list[bytes | None]) -> bool:
            values.extend(record.value for record in consumer.poll(0.5))
            return values == expected

        assert producer.send_and_wait(topic, b"after it").offset == 1
        for _ in range(8):
            assert reads([])
            assert consumer.health().is_healthy

        if is_committed:
            open_transaction.commit_transaction(30)
            eventually(lambda: reads([b"in the transaction", b"after it"]))
        else:
            open_transaction.abort_transaction(30)
            eventually(lambda: reads([b"after it"]))
        assert consumer.health().is_healthy
