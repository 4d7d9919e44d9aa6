"""A closed producer accepts no records, and every accepted record has an outcome."""

from __future__ import annotations

import gc
import socket
import threading
import time
import warnings
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from pyk.clients import Admin, ClosedError, KafkaError, KafkaTimeoutError, Producer
from pyk.clients.producer.faces.producer import GRACE_SECONDS
from pyk.reference_broker import Cluster
from support.reading import read_topic
from support.real_time import IN_TIME, eventually, left_open_by


@pytest.mark.parametrize("timeout", ["1", -1, float("nan"), timedelta(seconds=1), True])
def test_close_with_an_invalid_timeout_raises_and_closes_nothing(
    cluster: Cluster, topic: str, timeout: Any
) -> None:
    with Producer(cluster.bootstrap) as producer:
        for call in (producer.close, producer.flush, producer.start):
            with pytest.raises((TypeError, ValueError), match="timeout must be"):
                call(timeout)
        with pytest.raises((TypeError, ValueError), match="timeout must be"):
            producer.partitions_for(topic, timeout)

        assert producer.send_and_wait(topic, b"1", partition=0).offset == 0


def test_close_with_timeout_0_fails_records_that_are_not_delivered(
    cluster: Cluster, topic: str
) -> None:
    producer = Producer(cluster.bootstrap, linger_ms=60_000)
    delivery = producer.send(topic, b"1")

    producer.close(0)

    assert isinstance(delivery.exception(IN_TIME), ClosedError)
    with pytest.raises(ClosedError):
        producer.send(topic, b"2")


def test_close_settles_every_record_although_a_callback_is_slow(
    cluster: Cluster, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_stuck, may_go_on = threading.Event(), threading.Event()

    def stick(delivery: Any) -> None:
        is_stuck.set()
        may_go_on.wait(IN_TIME)

    producer = Producer(cluster.bootstrap, linger_ms=0)
    producer.send_and_wait(topic, b"warm")
    producer.send(topic, b"1", on_delivery=stick)
    is_stuck.wait(IN_TIME)
    delivery = producer.send(topic, b"2")
    waits: list[float] = []
    background = producer._thread._thread
    assert background is not None
    monkeypatch.setattr(background, "join", waits.append)
    before = time.monotonic()

    producer.close(0.1)

    assert time.monotonic() - before < IN_TIME / 2
    assert waits == [GRACE_SECONDS]  # after the timeout, close does not wait longer for the thread
    with pytest.raises(ClosedError):
        producer.send(topic, b"3")
    may_go_on.set()
    assert isinstance(delivery.exception(IN_TIME), ClosedError)


def test_a_second_close_returns_when_the_first_has_delivered_every_record(
    cluster: Cluster, topic: str
) -> None:
    producer = Producer(cluster.bootstrap, linger_ms=0)
    producer.start()
    with cluster.faults.on("Produce", topic=topic).once().delay(300):
        delivery = producer.send(topic, b"1", partition=0)
        first = threading.Thread(target=producer.close)
        first.start()
        eventually(lambda: producer._core.is_closed)

        producer.close()

    assert delivery.result(0).offset == 0
    first.join(IN_TIME)


def test_calls_without_a_connection_end_at_their_timeouts() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        producer = Producer(f"127.0.0.1:{silent.getsockname()[1]}", max_block_ms=600)
        sending = threading.Thread(target=send_in_vain, args=(producer,))
        sending.start()
        before = time.monotonic()
        for call in (lambda: producer.partitions_for("a", 0.05), lambda: producer.start(0.05)):
            with pytest.raises(KafkaError, match=r"connected|bootstrap"):
                call()
        took = time.monotonic() - before
        producer.close(0.1)
        sending.join(IN_TIME)

    assert took < IN_TIME / 2


def send_in_vain(producer: Producer[Any, Any]) -> None:
    with pytest.raises(KafkaError):
        producer.send("a")


def test_a_producer_that_is_not_closed_delivers_and_leaves_nothing_open(
    cluster: Cluster, topic: str
) -> None:
    def drop() -> None:
        producer = Producer(cluster.bootstrap, linger_ms=50)
        producer.send(topic, b"x", partition=0)
        del producer
        gc.collect()

    assert_warns_and_leaves_nothing_open(drop, "unclosed <Producer")
    assert len(read_topic(cluster.bootstrap, topic)[0]) == 7


def test_an_admin_client_that_is_not_closed_leaves_nothing_open(cluster: Cluster) -> None:
    def drop() -> None:
        admin = Admin(cluster.bootstrap)
        admin.list_topics()
        del admin
        gc.collect()

    assert_warns_and_leaves_nothing_open(drop, "unclosed <Admin")


def assert_warns_and_leaves_nothing_open(drop: Callable[[], None], warning: str) -> None:
    """Check that dropping a client once warns, and that dropping five more leaks nothing."""
    with pytest.warns(ResourceWarning, match=warning):
        drop()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        assert left_open_by(drop, times=5) == (0, 0)


def test_closed_and_unused_clients_cause_no_resource_warning(cluster: Cluster) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for kind in (Producer, Admin):
            unused = kind(cluster.bootstrap)
            del unused
            with kind(cluster.bootstrap) as used:
                pass
            del used
            gc.collect()


def test_flush_raises_when_its_timeout_is_over(cluster: Cluster, topic: str) -> None:
    with (
        Producer(cluster.bootstrap, linger_ms=0) as producer,
        cluster.faults.on("Produce", topic=topic).once().delay(300),
    ):
        producer.send(topic, b"x")
        with pytest.raises(KafkaTimeoutError, match="not settled after"):
            producer.flush(0.05)
