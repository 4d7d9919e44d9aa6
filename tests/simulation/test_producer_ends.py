"""An asyncio producer that is not closed or outlives its event loop loses nothing in silence."""

from __future__ import annotations

import asyncio
import gc
import logging
import warnings

import pytest

from pyk.clients.errors import ClosedError, KafkaTimeoutError, StateError
from pyk.protocol.messages.produce import ProduceRequest
from pyk.runtime.network import MemoryNetwork
from pyk.runtime.virtual_time import VirtualLoop, current_clock, run_virtual
from support.producing_cluster import ProducingCluster, make_producer
from support.scripted_broker import SILENCE


async def cluster_and_producer(**options):
    cluster = ProducingCluster(MemoryNetwork(latency=0.001))
    await cluster.start(1)
    cluster.add_topic("orders", [1])
    return cluster, make_producer(cluster, **options)


async def send_and_forget(**options):
    cluster, producer = await cluster_and_producer(**options)
    deliveries = [await producer.send("orders", b"%d" % n) for n in range(100)]
    return cluster, producer, deliveries


def test_sent_records_are_delivered_when_the_loop_ends_with_a_warning(caplog):
    with pytest.warns(ResourceWarning, match="100 records"), caplog.at_level(logging.WARNING):
        cluster, _, deliveries = run_virtual(send_and_forget(linger_ms=60_000))

    assert cluster.values() == [b"%d" % n for n in range(100)]
    assert all(delivery.done() for delivery in deliveries)
    assert "was not closed" in caplog.text


def test_records_that_are_undelivered_when_the_loop_ends_are_counted(caplog):
    async def main():
        cluster, _, deliveries = await send_and_forget(linger_ms=0)
        cluster.on(ProduceRequest, SILENCE)
        return deliveries, current_clock()

    with pytest.warns(ResourceWarning, match="100 records"):
        deliveries, clock = run_virtual(main())

    assert clock.now() < 10
    assert all(delivery.done() for delivery in deliveries)
    assert "100 records not delivered" in caplog.text


@pytest.mark.filterwarnings("ignore:unclosed")
def test_a_producer_whose_loop_has_ended_says_so(caplog):
    _, producer, _ = run_virtual(send_and_forget())

    async def use_again():
        with pytest.raises(StateError, match="event loop"):
            await producer.send("orders", b"late")
        with pytest.raises(StateError, match="event loop"):
            await producer.send("elsewhere", b"late")
        with pytest.raises(StateError, match="event loop"):
            await producer.flush()
        with pytest.raises(StateError, match="event loop"):
            await producer.partitions_for("orders")
        await producer.close()

    run_virtual(use_again())


@pytest.mark.filterwarnings("ignore:unclosed")
def test_a_producer_whose_loop_was_closed_under_it_gives_up_its_records():
    first, second = VirtualLoop(), VirtualLoop()
    _, producer, deliveries = first.run_until_complete(send_and_forget(linger_ms=60_000))
    first.close()

    async def use_again():
        with pytest.raises(StateError, match="event loop"):
            await producer.flush()
        await producer.close()
        with pytest.raises(ClosedError):
            await deliveries[0]

    second.run_until_complete(use_again())
    second.close()


def test_a_producer_of_another_running_loop_is_refused_and_goes_on():
    first, second = VirtualLoop(), VirtualLoop()
    cluster, producer, _ = first.run_until_complete(send_and_forget(linger_ms=60_000))

    async def use_elsewhere():
        with pytest.raises(StateError, match="event loop"):
            await producer.flush()
        with pytest.raises(StateError, match="event loop"):
            await producer.close()

    second.run_until_complete(use_elsewhere())
    first.run_until_complete(producer.close())

    assert len(cluster.values()) == 100
    first.close()
    second.close()


@pytest.mark.parametrize("is_sent", [True, False])
def test_a_producer_that_is_closed_or_was_never_used_warns_of_nothing(is_sent):
    async def main():
        _, producer = await cluster_and_producer()
        if is_sent:
            await producer.send("orders", b"one")
            await producer.close()

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run_virtual(main())
        gc.collect()


def test_a_producer_that_was_dropped_warns_though_everything_was_delivered():
    async def main():
        _, producer = await cluster_and_producer()
        await producer.send_and_wait("orders", b"one")
        del producer
        gc.collect()
        await asyncio.sleep(1)

    with pytest.warns(ResourceWarning, match="unclosed <AsyncProducer"):
        run_virtual(main())


def test_a_flush_that_fails_at_the_end_of_the_loop_is_no_surprise():
    async def main():
        cluster, producer = await cluster_and_producer()
        cluster.on(ProduceRequest, SILENCE)
        await producer.send("orders", b"one")
        with pytest.raises(KafkaTimeoutError):
            await producer.flush(timeout=1)
        await producer.close(timeout=0)

    run_virtual(main())


def test_records_of_a_loop_that_was_closed_under_a_dropped_producer_are_counted(caplog):
    loop = VirtualLoop()
    cluster, producer, deliveries = loop.run_until_complete(send_and_forget(linger_ms=60_000))
    loop.close()

    with pytest.warns(ResourceWarning, match="100 records"):
        del producer
    del cluster, deliveries, loop
    gc.collect()

    assert "100 records not delivered" in caplog.text
