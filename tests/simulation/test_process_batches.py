"""``process_batches()`` calls its handler with many records at once."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pyk.clients import (
    JsonDeserializer,
    OffsetAndMetadata,
    RetryPolicy,
    TopicPartition,
    current_attempt,
)
from pyk.clients.errors import DeserializationError
from pyk.clients.processing.gaps import encode_finished
from pyk.runtime.virtual_time import eventually, virtual_time
from support.consuming import P0, make_consumer, produce, reference_cluster
from support.processing import Processors


class Batches:
    """Handles batches, and remembers them."""

    def __init__(self, count: int) -> None:
        self.calls: list[list[int]] = []
        self.handled: list[int] = []
        self.poison: set[int] = set()
        self.dead: list[int] = []
        self.count = count

    async def handle(self, records: Any) -> None:
        offsets = [record.offset for record in records]
        self.calls.append(offsets)
        await asyncio.sleep(0.01)
        if self.poison & set(offsets):
            raise LookupError("no such customer")
        self.handled += offsets

    def put_aside(self, record: Any, error: Exception) -> None:
        self.dead.append(record.offset)

    @property
    def is_complete(self) -> bool:
        return len(self.handled) + len(self.dead) == self.count

    async def run(self, cluster: Any, **options: Any) -> Any:
        async with make_consumer(cluster, group_id="g", topics=["orders"]) as consumer:
            task = asyncio.create_task(consumer.process_batches(self.handle, **options))
            await eventually(
                lambda: len(self.handled) + len(self.dead) == self.count or task.done()
            )
            consumer.wakeup()
            await task
            committed = (await consumer.committed([P0]))[P0]
        assert committed is not None
        return committed.offset


@virtual_time
async def test_a_call_gets_what_is_there_in_order_up_to_a_limit():
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=1)
        await produce(cluster, "orders", 1000)
        batches = Batches(1000)

        assert await batches.run(cluster, max_records=100) == 1000

        assert batches.handled == list(range(1000))
        assert max(map(len, batches.calls)) == 100
        assert len(batches.calls) < 40


@virtual_time
async def test_batches_of_a_partition_run_side_by_side_without_an_order():
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=1)
        await produce(cluster, "orders", 1000)
        batches = Batches(1000)

        await batches.run(cluster, max_records=50, ordering="none")

        assert sorted(batches.handled) == list(range(1000))


@virtual_time
async def test_records_of_a_key_stay_in_order_over_batches():
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=1)
        await produce(cluster, "orders", 600, key=lambda n: b"%d" % (n * n % 7))
        batches = Batches(600)
        batches.poison = {100, 101, 350}

        await batches.run(
            cluster,
            max_records=30,
            ordering="key",
            retry=RetryPolicy(attempts=2, backoff=0.5),
            dead_letter=batches.put_aside,
        )

        assert sorted(batches.dead) == [100, 101, 350]
        for key in range(7):
            handled = [offset for offset in batches.handled if offset * offset % 7 == key]
            assert handled == sorted(handled)


@virtual_time
async def test_a_batch_of_several_keys_has_no_record_between_them_that_was_finished_before():
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=1)
        await produce(cluster, "orders", 4, key=lambda n: b"abca"[n : n + 1])
        async with make_consumer(cluster, group_id="g", enable_auto_commit=False) as consumer:
            consumer.assign([P0])
            await consumer.commit({P0: OffsetAndMetadata(0, encode_finished(0, [1]))})
        batches = Batches(3)

        assert await batches.run(cluster, ordering="key") == 4

        assert batches.handled == [0, 3, 2]


@virtual_time
async def test_only_the_records_of_a_batch_that_fail_are_put_aside():
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=1)
        await produce(cluster, "orders", 100)
        batches = Batches(100)
        batches.poison = {0, 42, 99}

        retry = RetryPolicy(attempts=3, backoff=0.1)
        end = await batches.run(cluster, retry=retry, dead_letter=batches.put_aside)

        assert end == 100
        assert batches.dead == [0, 42, 99]
        assert batches.handled == [n for n in range(100) if n not in batches.poison]


@virtual_time
async def test_the_last_failure_names_the_record_and_keeps_those_before_it():
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=1)
        await produce(cluster, "orders", 100)
        batches = Batches(100)
        batches.poison = {42}

        with pytest.raises(LookupError) as caught:
            await batches.run(cluster, retry=RetryPolicy(attempts=2, backoff=0.1))

        note = "while handling the record of orders-0 at offset 42, attempt 2"
        assert caught.value.__notes__ == [note]
        assert batches.handled == list(range(42))
        assert await Processors(cluster).committed() == {P0: 42}


@virtual_time
async def test_without_a_policy_the_error_names_the_batch():
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=1)
        await produce(cluster, "orders", 100)
        batches = Batches(100)
        batches.poison = {42}

        with pytest.raises(LookupError) as caught:
            await batches.run(cluster, max_records=10)

        note = "while handling the records of orders-0 from offset 40 to 49, attempt 1"
        assert caught.value.__notes__ == [note]


@virtual_time
async def test_a_record_that_cannot_be_deserialized_is_put_aside_alone():
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=1)
        await produce(cluster, "orders", 20)
        batches = Batches(20)
        errors: list[Exception] = []

        def deserialize(data: bytes) -> Any:
            return JsonDeserializer().deserialize("orders", b"{" if data == b"7" else data)

        async def handle(records: Any) -> None:
            assert current_attempt().number == 1
            batches.handled += [record.value for record in records]

        def put_aside(record: Any, error: Exception) -> None:
            batches.dead.append(int(record.value))
            errors.append(error)

        async with make_consumer(
            cluster, group_id="g", topics=["orders"], value_deserializer=deserialize
        ) as consumer:
            task = asyncio.create_task(consumer.process_batches(handle, dead_letter=put_aside))
            await eventually(lambda: len(batches.handled) == 19)
            consumer.wakeup()
            await task

        assert batches.dead == [7]
        assert isinstance(errors[0], DeserializationError)


@virtual_time
async def test_a_batch_is_also_an_arrow_table_without_what_was_finished_before():
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=1)
        await produce(cluster, "orders", 20)
        members = Processors(cluster, auto_commit_interval_ms=100)
        member = members.member(seconds=0.01, ordering="none", stuck={(0, 5), (0, 9)})
        await eventually(lambda: len(member.handled) == 18)
        await asyncio.sleep(1)
        await member.crash()
        tables: list[Any] = []

        async with make_consumer(cluster, group_id="g", topics=["orders"]) as consumer:

            async def handle(records: Any) -> None:
                assert records.partitions() == (TopicPartition("orders", 0),)
                tables.append(records.to_arrow(["offset", "value"]))
                consumer.wakeup()

            await consumer.process_batches(handle, ordering="none")

        assert [table.to_pydict() for table in tables] == [
            {"offset": [5, 9], "value": [b"5", b"9"]}
        ]
