"""``wakeup`` interrupts calls of the blocking consumers, from other threads and signal handlers."""

from __future__ import annotations

import signal
import socket
import threading
import time

import pytest

from pyk.clients import Consumer
from pyk.clients.errors import WakeupError
from support.blocking_consuming import partitions, produce, read, reader
from support.real_time import IN_TIME


def test_a_commit_is_interrupted_by_another_thread_and_the_consumer_goes_on(cluster, topic):
    produce(cluster, topic, 3)
    with reader(cluster, topic, group_id=topic) as consumer:
        read(consumer, 3)
        waking = threading.Timer(0.3, consumer.wakeup)
        waking.start()
        with (
            cluster.faults.on("OffsetCommit").once().delay(2_000),
            pytest.raises(WakeupError, match="may have been stored"),
        ):
            consumer.commit()
        waking.join()

        consumer.commit()
        committed = consumer.committed(partitions(topic)).values()

    assert [one.offset for one in committed if one is not None] == [1, 1, 1]


def test_a_commit_is_interrupted_by_the_handler_of_a_signal(cluster, topic):
    produce(cluster, topic, 3)
    with reader(cluster, topic, group_id=topic) as consumer:
        read(consumer, 3)
        before = signal.signal(signal.SIGTERM, lambda *_: consumer.wakeup())
        kill = threading.Timer(
            0.3, signal.pthread_kill, (threading.main_thread().ident, signal.SIGTERM)
        )
        try:
            kill.start()
            with (
                cluster.faults.on("OffsetCommit").once().delay(2_000),
                pytest.raises(WakeupError),
            ):
                consumer.commit()
        finally:
            kill.join()
            signal.signal(signal.SIGTERM, before)


def test_a_poll_is_interrupted_that_waits_for_the_first_connection():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        consumer: Consumer[bytes, bytes] = Consumer(
            f"127.0.0.1:{silent.getsockname()[1]}", topics=["orders"], group_id="g"
        )
        waking = threading.Timer(0.3, consumer.wakeup)
        waking.start()
        began = time.monotonic()
        with pytest.raises(WakeupError):
            consumer.poll(None)
        waking.join()
        consumer.close()

    assert time.monotonic() - began < IN_TIME
