"""The blocking producer over real sockets: threads, waits, signals, forks."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pyk.clients import (
    AsyncProducer,
    BootstrapError,
    ClosedError,
    KafkaTimeoutError,
    Producer,
    SerializationError,
    StateError,
)
from pyk.reference_broker import Cluster
from support.forks import refused_in_a_fork, status_of_fork
from support.reading import read_topic
from support.real_time import IN_TIME, called_by_many_threads, left_open_by, took


def values(cluster: Cluster, topic: str) -> list[bytes]:
    partitions = read_topic(cluster.bootstrap, topic)
    return [record.value for number in sorted(partitions) for record in partitions[number]]


def test_leaving_the_with_block_delivers_every_record(cluster, topic):
    with Producer(cluster.bootstrap) as producer:
        deliveries = [producer.send(topic, b"%d" % n) for n in range(1_000)]

    assert all(delivery.done() for delivery in deliveries)
    assert sorted(values(cluster, topic), key=int) == [b"%d" % n for n in range(1_000)]


def test_close_has_a_short_timeout_when_the_with_block_raises(cluster, topic):
    limits = []

    class Recording(Producer):
        def close(self, timeout=None):
            limits.append(timeout)
            super().close(timeout)

    with pytest.raises(ZeroDivisionError), Recording(cluster.bootstrap) as producer:
        producer.send(topic, b"%d" % (1 // 0))
    with Recording(cluster.bootstrap) as producer:
        producer.send(topic, b"one")

    assert limits == [5.0, None]


def test_a_producer_connects_by_itself_when_it_is_first_used(cluster, topic):
    producer = Producer(cluster.bootstrap)

    assert producer.send_and_wait(topic, b"one", partition=1).partition == 1
    assert producer.partitions_for(topic) == {0, 1, 2}

    producer.close()


class Upper:
    """A serializer of values to upper case, with the interface of Kafka's serializers."""

    def serialize(self, topic: str, value: str) -> bytes:
        return value.upper().encode()


def test_serializers_encode_keys_and_values_and_skip_none(cluster, topic):
    with Producer(
        cluster.bootstrap, key_serializer=str.encode, value_serializer=Upper()
    ) as producer:
        producer.send(topic, "value", "key", partition=0)
        producer.send(topic, None, partition=0)

    records = read_topic(cluster.bootstrap, topic)[0]
    assert [(record.key, record.value) for record in records] == [(b"key", b"VALUE"), (None, None)]


def test_send_raises_when_a_serializer_fails(cluster, topic):
    with (
        Producer(cluster.bootstrap, value_serializer=Upper()) as producer,
        pytest.raises(SerializationError, match="value_serializer failed"),
    ):
        producer.send(topic, 5)


def test_any_buffer_of_bytes_is_sent_without_a_serializer(cluster, topic):
    with Producer(cluster.bootstrap) as producer:
        producer.send(topic, memoryview(b"view"), bytearray(b"array"), partition=0)

    (record,) = read_topic(cluster.bootstrap, topic)[0]
    assert (record.key, record.value) == (b"array", b"view")


def test_a_value_other_than_bytes_is_refused_without_a_serializer(cluster, topic):
    with (
        Producer(cluster.bootstrap) as producer,
        pytest.raises(TypeError, match="give the producer a value_serializer"),
    ):
        producer.send(topic, 5)


def test_a_partitioner_of_the_application_chooses_the_partition(cluster, topic):
    seen = []

    def choose(key, partitions, available):
        seen.append((key, list(partitions), list(available)))
        return 2

    with Producer(cluster.bootstrap, partitioner=choose) as producer:
        assert producer.send_and_wait(topic, b"v", b"two").partition == 2

    assert seen[-1] == (b"two", [0, 1, 2], [0, 1, 2])


def test_send_raises_when_a_partitioner_chooses_an_unknown_partition(cluster, topic):
    with (
        Producer(cluster.bootstrap, partitioner=lambda key, partitions, available: 9) as producer,
        pytest.raises(ValueError, match="partitioner chose partition 9"),
    ):
        producer.send(topic, b"v", b"nine")


def test_threads_share_a_producer_and_keep_their_own_order(cluster, topic):
    def produce(name: int) -> None:
        for n in range(500):
            producer.send(topic, b"%d %d" % (name, n), partition=name % 3)

    with (
        Producer(cluster.bootstrap, batch_size=2_000, buffer_memory=20_000) as producer,
        ThreadPoolExecutor(8) as threads,
    ):
        list(threads.map(produce, range(8)))

    partitions = read_topic(cluster.bootstrap, topic)
    for name in range(8):
        mine = [r.value for r in partitions[name % 3] if r.value.startswith(b"%d " % name)]
        assert mine == [b"%d %d" % (name, n) for n in range(500)]


def test_callbacks_can_send_but_must_not_wait(cluster, topic):
    outcomes = []

    def delivered(delivery):
        outcomes.append(delivery.result().offset)
        following = producer.send(topic, b"two", partition=0)
        try:
            following.result()
        except StateError:
            outcomes.append("refused")
        try:
            producer.flush()
        except StateError:
            outcomes.append("refused")

    with Producer(cluster.bootstrap) as producer:
        producer.send(topic, b"one", partition=0).add_done_callback(delivered)
        producer.flush()
        producer.flush()  # the callback's record

    assert outcomes == [0, "refused", "refused"]
    assert values(cluster, topic) == [b"one", b"two"]


def test_send_and_callbacks_can_use_one_lock_of_the_application(cluster, topic):
    lock, here = threading.Lock(), threading.current_thread()
    ran_in: list[threading.Thread] = []

    def delivered(delivery):
        with lock:
            ran_in.append(threading.current_thread())

    with Producer(cluster.bootstrap, linger_ms=0) as producer:
        producer.send_and_wait(topic, b"first", partition=0)
        for n in range(300):
            with lock:
                delivery = producer.send(topic, b"%d" % n, partition=0)
            if not delivery.done():
                delivery.add_done_callback(delivered)
        in_send = ran_in.count(here)
        producer.flush()

    assert in_send == 0
    assert len(values(cluster, topic)) == 301


def test_many_threads_send_and_wait_while_callbacks_send_too(cluster, topic):
    def delivered(delivery):
        producer.send(topic, b"from a callback", partition=2)

    def produce(name: int) -> None:
        for n in range(50):
            producer.send(topic, b"x", partition=0).add_done_callback(delivered)
            assert producer.send_and_wait(topic, b"%d %d" % (name, n), partition=1).partition == 1

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with Producer(cluster.bootstrap, linger_ms=0) as producer, ThreadPoolExecutor(4) as threads:
            list(threads.map(produce, range(4)))
            producer.flush()
    finally:
        sys.setswitchinterval(before)

    partitions = read_topic(cluster.bootstrap, topic)
    assert [len(partitions[number]) for number in range(3)] == [200, 200, 200]


def test_a_delivery_can_be_awaited_by_async_code(cluster, topic):
    async def main() -> int:
        return (await producer.send(topic, b"one", partition=0)).offset

    with Producer(cluster.bootstrap) as producer:
        assert asyncio.run(main()) == 0


def test_a_lost_response_neither_loses_nor_duplicates_a_record(cluster, topic):
    with (
        cluster.faults.on("Produce", topic=topic).once().apply_then_lose_response(),
        Producer(cluster.bootstrap, linger_ms=0, batch_size=0) as producer,
    ):
        deliveries = [producer.send(topic, b"%d" % n, partition=0) for n in range(50)]
        offsets = [delivery.result(10).offset for delivery in deliveries]

    assert offsets == list(range(50))
    assert values(cluster, topic) == [b"%d" % n for n in range(50)]


def test_a_port_without_a_listener_raises_one_bootstrap_error_soon():
    before = time.monotonic()

    with pytest.raises(BootstrapError, match=r"127\.0\.0\.1:1") as caught, Producer("127.0.0.1:1"):
        pass

    assert time.monotonic() - before < IN_TIME
    assert len(caught.value.attempts) == 1


def test_waits_end_at_their_timeouts_when_the_broker_is_down(tmp_path: Path):
    with Cluster(data_dir=tmp_path) as cluster:
        cluster.create_topic("orders")
        producer = Producer(cluster.bootstrap, buffer_memory=10_000, max_block_ms=300)
        producer.send_and_wait("orders", b"warm")
        cluster.kill()
        delivery = producer.send("orders", b"x" * 9_000)

        assert took(lambda: expect(KafkaTimeoutError, delivery.result, 0.2)) < IN_TIME
        assert took(lambda: expect(KafkaTimeoutError, producer.flush, 0.2)) < IN_TIME
        assert (
            took(lambda: expect(KafkaTimeoutError, producer.send, "orders", b"y" * 2_000)) < IN_TIME
        )
        assert took(lambda: producer.close(0.2)) < IN_TIME
        assert isinstance(delivery.exception(0), ClosedError)
        expect(ClosedError, producer.send, "orders", b"late")


def expect(kind, function, *arguments) -> None:
    with pytest.raises(kind):
        function(*arguments)


def test_ctrl_c_ends_a_wait_and_leaves_the_producer_usable(cluster, topic):
    main = threading.main_thread().ident
    with (
        Producer(cluster.bootstrap, linger_ms=0) as producer,
        cluster.faults.on("Produce", topic=topic).once().delay(500),
    ):
        delivery = producer.send(topic, b"one", partition=0)
        for wait in (delivery.result, producer.flush):
            threading.Timer(0.1, signal.pthread_kill, (main, signal.SIGINT)).start()
            expect(KeyboardInterrupt, wait)

        assert delivery.result(5).offset == 0
        assert producer.send_and_wait(topic, b"two", partition=0).offset == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_child_cannot_use_the_producer_of_its_parent(cluster, topic):
    with Producer(cluster.bootstrap) as producer:
        producer.send_and_wait(topic, b"parent")

        uses = (lambda: producer.send(topic, b"child"), producer.flush)
        assert refused_in_a_fork(producer, *uses) == 2
        producer.send_and_wait(topic, b"parent still")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_child_does_not_wait_for_deliveries_of_its_parent(cluster, topic):
    told = []
    with Producer(cluster.bootstrap, linger_ms=60_000) as producer:
        delivery = producer.send(topic, b"parent")
        delivery.add_done_callback(lambda done: told.append(os.getpid()))
        batch = producer.send_batch(topic, [b"parent"] * 3)
        waits = (
            delivery.result,
            batch.result,
            lambda: asyncio.run(_awaited(delivery)),
            lambda: _raise_unless_definite(delivery.exception()),
            lambda: _raise_unless_definite(batch.failures()[0]),
            lambda: producer.send_batch(topic, [b"child"]).result(),
        )

        assert refused_in_a_fork(producer, *waits) == len(waits)
        assert not delivery.done()
        producer.flush()
        assert told == [os.getpid()]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_child_cannot_use_the_asyncio_producer_of_its_parent(cluster, topic):
    loop = asyncio.new_event_loop()
    producer = AsyncProducer(cluster.bootstrap, linger_ms=60_000)
    delivery = loop.run_until_complete(_sent(producer, topic))

    class Closing:
        def close(self):
            asyncio.run(producer.close())

    uses = (
        lambda: asyncio.run(_sent(producer, topic)),
        lambda: asyncio.run(_awaited(delivery)),
        lambda: asyncio.run(producer.flush()),
        lambda: asyncio.run(producer.partitions_for(topic)),
    )
    assert refused_in_a_fork(Closing(), *uses) == len(uses)
    loop.run_until_complete(producer.close())
    assert delivery.done()
    loop.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_callback_that_a_forked_child_adds_to_a_settled_delivery_is_called(
    cluster: Cluster, topic: str
) -> None:
    loop = asyncio.new_event_loop()
    producer = AsyncProducer[bytes, bytes](cluster.bootstrap)
    delivery = loop.run_until_complete(_sent(producer, topic))
    loop.run_until_complete(_awaited(delivery))

    def is_not_told() -> int:
        told: list[object] = []
        delivery.add_done_callback(told.append)
        return not told

    assert status_of_fork(is_not_told) == 0
    loop.run_until_complete(producer.close())
    loop.close()


async def _sent(producer, topic):
    return await producer.send(topic, b"parent")


async def _awaited(delivery):
    return await delivery


def _raise_unless_definite(error):
    """The parent goes on with it, so the child cannot know that it was not written."""
    if not error.definite:
        raise error


def test_threads_that_use_a_producer_while_it_is_closed_get_typed_errors(cluster, topic):
    with Producer(cluster.bootstrap, linger_ms=0) as producer:
        calls = [
            lambda: producer.send(topic, b"x" * 100),
            lambda: producer.send(topic, b"x").result(1),
            lambda: producer.flush(1),
            lambda: producer.partitions_for(topic, 1),
            producer.stats,
        ]
        with called_by_many_threads(calls, turns=200) as surprises:
            time.sleep(0.05)
            producer.close(2)

    assert surprises == []


STUCK = """
import sys, threading, time
from pyk.clients import KafkaTimeoutError, Producer

producer = Producer(sys.argv[1], linger_ms=0)
called = threading.Event()
producer.send(sys.argv[2], b"one").add_done_callback(lambda _: (called.set(), time.sleep(60)))
called.wait(5)
producer.send(sys.argv[2], b"two")
before = time.monotonic()
try:
    producer.flush(0.1)
except KafkaTimeoutError:
    producer.close(0.1)
print(time.monotonic() - before)
"""


def test_waits_with_a_timeout_end_although_a_callback_never_returns(cluster, topic):
    program = [sys.executable, "-c", STUCK, cluster.bootstrap, topic]

    done = subprocess.run(program, capture_output=True, text=True, timeout=30, check=True)

    assert float(done.stdout) < 5


def test_a_closed_producer_leaves_no_threads_and_no_sockets(cluster, topic):
    def use() -> None:
        with Producer(cluster.bootstrap) as producer:
            producer.send(topic, b"x")

    assert left_open_by(use, times=20) == (0, 0)


def test_many_records_are_sent_in_one_call(cluster, topic):
    with Producer(cluster.bootstrap, buffer_memory=20_000, batch_size=2_000) as producer:
        batch = producer.send_batch(topic, [(b"%d" % n, b"x" * 50) for n in range(2_000)])

        places = batch.result(30)

    assert len(places) == len(values(cluster, topic)) == 2_000
    assert batch.failures() == {}
    assert places[5] == batch[5].result()
