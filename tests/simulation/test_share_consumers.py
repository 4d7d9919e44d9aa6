"""Share consumers hand out what they acquired, and say what became of it, in virtual time."""

from __future__ import annotations

import asyncio
import json
import pickle
from typing import Any

import pytest

from pyk.clients import AcknowledgeType, TopicPartition
from pyk.clients.errors import (
    ConcurrentUseError,
    DeserializationError,
    InvalidRecordStateError,
    StateError,
    WakeupError,
)
from pyk.protocol.records.cursor import FetchedRecords
from pyk.protocol.records.record import RecordOrigin
from pyk.runtime.virtual_time import eventually, virtual_time
from support.record_batches import sealed
from support.share_cluster import ACCEPT, GAP, REJECT
from support.share_consuming import share_cluster, share_consumer, values_of

P0 = TopicPartition("orders", 0)
EXPLICIT = {"share_acknowledgement_mode": "explicit"}


@virtual_time
async def test_the_next_poll_accepts_the_records_of_a_poll():
    async with share_cluster() as cluster, share_consumer(cluster) as consumer:
        cluster.produce(b"a", b"b")
        cluster.produce(b"c")

        assert await values_of(consumer, 3) == [b"a", b"b", b"c"]
        assert cluster.outcomes() == [None] * 3
        await consumer.poll(0.1)

        await eventually(lambda: cluster.outcomes() == [ACCEPT] * 3)
        await eventually(lambda: consumer.stats().acknowledged == 3)


@virtual_time
async def test_iteration_accepts_a_record_when_the_next_one_is_taken():
    async with share_cluster() as cluster, share_consumer(cluster) as consumer:
        cluster.produce(b"a", b"b", b"c")

        taken = [await anext(consumer), await anext(consumer)]
        await consumer.commit()

        assert [(record.value, record.delivery_count) for record in taken] == [(b"a", 1), (b"b", 1)]
        assert cluster.outcomes() == [ACCEPT, ACCEPT, None]


@virtual_time
async def test_another_task_than_the_one_that_polled_accepts_nothing():
    async with share_cluster() as cluster, share_consumer(cluster) as consumer:
        cluster.produce(b"a")
        await values_of(consumer, 1)

        with pytest.raises(
            ConcurrentUseError, match=r"polled last: call commit\(\) there\. Before"
        ):
            await asyncio.create_task(consumer.commit())

        assert cluster.outcomes() == [None]
        async with asyncio.timeout(10):
            await consumer.commit()
        assert cluster.outcomes() == [ACCEPT]


@virtual_time
async def test_leaving_the_block_accepts_and_closing_gives_back():
    async with share_cluster() as cluster:
        cluster.produce(b"a", b"b")
        async with share_consumer(cluster) as consumer:
            await values_of(consumer, 2)
        assert cluster.outcomes() == [ACCEPT] * 2

        cluster.produce(b"c")
        closed = share_consumer(cluster)
        assert await values_of(closed, 1) == [b"c"]
        await closed.close()

        assert cluster.outcomes() == [ACCEPT, ACCEPT, None]
        assert cluster.held() == []
        assert not cluster.members


@virtual_time
async def test_a_block_that_fails_gives_its_records_back():
    async with share_cluster() as cluster:
        cluster.produce(b"a")

        async def fail() -> None:
            async with share_consumer(cluster) as consumer:
                await values_of(consumer, 1)
                raise KeyError

        with pytest.raises(KeyError):
            await fail()
        async with share_consumer(cluster) as other:
            (record,) = await other.poll(5)

        assert record.delivery_count == 2


@virtual_time
async def test_each_record_is_acknowledged_by_a_call():
    async with share_cluster() as cluster, share_consumer(cluster, **EXPLICIT) as consumer:
        cluster.produce(b"a", b"b", b"c", b"d")
        a, b, c, d = await consumer.poll(5)

        consumer.acknowledge(a)
        consumer.acknowledge(b, AcknowledgeType.REJECT)
        consumer.acknowledge(c, AcknowledgeType.RELEASE)
        consumer.acknowledge_offset(P0, d.offset)
        committed = await consumer.commit()

        assert committed == {P0: (range(4),)}
        assert cluster.outcomes() == [ACCEPT, REJECT, None, ACCEPT]
        (again,) = await consumer.poll(5)
        assert (again.value, again.delivery_count) == (b"c", 2)
        consumer.acknowledge(again)


@virtual_time
async def test_a_poll_is_refused_while_a_record_is_not_acknowledged():
    async with share_cluster() as cluster, share_consumer(cluster, **EXPLICIT) as consumer:
        cluster.produce(b"a", b"b")
        a, b = await consumer.poll(5)
        consumer.acknowledge(a)

        with pytest.raises(StateError, match="1 record must be acknowledged before the next poll"):
            await consumer.poll(5)
        consumer.acknowledge(b, AcknowledgeType.REJECT)
        await consumer.poll(0.1)

        assert cluster.outcomes() == [ACCEPT, REJECT]


@virtual_time
async def test_iteration_waits_for_the_acknowledgement_of_each_record():
    async with share_cluster() as cluster, share_consumer(cluster, **EXPLICIT) as consumer:
        cluster.produce(b"a", b"b")
        first = await anext(consumer)

        with pytest.raises(StateError, match="must be acknowledged"):
            await anext(consumer)
        consumer.acknowledge(first)
        second = await anext(consumer)
        consumer.acknowledge(second, AcknowledgeType.REJECT)
        await consumer.commit()

        assert cluster.outcomes() == [ACCEPT, REJECT]


@virtual_time
async def test_a_record_can_be_acknowledged_once_and_only_by_the_consumer_that_has_it():
    async with share_cluster() as cluster, share_consumer(cluster, **EXPLICIT) as consumer:
        cluster.produce(b"a")
        (record,) = await consumer.poll(5)
        consumer.acknowledge(record, AcknowledgeType.RELEASE)
        consumer.acknowledge(record)
        await consumer.commit()

        with pytest.raises(StateError, match="was done already"):
            consumer.acknowledge(record)
        with pytest.raises(StateError, match="no record of orders-0 at offset 7"):
            consumer.acknowledge_offset(P0, 7)
        assert cluster.outcomes() == [ACCEPT]


@virtual_time
async def test_a_record_of_another_consumer_acknowledges_nothing():
    async with share_cluster() as cluster, share_consumer(cluster, **EXPLICIT) as consumer:
        cluster.produce(b"a")
        (record,) = await consumer.poll(5)
        other = RecordOrigin("orders", 0, 0, record.timestamp_type, object(), 0)
        span, _ = FetchedRecords("orders", 0, sealed(b"a"), 0).next_span(1).cut(other, 0, 0)
        (foreign,) = span

        with pytest.raises(StateError, match="does not come from a share consumer"):
            consumer.acknowledge(foreign)
        consumer.acknowledge(pickle.loads(pickle.dumps(record)), AcknowledgeType.REJECT)
        await consumer.commit()

        assert cluster.outcomes() == [AcknowledgeType.REJECT]


@virtual_time
async def test_implicit_acknowledgement_takes_no_calls():
    async with share_cluster() as cluster, share_consumer(cluster) as consumer:
        cluster.produce(b"a")
        (record,) = await consumer.poll(5)

        with pytest.raises(StateError, match="set it to 'explicit'"):
            consumer.acknowledge(record)


@virtual_time
async def test_a_renewed_record_is_returned_again_with_a_new_lock():
    async with (
        share_cluster(lock_seconds=10) as cluster,
        share_consumer(cluster, **EXPLICIT) as consumer,
    ):
        cluster.produce(b"a", b"b")
        a, b = await consumer.poll(5)
        for _ in range(3):
            consumer.acknowledge(a, AcknowledgeType.RENEW)
            if b is not None:
                consumer.acknowledge(b)
            (a,), b = await consumer.poll(5), None
            assert (a.value, a.delivery_count) == (b"a", 1)
            await asyncio.sleep(8)
        consumer.acknowledge(a)
        await consumer.commit()

        assert cluster.outcomes() == [ACCEPT, ACCEPT]


@virtual_time
async def test_offsets_without_records_are_acknowledged_as_gaps():
    async with share_cluster() as cluster, share_consumer(cluster, **EXPLICIT) as consumer:
        cluster.produce(b"a")
        cluster.produce(b"b", gap=3)
        a, b = await consumer.poll(5)
        consumer.acknowledge(a)
        consumer.acknowledge(b)
        await consumer.commit()

        assert cluster.outcomes() == [ACCEPT, GAP, GAP, GAP, ACCEPT]


@virtual_time
async def test_a_lock_that_is_over_is_a_typed_error_of_commit_and_counted():
    async with share_cluster(lock_seconds=5) as cluster, share_consumer(cluster) as consumer:
        cluster.produce(b"a")
        await values_of(consumer, 1)
        await asyncio.sleep(6)

        with pytest.raises(InvalidRecordStateError) as failure:
            await consumer.commit()

        assert failure.value.topic_partition == P0
        assert consumer.stats().failed_acknowledgements == 1
        assert "acknowledgements" in consumer.health().problems[0]
        (again,) = await consumer.poll(5)
        assert again.delivery_count == 2


@virtual_time
async def test_an_implicit_acknowledgement_that_fails_is_logged(caplog: Any):
    async with share_cluster(lock_seconds=5) as cluster, share_consumer(cluster) as consumer:
        cluster.produce(b"a")
        await values_of(consumer, 1)
        await asyncio.sleep(6)
        await consumer.poll(1)

        assert "Acknowledgements of 1 offsets of orders-0 failed" in caplog.text


@virtual_time
async def test_the_callback_hears_of_every_outcome_in_polls_and_in_close():
    told: list[Any] = []
    async with share_cluster(lock_seconds=5) as cluster:
        consumer = share_consumer(cluster)
        consumer.set_acknowledgement_commit_callback(lambda *told_of: told.append(told_of))
        async with consumer:
            cluster.produce(b"a", b"b")
            await values_of(consumer, 2)
            consumer.commit_async()
            await asyncio.sleep(0.1)
            assert not told
            cluster.produce(b"c")
            await values_of(consumer, 1)
            assert told == [({P0: (range(2),)}, None)]
            await asyncio.sleep(6)

    (offsets, error) = told[1]
    assert offsets == {P0: (range(2, 3),)}
    assert isinstance(error, InvalidRecordStateError)


@virtual_time
async def test_records_whose_lock_ended_in_the_buffer_are_not_handed_out(caplog: Any):
    async with share_cluster(lock_seconds=5) as cluster, share_consumer(cluster) as consumer:
        cluster.produce(*[b"v"] * 4)
        first = await consumer.poll(5, max_records=1)
        await asyncio.sleep(6)
        cluster.produce(b"w")
        rest = []
        while len(rest) < 5:
            rest += await consumer.poll(5)

        assert [record.delivery_count for record in first] == [1]
        assert sorted((one.offset, one.delivery_count) for one in rest) == [
            (0, 2),
            (1, 2),
            (2, 2),
            (3, 2),
            (4, 1),
        ]
        assert consumer.stats().expired == 3
        assert "The locks of 3 records of orders-0 were over before" in caplog.text


@virtual_time
async def test_a_refused_record_is_released_and_its_error_raised_once():
    async with (
        share_cluster() as cluster,
        share_consumer(cluster, value_deserializer=json.loads) as consumer,
    ):
        cluster.produce(b"1", b"{", b"3")

        assert await values_of(consumer, 1) == [1]
        with pytest.raises(DeserializationError, match="it was released") as refused:
            await consumer.poll(5)
        assert refused.value.offset == 1
        assert await values_of(consumer, 1) == [3]
        await consumer.commit()

        assert cluster.outcomes() == [ACCEPT, None, ACCEPT]


@virtual_time
async def test_a_refused_record_can_be_rejected():
    async with (
        share_cluster() as cluster,
        share_consumer(cluster, value_deserializer=json.loads, **EXPLICIT) as consumer,
    ):
        cluster.produce(b"{", b"2")

        with pytest.raises(DeserializationError) as refused:
            await consumer.poll(5)
        consumer.acknowledge(refused.value.record, AcknowledgeType.REJECT)
        (record,) = await consumer.poll(5)
        consumer.acknowledge(record)
        await consumer.commit()

        assert cluster.outcomes() == [REJECT, ACCEPT]


@virtual_time
async def test_iteration_goes_on_after_a_refused_record():
    async with (
        share_cluster() as cluster,
        share_consumer(cluster, value_deserializer=json.loads) as consumer,
    ):
        cluster.produce(b"1", b"{", b"3")

        assert (await anext(consumer)).value == 1
        with pytest.raises(DeserializationError):
            await anext(consumer)
        assert (await anext(consumer)).value == 3
        await consumer.commit()

        assert cluster.outcomes() == [ACCEPT, None, ACCEPT]


@virtual_time
async def test_a_poll_that_is_woken_up_loses_nothing():
    async with share_cluster() as cluster, share_consumer(cluster) as consumer:
        polling = asyncio.create_task(consumer.poll(60))
        await asyncio.sleep(1)
        consumer.wakeup()
        cluster.produce(b"a")

        with pytest.raises(WakeupError):
            await polling
        (record,) = await consumer.poll(5)
        assert (record.value, record.delivery_count) == (b"a", 1)
