"""``process()`` with a transactional producer: on the reference broker and on Apache Kafka."""

from __future__ import annotations

import itertools
import signal
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, Protocol

import pytest

from pyk.clients import Admin, Consumer, NewTopic, Producer, ProducerFencedError, ProducerRecord
from pyk.reference_broker import Cluster
from support import apache_kafka
from support.apache_kafka import ApacheKafka
from support.billers import (
    BROKER_CONFIG,
    PARTITIONS,
    PROTOCOLS,
    Biller,
    Billing,
    bills,
    committed,
)
from support.real_time import IN_TIME, eventually

COUNT = 60
ONE_EACH = Counter({b"%d" % number: 1 for number in range(COUNT)})
ALL_COMMITTED = dict.fromkeys(range(PARTITIONS), COUNT // PARTITIONS)
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
        with Cluster(config=BROKER_CONFIG) as cluster:
            yield cluster
        return
    if why := apache_kafka.missing():
        pytest.skip(why)
    with ApacheKafka(config=BROKER_CONFIG) as broker:
        yield broker


@pytest.fixture
def orders(kafka: Broker) -> str:
    """A topic with orders; bills go to the one whose name ends in ``.bills``."""
    topic = f"orders-{next(_numbers)}"
    with Admin(kafka.bootstrap) as admin:
        admin.create_topics([NewTopic(topic, PARTITIONS), NewTopic(f"{topic}.bills")])
    with Producer(kafka.bootstrap) as producer:
        for number in range(COUNT):
            producer.send(topic, b"%d" % number, partition=number % PARTITIONS)
    return topic


def wait_for_all_bills(kafka: Broker, orders: str) -> None:
    eventually(lambda: bills(kafka.bootstrap, orders).total() >= COUNT)


def wait_for_members(kafka: Broker, group: str, *names: str) -> None:
    """Wait until a group has these members, and no others."""

    def are_there() -> bool:
        found = admin.describe_consumer_groups([group])[group].members
        return sorted(member.client_id for member in found) == sorted(names)

    with Admin(kafka.bootstrap) as admin:
        eventually(are_there)


def test_every_order_has_one_bill_although_a_handler_failed_on_the_way(kafka, orders):
    billing = Billing(kafka.bootstrap, orders, "billing-1")
    numbers = itertools.count(1)

    def fail_half_way(order: Any) -> ProducerRecord:
        if next(numbers) == COUNT // 2:
            raise LookupError("no such customer")
        return ProducerRecord(f"{orders}.bills", order.value)

    with (
        billing.producer() as producer,
        billing.consumer() as consumer,
        pytest.raises(LookupError),
    ):
        consumer.process(fail_half_way, concurrency=4, ordering="none", producer=producer)
    with Biller(billing) as successor:
        wait_for_all_bills(kafka, orders)

        assert successor.end() == "done"
    assert bills(kafka.bootstrap, orders) == ONE_EACH
    assert committed(kafka.bootstrap, orders) == ALL_COMMITTED


@pytest.mark.conformance
@pytest.mark.parametrize("successor", ["billing-1", "billing-2"])
@pytest.mark.parametrize(
    ("moment", "options"),
    [
        ("results", {"protocol": "range"}),
        ("results", {"protocol": "consumer", "is_in_batches": True}),
        ("offsets", {"protocol": "range", "is_in_batches": True}),
        ("offsets", {"protocol": "consumer"}),
        ("commit", {"protocol": "cooperative-sticky"}),
    ],
)
def test_a_process_that_is_killed_in_a_transaction_leaves_one_bill_for_each_order(
    kafka, orders, successor, moment, options
):
    options = {**options, "transaction_timeout_ms": 4_000}
    with Biller(Billing(kafka.bootstrap, orders, "billing-1", moment=moment, **options)) as killed:
        killed.wait_until_interrupted()
        assert killed.end() == "status -9"
    assert 0 < bills(kafka.bootstrap, orders).total() < COUNT or moment == "commit"

    with Biller(Billing(kafka.bootstrap, orders, successor, **options)) as going_on:
        wait_for_all_bills(kafka, orders)

        assert going_on.end() == "done"
    assert bills(kafka.bootstrap, orders) == ONE_EACH
    assert committed(kafka.bootstrap, orders) == ALL_COMMITTED


@pytest.mark.conformance
@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("moment", ["results", "offsets"])
def test_a_member_that_was_replaced_in_a_transaction_leaves_one_bill_for_each_order(
    kafka, orders, moment, protocol
):
    stopping = Billing(
        kafka.bootstrap, orders, "billing-1", protocol, moment=moment, signal=signal.SIGSTOP
    )
    with Biller(stopping) as stopped:
        stopped.wait_until_interrupted()
        with Biller(Billing(kafka.bootstrap, orders, "billing-2", protocol)) as other:
            wait_for_members(kafka, orders, "billing-2")
            stopped.go_on()
            wait_for_all_bills(kafka, orders)

            assert [stopped.end(), other.end()] == ["done", "done"]
    assert bills(kafka.bootstrap, orders) == ONE_EACH
    assert committed(kafka.bootstrap, orders) == ALL_COMMITTED


@pytest.mark.conformance
@pytest.mark.parametrize("moment", ["results", "offsets"])
def test_a_member_whose_transaction_timed_out_leaves_one_bill_for_each_order(kafka, orders, moment):
    stopping = Billing(
        kafka.bootstrap,
        orders,
        "billing-1",
        moment=moment,
        signal=signal.SIGSTOP,
        transaction_timeout_ms=4_000,
    )
    with Biller(stopping) as stopped:
        stopped.wait_until_interrupted()
        with Biller(Billing(kafka.bootstrap, orders, "billing-2")) as other:
            wait_for_all_bills(kafka, orders)
            stopped.go_on()

            assert other.end() == "done"
        # Whether its next request tells that it was fenced is a matter of time.
        assert stopped.end() in {"done", "ProducerFencedError"}
    assert bills(kafka.bootstrap, orders) == ONE_EACH
    assert committed(kafka.bootstrap, orders) == ALL_COMMITTED


@contextmanager
def interrupted_in_a_thread(
    billing: Billing, moment: str
) -> Iterator[tuple[Future[None], threading.Event, Consumer[Any, Any]]]:
    """Write bills until the first transaction comes to a moment, and go on when told to."""
    is_there, may_go_on = threading.Event(), threading.Event()

    def wait() -> None:
        is_there.set()
        may_go_on.wait(IN_TIME)

    def bill(order: Any) -> ProducerRecord:
        return ProducerRecord(f"{billing.orders}.bills", order.value)

    with (
        ThreadPoolExecutor() as threads,
        billing.producer() as producer,
        billing.consumer() as consumer,
    ):
        producer.moment, producer.interrupt, producer.has_committed = moment, wait, True
        handling = threads.submit(consumer.process, bill, producer=producer)
        assert is_there.wait(IN_TIME)
        yield handling, may_go_on, consumer


@pytest.mark.conformance
@pytest.mark.parametrize("moment", ["results", "offsets"])
def test_a_second_instance_with_the_same_id_fences_the_first_in_its_transaction(
    kafka, orders, moment
):
    billing = Billing(kafka.bootstrap, orders, "billing-1")
    with (
        interrupted_in_a_thread(billing, moment) as (first, may_go_on, _),
        billing.producer(Producer),
    ):
        may_go_on.set()
        with pytest.raises(ProducerFencedError):
            first.result(IN_TIME)
    assert bills(kafka.bootstrap, orders).total() == 0

    with Biller(billing) as second:
        wait_for_all_bills(kafka, orders)

        assert second.end() == "done"
    assert bills(kafka.bootstrap, orders) == ONE_EACH
    assert committed(kafka.bootstrap, orders) == ALL_COMMITTED


@pytest.mark.conformance
@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("moment", ["results", "offsets"])
def test_a_rebalance_while_a_transaction_is_open_leaves_one_bill_for_each_order(
    kafka, orders, moment, protocol
):
    billing, other = (
        Billing(kafka.bootstrap, orders, name, protocol) for name in ("billing-1", "billing-2")
    )
    with (
        interrupted_in_a_thread(billing, moment) as (first, may_go_on, consumer),
        Biller(other) as second,
    ):
        wait_for_members(kafka, orders, "billing-1", "billing-2")
        may_go_on.set()
        wait_for_all_bills(kafka, orders)

        eventually(lambda: 0 < len(consumer.assignment()) < PARTITIONS)
        consumer.wakeup()
        first.result(IN_TIME)
        assert second.end() == "done"
    assert bills(kafka.bootstrap, orders) == ONE_EACH
    assert committed(kafka.bootstrap, orders) == ALL_COMMITTED
