"""Ctrl-C at every point of a call: accepted records are delivered, and nothing leaks."""

from __future__ import annotations

import contextlib
import signal
from typing import Any

import pytest

from pyk.clients import Producer
from pyk.reference_broker import Cluster
from support.interrupts import MANY_POINTS, handled_everywhere, interrupted_everywhere
from support.real_time import IN_TIME

pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


class Interrupted:
    """A producer whose calls are interrupted, and that is checked after each call.

    With a long ``linger_ms``, records are sent only because a batch is full or a call flushes.
    """

    def __init__(self, cluster: Cluster, topic: str, **options: Any) -> None:
        self.topic = topic
        self.producer = Producer(cluster.bootstrap, **options)
        self.producer.send(topic, b"warm", partition=1)
        self.producer.flush(IN_TIME)
        self.handler = signal.getsignal(signal.SIGINT)

    def check(self, result: object) -> None:
        """Fail if a record is not delivered or memory leaks; ``result`` may be a delivery."""
        producer = self.producer
        assert signal.getsignal(signal.SIGINT) is self.handler
        producer.flush(IN_TIME)
        if result is not None and hasattr(result, "result"):
            result.result(0)
        stats = producer.stats()
        assert stats.unfinished_batches == 0
        assert stats.buffer_available_bytes == stats.buffer_total_bytes
        assert not producer._thread._drivers.waiting
        after = producer.send(self.topic, b"after", partition=0)
        producer.flush(IN_TIME)
        assert after.result(0).offset >= 0


@pytest.mark.parametrize("linger_ms", [0, 60_000])
def test_no_record_is_lost_when_send_is_interrupted_anywhere(
    cluster: Cluster, topic: str, linger_ms: int
) -> None:
    it = Interrupted(cluster, topic, linger_ms=linger_ms)
    sent: list[Any] = []

    def send() -> object:
        delivery = it.producer.send(topic, b"x", partition=1, on_delivery=sent.append)
        if linger_ms:
            it.producer.send(topic, b"y" * 20_000, partition=1)  # it completes the previous batch
        return delivery

    assert interrupted_everywhere(send, it.check) > MANY_POINTS
    it.producer.close()


def test_a_full_batch_is_sent_although_the_send_that_filled_it_was_interrupted(
    cluster: Cluster, topic: str
) -> None:
    it = Interrupted(cluster, topic, linger_ms=60_000, batch_size=1_000)
    before: list[Any] = []

    def send() -> None:
        before.append(it.producer.send(topic, b"x" * 100, partition=1))
        it.producer.send(topic, b"y" * 900, partition=1)

    def check(result: object) -> None:
        # A caller that waits for its delivery without a flush must not wait for the linger either.
        if it.producer.stats().unfinished_batches and before:
            it.producer.send(topic, b"z" * 1_000, partition=1)
            before[-1].result(IN_TIME)
        it.check(result)

    assert interrupted_everywhere(send, check) > MANY_POINTS
    it.producer.close()


def test_no_record_is_lost_when_send_and_wait_or_flush_is_interrupted_anywhere(
    cluster: Cluster, topic: str
) -> None:
    it = Interrupted(cluster, topic, linger_ms=0)

    points = interrupted_everywhere(
        lambda: it.producer.send_and_wait(topic, b"x", partition=1), it.check, step=3
    )
    assert points > MANY_POINTS

    def send_and_flush() -> None:
        it.producer.send(topic, b"x", partition=1)
        it.producer.flush(IN_TIME)

    assert interrupted_everywhere(send_and_flush, it.check, step=3) > MANY_POINTS
    it.producer.close()


def test_an_interrupted_send_releases_its_buffer_memory(cluster: Cluster, topic: str) -> None:
    it = Interrupted(cluster, topic, linger_ms=60_000, buffer_memory=2_000)

    def send() -> object:
        it.producer.send(topic, b"x" * 1_500, partition=1)
        return it.producer.send(topic, b"y" * 1_500, partition=1)

    assert interrupted_everywhere(send, it.check, step=2) > 10
    it.producer.close()


def test_an_interrupted_send_batch_releases_its_buffer_memory(cluster: Cluster, topic: str) -> None:
    it = Interrupted(cluster, topic, linger_ms=0, batch_size=1_000, buffer_memory=3_000)

    def send() -> object:
        return it.producer.send_batch(topic, [b"x" * 300] * 12)

    assert interrupted_everywhere(send, it.check, step=7) > 30
    it.producer.close()


def test_every_record_is_settled_when_close_is_interrupted_anywhere(
    cluster: Cluster, topic: str
) -> None:
    producers: list[Producer[Any, Any]] = []
    deliveries: list[Any] = []

    def close() -> bool:
        producers[-1].close()
        return True

    def check(result: object) -> None:
        for producer in producers:
            producer.close()
            stats = producer.stats()
            assert stats.unfinished_batches == 0
        for delivery in deliveries:
            delivery.exception(IN_TIME)
        producers.clear()
        begin()

    def begin() -> None:
        producers.append(Producer(cluster.bootstrap, linger_ms=60_000))
        deliveries[:] = [producers[-1].send(topic, b"x", partition=0)]

    begin()
    assert interrupted_everywhere(close, check, step=23) > 10
    producers[-1].close()


@pytest.mark.skipif(not hasattr(signal, "SIGUSR1"), reason="no such signal")
def test_the_handler_of_a_signal_that_waits_for_a_producer_in_the_middle_of_send_harms_no_record(
    cluster: Cluster, topic: str
) -> None:
    it = Interrupted(cluster, topic)
    sent = [it.producer.send(topic, b"x", partition=1)]

    def wait() -> None:
        for call in (it.producer.flush, sent[-1].result):
            with contextlib.suppress(RuntimeError):  # inside send() itself
                call(IN_TIME)

    def send() -> None:
        sent.append(it.producer.send(topic, b"x", partition=1))

    assert handled_everywhere(send, wait) > 2
    it.check(None)
    assert [delivery.exception(0) for delivery in sent] == [None] * len(sent)
    it.producer.close()
