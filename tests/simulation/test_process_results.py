"""How the records that handlers return are written, in transactions and without them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from pyk.clients import AsyncProducer, ProducerRecord
from pyk.clients.errors import (
    KafkaTimeoutError,
    RecordTooLargeError,
    UnknownTopicOrPartitionError,
)
from pyk.runtime.virtual_time import current_clock, eventually, virtual_time
from support.consuming import network_of
from support.environments import client_options
from support.processing import records_of
from support.simulated_billers import (
    PARTITIONS,
    Biller,
    cluster_with_orders,
    committed,
    make_producer,
    values_of,
)


def biller_with(
    cluster: Any,
    bill: Callable[[Any], Awaitable[Any]],
    *,
    is_transactional: bool = True,
    **options: Any,
) -> Biller:
    """Start a member whose handler is ``bill``."""
    biller = Biller(cluster)
    biller.bill = bill  # type: ignore[method-assign, assignment]
    biller.options |= options
    if not is_transactional:
        biller.producer = plain_producer(cluster)
    return biller.start()


def plain_producer(cluster: Any, **options: Any) -> AsyncProducer[Any, Any]:
    return AsyncProducer(cluster.bootstrap, **client_options(network_of(cluster)), **options)


@pytest.mark.parametrize("is_transactional", [True, False])
@virtual_time
async def test_a_result_is_written_as_its_handler_says(is_transactional):
    async def bill(order: Any) -> ProducerRecord:
        return ProducerRecord(
            "copies",
            order.value + b"!",
            b"of " + order.value,
            partition=0,  # where the key alone would not take all of them
            headers=[("copy", b"1")],
            timestamp_ms=1_000 + order.offset,
        )

    async with cluster_with_orders(6) as cluster:
        await cluster.create_topic("copies", partitions=5)
        biller = biller_with(cluster, bill, is_transactional=is_transactional)

        found = await records_of(cluster, "copies", 6)

        await biller.wake()
    assert sorted((one.value, one.key, one.headers, one.timestamp) for one in found) == [
        (b"%d!" % n, b"of %d" % n, (("copy", b"1"),), 1_000 + n // 3) for n in range(6)
    ]


@virtual_time
async def test_a_dead_letter_of_a_transaction_says_where_it_was_read_and_has_its_own_time():
    async def bill(order: Any) -> ProducerRecord:
        await asyncio.sleep(5)
        raise LookupError("no such customer")

    async with cluster_with_orders(1) as cluster:
        biller = biller_with(cluster, bill, dead_letter="orders.dead")

        [dead] = await records_of(cluster, "orders.dead", 1)

        now = current_clock().time_ms()
        await biller.wake()
    headers = dict(dead.headers)
    assert (dead.key, dead.value) == (b"0", b"0")
    assert headers["pyk-origin-topic"] == b"orders"
    assert headers["pyk-error"] == b"LookupError"
    assert int(headers["pyk-origin-timestamp"] or b"") + 5_000 <= dead.timestamp <= now


@virtual_time
async def test_a_result_that_cannot_be_serialized_is_put_aside_and_the_others_are_written():
    async def bill(order: Any) -> list[ProducerRecord]:
        return [ProducerRecord("bills", n) for n in range(int(order.value) + 1)]

    def serialize(number: int) -> bytes:
        if number == 2:
            raise LookupError("no such bill")
        return b"%d" % number

    async with cluster_with_orders(3) as cluster:
        biller = Biller(cluster)
        biller.bill = bill  # type: ignore[method-assign, assignment]
        biller.producer = make_producer(cluster, value_serializer=serialize)
        dead: list[tuple[bytes, str]] = []
        biller.options["dead_letter"] = lambda record, error: dead.append(
            (record.value, type(error).__name__)
        )
        biller.start()
        await asyncio.sleep(10)
        await biller.wake()

        assert sorted(await values_of(cluster, "bills")) == [b"0", b"0", b"1"]
        assert dead == [(b"2", "SerializationError")]
        assert await committed(cluster) == dict.fromkeys(PARTITIONS, 1)


@virtual_time
async def test_a_record_is_not_finished_before_its_results_are_written_without_transactions():
    handled: list[bytes] = []

    async def bill(order: Any) -> ProducerRecord:
        handled.append(order.value)
        return ProducerRecord("bills", order.value)

    async with cluster_with_orders(3) as cluster:
        produce = cluster.faults.on("Produce").delay(20_000)
        biller = biller_with(cluster, bill, is_transactional=False, ordering="none")
        await eventually(lambda: produce.hits > 0)
        await asyncio.sleep(10)

        assert set((await committed(cluster)).values()) <= {0}
        await asyncio.sleep(30)
        await biller.wake()
        assert await committed(cluster) == dict.fromkeys(PARTITIONS, 1)
        assert sorted(handled) == [b"0", b"1", b"2"]


@virtual_time
async def test_results_without_transactions_are_sent_before_any_of_them_is_waited_for():
    async def bill(order: Any) -> list[ProducerRecord]:
        return [ProducerRecord("bills", b"%d" % n) for n in range(50)]

    async with cluster_with_orders(1) as cluster:
        biller = Biller(cluster)
        biller.bill = bill  # type: ignore[method-assign, assignment]
        biller.producer = plain_producer(cluster, linger_ms=1_000)
        began = current_clock().now()
        biller.start()
        assert len(await records_of(cluster, "bills", 50)) == 50

        assert current_clock().now() - began < 25  # 50 if each of them lingered
        await biller.wake()


@virtual_time
async def test_a_result_that_brokers_refuse_without_transactions_ends_the_call():
    async def bill(order: Any) -> list[ProducerRecord]:
        return [ProducerRecord("small", b"1"), ProducerRecord("small", b"x" * 5_000)]

    async with cluster_with_orders(1) as cluster:
        await cluster.create_topic("small", partitions=1, configs={"max.message.bytes": "1000"})
        biller = biller_with(cluster, bill, is_transactional=False)

        with pytest.raises(RecordTooLargeError):
            await biller.task
        assert await values_of(cluster, "small") == [b"1"]


@pytest.mark.parametrize(
    ("missing", "words"),
    [
        (ProducerRecord("missing"), "no metadata of topic 'missing'"),
        (ProducerRecord("bills", partition=7), "topic 'bills' has no partition 7"),
    ],
)
@virtual_time
async def test_a_result_for_what_does_not_exist_ends_the_call_and_moves_no_record(missing, words):
    dead: list[bytes] = []

    async def bill(order: Any) -> ProducerRecord:
        return missing if order.value == b"1" else ProducerRecord("bills", order.value)

    async with cluster_with_orders(3, auto_create_topics_enable=False) as cluster:
        biller = biller_with(
            cluster, bill, dead_letter=lambda record, error: dead.append(record.value)
        )

        with pytest.raises(KafkaTimeoutError, match=words) as raised:
            async with asyncio.timeout(60):
                await biller.task

        assert isinstance(raised.value.__cause__, UnknownTopicOrPartitionError)
        assert dead == []
        assert (await committed(cluster)).get(PARTITIONS[1], 0) == 0
