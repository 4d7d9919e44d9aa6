"""The threads of delivery callbacks, what callbacks can do, and exceptions in them."""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
import time

import pytest

from pyk.clients import AsyncProducer, KafkaTimeoutError, Producer, StateError
from pyk.reference_broker import Cluster
from support.real_time import IN_TIME, eventually


def in_time(function) -> None:
    """Run a function in a thread; fail if it does not return in time."""
    thread = threading.Thread(target=function, daemon=True)
    thread.start()
    thread.join(IN_TIME)
    assert not thread.is_alive(), "it hangs"


class Inside:
    """Records for each callback whether it ran in a thread that was inside ``send``."""

    def __init__(self) -> None:
        self.found: list[bool] = []
        self._inside = threading.local()

    def send(self, producer: Producer, topic: str, value: bytes) -> None:
        self._inside.send = True
        producer.send(topic, value, on_delivery=self._delivered)
        self._inside.send = False

    def _delivered(self, delivery) -> None:
        self.found.append(getattr(self._inside, "send", False))


def test_a_send_that_waits_for_metadata_runs_no_callback(cluster: Cluster, topic: str) -> None:
    inside = Inside()
    with Producer(cluster.bootstrap, linger_ms=0) as producer:
        producer.send_and_wait(topic, b"warm")
        for n in range(5):
            inside.send(producer, topic, b"1")
            inside.send(producer, f"{topic}-new-{n}", b"2")
        producer.flush()

    assert inside.found == [False] * 10


def test_a_send_that_waits_for_room_runs_no_callback(cluster: Cluster, topic: str) -> None:
    inside = Inside()
    with Producer(cluster.bootstrap, linger_ms=0, buffer_memory=20_000) as producer:
        for _ in range(300):
            inside.send(producer, topic, b"x" * 5_000)
        producer.flush()

    assert inside.found == [False] * 300


def test_send_in_a_callback_raises_instead_of_waiting_for_buffer_space(
    cluster: Cluster, topic: str
) -> None:
    failures: list[BaseException] = []

    def send_until_it_fails(delivery) -> None:
        try:
            while True:
                producer.send(topic, b"x" * 5_000)
        except (StateError, KafkaTimeoutError) as error:
            failures.append(error)

    with Producer(
        cluster.bootstrap, linger_ms=0, buffer_memory=20_000, max_block_ms=1_000
    ) as producer:
        producer.send(topic, b"1", on_delivery=send_until_it_fails)
        producer.flush()
        assert producer.send_and_wait(topic, b"2").offset >= 0

    (failure,) = failures
    assert isinstance(failure, StateError)
    assert "the buffer is full" in str(failure)


def test_a_callback_that_waits_for_a_lock_held_around_send_delays_it_by_max_block_ms(
    cluster: Cluster, topic: str
) -> None:
    lock = threading.Lock()
    ran: list[bool] = []

    def delivered(delivery) -> None:
        with lock:
            ran.append(True)

    def send_under_the_lock() -> None:
        with lock:
            producer.send(topic, b"1", partition=0, on_delivery=delivered)
            try:
                producer.send(f"{topic}-unknown", b"2", on_delivery=delivered)
            except KafkaTimeoutError:
                ran.append(False)

    with Producer(cluster.bootstrap, linger_ms=0, max_block_ms=100) as producer:
        producer.send_and_wait(topic, b"warm")
        in_time(send_under_the_lock)
        producer.flush(IN_TIME)

        eventually(lambda: len(ran) == 2)
        assert producer.send_and_wait(topic, b"after", partition=0).offset >= 1


def test_no_callback_runs_inside_the_call_that_adds_it(cluster: Cluster, topic: str) -> None:
    lock = threading.Lock()
    called: list[bool] = []

    def delivered(delivery) -> None:
        with lock:
            called.append(True)

    def add_under_the_lock() -> None:
        with lock:
            for delivery in deliveries:
                delivery.add_done_callback(delivered)

    with Producer(cluster.bootstrap) as producer:
        deliveries = [producer.send(topic, b"x") for _ in range(3)]
        producer.flush()
        in_time(add_under_the_lock)

        eventually(lambda: called == [True] * 3)


def test_a_callback_that_is_added_to_a_settled_delivery_is_called_at_once(
    cluster: Cluster, topic: str
) -> None:
    called: list[int] = []
    with Producer(cluster.bootstrap) as producer:
        delivery = producer.send(topic, b"x", partition=0)

    delivery.add_done_callback(lambda delivery: called.append(delivery.result().offset))

    assert called == [0]


def test_send_keeps_max_block_ms_whatever_a_callback_does(cluster: Cluster, topic: str) -> None:
    is_stuck, may_go_on = threading.Event(), threading.Event()

    def stick(delivery) -> None:
        is_stuck.set()
        may_go_on.wait(IN_TIME)

    with Producer(cluster.bootstrap, linger_ms=0, max_block_ms=200) as producer:
        producer.send_and_wait(topic, b"warm")
        producer.send(topic, b"1", on_delivery=stick)
        is_stuck.wait(IN_TIME)
        before = time.monotonic()

        with pytest.raises(KafkaTimeoutError):
            producer.send("unknown-to-it", b"2")
        took = time.monotonic() - before
        may_go_on.set()

    assert took < IN_TIME / 2


@pytest.mark.parametrize(
    "error", [SystemExit(3), KeyboardInterrupt(), GeneratorExit(), Exception()]
)
def test_every_record_is_settled_although_a_callback_raises(
    cluster: Cluster, topic: str, error: BaseException
) -> None:
    def fail(delivery) -> None:
        raise error

    with Producer(cluster.bootstrap, linger_ms=60_000) as producer:
        deliveries = [producer.send(topic, b"x", partition=n % 3) for n in range(9)]
        for delivery in deliveries:
            delivery.add_done_callback(fail)
        producer.flush(IN_TIME)

        assert all(delivery.done() for delivery in deliveries)
        after = producer.send(topic, b"after", partition=0)
        producer.flush(IN_TIME)
        assert after.result().offset == 3


def test_sys_exit_in_a_callback_ends_an_asyncio_program_after_all_records_are_settled(
    cluster: Cluster, topic: str
) -> None:
    deliveries = []

    async def main() -> None:
        async with AsyncProducer(cluster.bootstrap, linger_ms=10) as producer:
            deliveries.extend([await producer.send(topic, b"x", partition=n % 3) for n in range(9)])
            deliveries[0].add_done_callback(lambda delivery: sys.exit(3))
            await producer.flush()
            await asyncio.sleep(IN_TIME)

    with pytest.raises(SystemExit):
        asyncio.run(main())

    assert all(delivery.done() for delivery in deliveries)


def test_close_inside_a_callback_raises_and_closes_nothing(
    cluster: Cluster, topic: str, caplog: pytest.LogCaptureFixture
) -> None:
    refused: list[BaseException] = []

    def close(delivery) -> None:
        try:
            producer.close()
        except StateError as error:
            refused.append(error)

    with Producer(cluster.bootstrap) as producer, caplog.at_level(logging.WARNING):
        producer.send(topic, b"1", partition=0, on_delivery=close)
        producer.flush()

        assert producer.send_and_wait(topic, b"2", partition=0).offset == 1

    assert len(refused) == 1
    assert not caplog.records
