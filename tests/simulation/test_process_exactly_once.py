"""``process()`` with a transactional producer makes each result visible exactly once."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pyk.clients import (
    AsyncAdmin,
    AsyncProducer,
    ProducerRecord,
    RetryPolicy,
    TopicPartition,
)
from pyk.clients.errors import ProducerFencedError, RecordTooLargeError, StateError
from pyk.runtime.virtual_time import current_clock, eventually, virtual_time
from support.consuming import make_consumer, network_of, produce, reference_cluster
from support.environments import client_options
from support.simulated_billers import (
    COUNT,
    PARTITIONS,
    Biller,
    all_bills,
    cluster_with_orders,
    committed,
    committed_epochs,
    make_producer,
    values_of,
)
from support.stale_metadata import name_another_id


@virtual_time
async def test_results_and_offsets_are_committed_together():
    async with cluster_with_orders() as cluster:
        biller = Biller(cluster).start()

        assert await all_bills(cluster) == list(range(COUNT))

        await biller.wake()
        assert await committed(cluster) == dict.fromkeys(PARTITIONS, COUNT // 3)
        assert await committed_epochs(cluster) == dict.fromkeys(PARTITIONS, 0)


@virtual_time
async def test_offsets_are_committed_behind_the_markers_of_transactions_that_wrote_the_records():
    async with cluster_with_orders(0) as cluster:
        async with make_producer(cluster, "ordering-1") as producer, producer.transaction():
            for number in range(COUNT):
                await producer.send("orders", b"%d" % number, partition=number % 3)
        biller = Biller(cluster)
        async with biller.producer, biller.consumer as consumer:
            task = asyncio.create_task(consumer.process(biller.bill, producer=biller.producer))

            assert await all_bills(cluster) == list(range(COUNT))

            ends = await consumer.end_offsets(PARTITIONS)
            consumer.wakeup()
            await task
        assert await committed(cluster) == ends == dict.fromkeys(PARTITIONS, COUNT // 3 + 1)


@virtual_time
async def test_results_are_written_while_a_handler_never_returns():
    async with cluster_with_orders() as cluster:
        biller = Biller(cluster)
        biller.stuck = {b"9"}
        biller.options["ordering"] = "none"
        biller.start()
        await eventually(lambda: len(biller.handled) == COUNT - 1)
        await asyncio.sleep(1)

        assert len(await values_of(cluster, "bills")) == COUNT - 1
        assert await committed_epochs(cluster) == dict.fromkeys(PARTITIONS, 0)
        await biller.crash()
        second = Biller(cluster).start()

        assert await all_bills(cluster) == list(range(COUNT))
        assert second.handled == [b"9"]
        await second.wake()


@virtual_time
async def test_results_are_not_written_again_after_retention_has_deleted_what_was_not_finished():
    async with cluster_with_orders() as cluster:
        biller = Biller(cluster)
        biller.stuck = {b"9"}  # of partition 0, at offset 3
        biller.options["ordering"] = "none"
        biller.start()
        await eventually(lambda: len(biller.handled) == COUNT - 1)
        await asyncio.sleep(1)
        await biller.crash()
        async with AsyncAdmin(cluster.bootstrap, **client_options(network_of(cluster))) as admin:
            await admin.delete_records({PARTITIONS[0]: 6})

        second = Biller(cluster).start()
        await asyncio.sleep(30)
        await second.wake()

        assert second.handled == []
        assert len(await values_of(cluster, "bills")) == COUNT - 1


@virtual_time
async def test_a_transaction_commits_no_offset_beyond_a_position_that_has_gone_back():
    async with cluster_with_orders() as cluster:
        biller = Biller(cluster)
        may_go_on = asyncio.Event()

        async def bill(order: Any) -> ProducerRecord:
            if order.value == b"57":  # the last one of partition 0
                await may_go_on.wait()
            return await biller.bill(order)

        async with biller.producer, biller.consumer as consumer:
            processing = consumer.process(bill, producer=biller.producer, ordering="none")
            task = asyncio.create_task(processing)
            await eventually(lambda: len(biller.handled) == COUNT - 1)
            consumer.pause(PARTITIONS[0])
            consumer.seek(PARTITIONS[0], 5)
            may_go_on.set()
            await eventually(lambda: len(biller.handled) == COUNT)
            await asyncio.sleep(1)

            assert (await committed(cluster))[PARTITIONS[0]] == 5
            consumer.wakeup()
            await task


@virtual_time
async def test_results_wait_while_the_position_of_their_partition_is_unknown():
    async with cluster_with_orders() as cluster:
        biller = Biller(cluster)
        may_go_on = asyncio.Event()

        async def bill(order: Any) -> ProducerRecord:
            if order.value in {b"57", b"58"}:  # the last ones of partitions 0 and 1
                await may_go_on.wait()
            return await biller.bill(order)

        async with biller.producer, biller.consumer as consumer:
            processing = consumer.process(bill, producer=biller.producer, ordering="none")
            task = asyncio.create_task(processing)
            await eventually(lambda: len(biller.handled) == COUNT - 2)
            await asyncio.sleep(1)
            cluster.faults.on("ListOffsets").delay(5_000)
            consumer.pause(PARTITIONS[0])
            consumer.seek_to_beginning(PARTITIONS[0])
            await asyncio.sleep(0.1)
            may_go_on.set()
            await asyncio.sleep(2)

            assert list((await committed(cluster)).values()) == [19, 20, 20]
            assert len(await committed_bills(cluster)) == COUNT - 1
            await asyncio.sleep(10)
            assert list((await committed(cluster)).values()) == [0, 20, 20]
            assert len(await committed_bills(cluster)) == COUNT
            consumer.wakeup()
            await task


async def committed_bills(cluster: Any) -> list[bytes]:
    """Return the bills, without asking for offsets by their time."""
    consumer = make_consumer(cluster, isolation_level="read_committed")
    consumer.assign([TopicPartition("bills", 0)])
    consumer.seek(TopicPartition("bills", 0), 0)
    values = []
    async with consumer:
        while records := await consumer.poll(0.2):
            values += [record.value for record in records]
    return values


@virtual_time
async def test_results_wait_while_metadata_name_another_topic_than_the_group_has_assigned():
    async with cluster_with_orders(0) as cluster:
        biller = Biller(cluster, group_protocol="consumer").start()
        await eventually(lambda: len(biller.consumer.assignment()) == 3)
        name_another_id(biller.consumer, 5)
        await asyncio.sleep(1)
        await produce(cluster, "orders", 6, partitions=3)
        await asyncio.sleep(1)

        assert len(biller.handled) == 6
        assert await committed(cluster) == {}
        assert await values_of(cluster, "bills") == []

        await asyncio.sleep(20)
        await biller.wake()
        assert await committed(cluster) == dict.fromkeys(PARTITIONS, 2)
        assert len(await values_of(cluster, "bills")) == 6


@pytest.mark.parametrize("limit", [16, 4096])
@virtual_time
async def test_what_a_note_cannot_name_is_not_written_before_it_can(limit):
    async with reference_cluster(offset_metadata_max_bytes=limit) as cluster:
        await cluster.create_topic("orders", partitions=3)
        await cluster.create_topic("bills", partitions=1)
        await produce(cluster, "orders", COUNT, partitions=3)
        biller = Biller(cluster)
        biller.options = {"ordering": "none", "concurrency": COUNT}
        biller.stuck = {b"%d" % n for n in range(COUNT) if n // 3 % 2}
        biller.start()
        await eventually(lambda: len(biller.handled) == COUNT // 2)
        await asyncio.sleep(5)
        await biller.crash()
        some = len(await values_of(cluster, "bills"))
        second = Biller(cluster).start()

        assert await all_bills(cluster) == list(range(COUNT))
        assert len(second.handled) == COUNT - some
        assert (some == COUNT // 2) is (limit == 4096)
        assert some > 3
        await second.wake()


@virtual_time
async def test_what_is_done_is_committed_before_its_partition_goes_and_not_handled_again():
    async with cluster_with_orders() as cluster:
        first, second = Biller(cluster), Biller(cluster, "billing-2")
        first.duration = second.duration = lambda: 0.5
        first.options = second.options = {"concurrency": 3}
        first.start()
        await eventually(lambda: len(first.handled) == 12)
        second.start()

        assert await all_bills(cluster) == list(range(COUNT))

        assert len(first.handled) + len(second.handled) == COUNT
        assert second.handled
        await first.wake()
        await second.wake()


@virtual_time
async def test_closing_commits_what_is_done():
    async with cluster_with_orders() as cluster:
        biller = Biller(cluster)
        is_done = asyncio.Event()

        async def bill(order: Any) -> ProducerRecord:
            result = await Biller.bill(biller, order)
            if len(biller.handled) == COUNT:
                is_done.set()
            return result

        biller.bill = bill  # type: ignore[method-assign]
        biller.start()
        await is_done.wait()
        await asyncio.sleep(0.001)
        await biller.consumer.close()
        await biller.task

        assert sorted(map(int, await values_of(cluster, "bills"))) == list(range(COUNT))
        assert await committed(cluster) == dict.fromkeys(PARTITIONS, COUNT // 3)


@virtual_time
async def test_a_handler_that_fails_leaves_nothing_behind():
    async with cluster_with_orders() as cluster:
        biller = Biller(cluster)
        failures = iter([True, False] * COUNT)
        biller.failure = lambda: next(failures)
        biller.options["retry"] = RetryPolicy(attempts=COUNT, backoff=0.01)
        biller.start()

        assert await all_bills(cluster) == list(range(COUNT))

        await biller.wake()


@virtual_time
async def test_dead_letters_are_part_of_the_transaction():
    async with cluster_with_orders() as cluster:
        biller = Biller(cluster)
        biller.failure = lambda: True
        biller.options["dead_letter"] = "orders.dead"
        biller.start()
        while len(dead := await values_of(cluster, "orders.dead")) < COUNT:
            await asyncio.sleep(0.1)
        await biller.crash()

        assert sorted(map(int, dead)) == list(range(COUNT))
        assert await committed(cluster) == dict.fromkeys(PARTITIONS, COUNT // 3)


@virtual_time
async def test_an_aborted_transaction_is_written_again_without_another_call():
    async with cluster_with_orders() as cluster:
        for _ in range(3):
            cluster.faults.on("TxnOffsetCommit").once().apply_then_lose_response()
        cluster.faults.on("EndTxn").once().apply_then_lose_response()
        cluster.faults.on("Produce").once().drop_before_apply()
        biller = Biller(cluster).start()

        assert await all_bills(cluster) == list(range(COUNT))

        await biller.wake()
        assert len(biller.handled) == COUNT


@virtual_time
async def test_a_transaction_with_enough_results_does_not_wait_for_more():
    async with cluster_with_orders(6000) as cluster:
        biller = Biller(cluster)
        biller.duration = float
        biller.options = {"ordering": "none", "concurrency": 500}
        biller.start()
        await eventually(lambda: len(biller.handled) > 500)
        began = current_clock().now()
        await eventually(lambda: len(biller.handled) == 6000)

        assert current_clock().now() - began < 0.3  # 0.4 at least if each of them waited
        await biller.wake()


@virtual_time
async def test_a_fenced_producer_ends_the_call_and_its_successor_goes_on():
    async with cluster_with_orders() as cluster:
        first = Biller(cluster)
        first.duration = lambda: 0.3
        first.start()
        await eventually(lambda: len(first.handled) > 20)

        second = Biller(cluster).start()

        with pytest.raises(ProducerFencedError):
            await first.task
        assert await all_bills(cluster) == list(range(COUNT))
        await second.wake()


@virtual_time
async def test_dead_letters_are_the_bytes_that_were_read_whatever_the_serializers_are():
    async with cluster_with_orders(3) as cluster:
        biller = Biller(cluster)
        biller.producer = make_producer(cluster, value_serializer=lambda value: b"<%b>" % value)
        biller.failure = lambda: not biller.handled
        biller.options |= {"dead_letter": "orders.dead", "concurrency": 1}
        biller.start()
        await asyncio.sleep(10)
        await biller.wake()
        assert await values_of(cluster, "bills") == []
        assert sorted(await values_of(cluster, "orders.dead")) == [b"0", b"1", b"2"]


@virtual_time
async def test_a_result_that_brokers_refuse_goes_to_a_callable_once():
    async with cluster_with_orders(3) as cluster:
        biller = Biller(cluster)
        dead: list[bytes] = []

        async def bill(order: Any) -> ProducerRecord:
            value = b"x" * 2_000_000 if order.value == b"1" else order.value
            return ProducerRecord("bills", value)

        biller.bill = bill  # type: ignore[method-assign]
        biller.options["dead_letter"] = lambda record, error: dead.append(record.value)
        biller.start()
        await asyncio.sleep(10)
        await biller.wake()

        assert sorted(await values_of(cluster, "bills")) == [b"0", b"2"]
        assert dead == [b"1"]


@virtual_time
async def test_a_result_that_brokers_refuse_is_a_dead_letter():
    async with cluster_with_orders(3) as cluster:
        biller = Biller(cluster)
        big = b"x" * 2_000_000

        async def bill(order: Any) -> ProducerRecord:
            return ProducerRecord("bills", big if order.value == b"1" else order.value)

        biller.bill = bill  # type: ignore[method-assign]
        biller.options["dead_letter"] = "orders.dead"
        biller.start()
        await asyncio.sleep(10)
        await biller.wake()

        assert sorted(await values_of(cluster, "bills")) == [b"0", b"2"]
        assert await values_of(cluster, "orders.dead") == [b"1"]


@virtual_time
async def test_a_result_that_brokers_refuse_ends_the_call_without_dead_letters():
    async with cluster_with_orders(3) as cluster:
        biller = Biller(cluster)

        async def bill(order: Any) -> ProducerRecord:
            return ProducerRecord("bills", b"x" * 2_000_000)

        biller.bill = bill  # type: ignore[method-assign]
        began = current_clock().now()
        biller.start()

        with pytest.raises(RecordTooLargeError) as caught:
            await biller.task
        assert current_clock().now() - began < 5  # the other results are not waited for
        assert "while handling the record of orders-" in caught.value.__notes__[0]
        error: BaseException | None = caught.value
        for _ in range(10):
            error = error and (error.__cause__ or error.__context__)
        assert error is None  # the chain of errors ends
        assert await values_of(cluster, "bills") == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"enable_auto_commit": True}, "enable_auto_commit=False"),
        ({"isolation_level": "read_uncommitted"}, "isolation_level='read_committed'"),
    ],
)
@virtual_time
async def test_a_consumer_with_which_it_would_not_be_exactly_once_is_refused(options, message):
    async with reference_cluster() as cluster:
        settings = {
            "group_id": "g",
            "enable_auto_commit": False,
            "isolation_level": "read_committed",
        }
        consumer = make_consumer(cluster, **{**settings, **options})

        async with make_producer(cluster) as producer:
            with pytest.raises(StateError, match=message):
                await consumer.process(print, producer=producer)
        await consumer.close()


@virtual_time
async def test_a_handler_that_returns_anything_else_is_told():
    async with cluster_with_orders(1) as cluster:
        biller = Biller(cluster)

        async def bill(order: Any) -> bytes:
            return b"a bill"

        biller.bill = bill  # type: ignore[method-assign, assignment]
        biller.start()

        with pytest.raises(TypeError, match="returns a ProducerRecord, several of them, or None"):
            await biller.task


@virtual_time
async def test_without_a_transactional_id_a_record_is_finished_once_its_results_are_written():
    async with cluster_with_orders() as cluster:
        biller = Biller(cluster)
        biller.producer = AsyncProducer(cluster.bootstrap, **client_options(network_of(cluster)))
        biller.start()

        assert await all_bills(cluster) == list(range(COUNT))

        await biller.wake()
        assert await committed(cluster) == dict.fromkeys(PARTITIONS, COUNT // 3)
