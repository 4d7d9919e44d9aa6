"""``process()`` with a transactional producer: on the reference broker and on Apache Kafka."""

from __future__ import annotations

import itertools
import threading
from collections import Counter
from collections.abc import Iterator
from typing import Any, Protocol

import pytest

from pyk.clients import Admin, Consumer, NewTopic, Producer, ProducerRecord, TopicPartition
from pyk.reference_broker import Cluster
from support import apache_kafka
from support.apache_kafka import ApacheKafka
from support.real_time import eventually

COUNT = 60
_numbers = itertools.count()


class Broker(Protocol):
    """A broker that these scenarios run on."""

    @property
    def bootstrap(self) -> str: ...


@pytest.fixture(
    scope="module",
    params=["reference", pytest.param("apache", marks=pytest.mark.conformance)],
)
def kafka(request: pytest.FixtureRequest) -> Iterator[Broker]:
    if request.param == "reference":
        with Cluster() as cluster:
            yield cluster
        return
    if why := apache_kafka.missing():
        pytest.skip(why)
    with ApacheKafka() as broker:
        yield broker


@pytest.fixture
def orders(kafka: Broker) -> str:
    """A topic with orders; bills go to the one whose name ends in ``.bills``."""
    topic = f"orders-{next(_numbers)}"
    with Admin(kafka.bootstrap) as admin:
        admin.create_topics([NewTopic(topic, partitions=3), NewTopic(f"{topic}.bills")])
    with Producer(kafka.bootstrap) as producer:
        for number in range(COUNT):
            producer.send(topic, b"%d" % number, partition=number % 3)
    return topic


def bill(kafka: Broker, orders: str, *, fails: bool) -> None:
    """Write bills until there are as many as orders, or until the handler fails half-way."""
    numbers = itertools.count(1)

    def end_when_all_are_billed(consumer: Consumer[Any, Any]) -> None:
        try:
            eventually(lambda: bills(kafka, orders).total() >= COUNT)
        finally:
            consumer.wakeup()

    with (
        Producer(kafka.bootstrap, transactional_id=orders) as producer,
        Consumer(
            kafka.bootstrap,
            topics=[orders],
            group_id=orders,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            isolation_level="read_committed",
        ) as consumer,
    ):

        def handle(order: Any) -> ProducerRecord:
            if fails and next(numbers) == COUNT // 2:
                raise LookupError("no such customer")
            return ProducerRecord(f"{orders}.bills", order.value)

        if not fails:
            threading.Thread(target=end_when_all_are_billed, args=(consumer,), daemon=True).start()
        consumer.process(handle, concurrency=4, ordering="none", producer=producer)


def bills(kafka: Broker, orders: str) -> Counter[bytes]:
    """Return how often each order has a bill that is committed."""
    partition = TopicPartition(f"{orders}.bills", 0)
    with Consumer(
        kafka.bootstrap, auto_offset_reset="earliest", isolation_level="read_committed"
    ) as reader:
        reader.assign([partition])
        end = reader.end_offsets([partition])[partition]
        found: Counter[bytes] = Counter()
        while reader.position(partition) < end:
            found.update(record.value for record in reader.poll(timeout=1.0))
        return found


def test_every_order_has_one_bill_although_a_handler_failed_on_the_way(kafka, orders):
    with pytest.raises(LookupError):
        bill(kafka, orders, fails=True)

    bill(kafka, orders, fails=False)

    assert bills(kafka, orders) == Counter({b"%d" % number: 1 for number in range(COUNT)})
