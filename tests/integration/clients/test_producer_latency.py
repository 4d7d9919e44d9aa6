"""How often threads enter the event loop for ``send_and_wait``: each time may cost a switch."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from pyk.clients import Producer
from pyk.clients.engine import turns
from pyk.reference_broker import Cluster
from pyk.runtime.network import MemoryNetwork
from support.producing_cluster import ProducingCluster
from support.real_time import IN_TIME, eventually

MESSAGES = 100
PARTITIONS = 3
GRACE_SECONDS = 10.0  # longer than this test runs, but less than the time until the next timer
AT_ONCE, OVER_SOCKETS = "brokers that answer at once", "a broker behind a socket"


@pytest.fixture
def entries(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Count how often each thread entered the loop, by its name."""
    counts: Counter[str] = Counter()

    def set_running_loop(loop: asyncio.AbstractEventLoop | None) -> None:
        if loop is not None:
            counts[threading.current_thread().name] += 1
        asyncio._set_running_loop(loop)

    monkeypatch.setattr(turns, "_set_running_loop", set_running_loop)
    return counts


@pytest.fixture(params=[AT_ONCE, OVER_SOCKETS])
def producer(
    request: pytest.FixtureRequest, cluster: Cluster, topic: str
) -> Iterator[Producer[Any, Any]]:
    """A producer without linger whose background thread naps for long if it finds a caller."""
    if request.param == AT_ONCE:  # they belong to the producer's own loop
        scripted = ProducingCluster(MemoryNetwork(), nodes=PARTITIONS)
        scripted.add_topic(topic, [1, 2, 3])
        producer = Producer[Any, Any](scripted.bootstrap, network=scripted.network, linger_ms=0)
        producer._thread.call(scripted.__aenter__())
    else:
        producer = Producer[Any, Any](cluster.bootstrap, linger_ms=0)
    producer._thread._drivers.handover.grace = GRACE_SECONDS
    send_messages(producer, topic)
    yield producer
    producer.close(IN_TIME)


def send_messages(producer: Producer[Any, Any], topic: str) -> None:
    for number in range(MESSAGES):
        producer.send_and_wait(topic, b"x", partition=number % PARTITIONS)


def test_send_and_wait_enters_the_loop_once(
    entries: Counter[str], producer: Producer[Any, Any], topic: str
) -> None:
    caller = threading.current_thread().name

    def enters_once_a_message() -> bool:
        entries.clear()
        send_messages(producer, topic)
        return entries[caller] == MESSAGES

    # The background thread may compete with the first calls; it naps once it finds a caller.
    eventually(enters_once_a_message)


def test_the_background_thread_sleeps_while_send_and_wait_is_called_again_and_again(
    entries: Counter[str], producer: Producer[Any, Any], topic: str
) -> None:
    background = f"pyk-{producer._thread.guard.owner}"

    def leaves_the_loop_alone() -> bool:
        entries.clear()
        send_messages(producer, topic)
        return not entries[background]

    eventually(leaves_the_loop_alone)
    assert entries, "no thread was counted"
