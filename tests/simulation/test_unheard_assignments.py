"""What a consumer does about assignments that the application has not heard of yet."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from pyk.clients import AsyncProducer, RebalanceListener
from pyk.clients.errors import TransactionAbortableError
from pyk.runtime.virtual_time import eventually, virtual_time
from simulation.test_commit_ownership import lose_and_rejoin, read_batch
from support.consumer_groups import member_options, of_both_protocols
from support.consuming import P0, cluster_with_orders, make_consumer, network_of
from support.environments import client_options

SEEKS: dict[str, Callable[[Any], Any]] = {
    "to an offset": lambda consumer: consumer.seek(P0, 3),
    "to the beginning": lambda consumer: consumer.seek_to_beginning(P0),
    "to the end": lambda consumer: consumer.seek_to_end(P0),
}


@asynccontextmanager
async def reading(
    protocol: str, listener: RebalanceListener | None
) -> AsyncIterator[tuple[Any, Any]]:
    async with cluster_with_orders(100) as cluster:
        consumer = make_consumer(
            cluster, group_id="g", enable_auto_commit=False, **member_options(protocol)
        )
        async with consumer:
            consumer.subscribe(["orders"], listener=listener)
            yield cluster, consumer


@of_both_protocols
@pytest.mark.parametrize("listener", [None, RebalanceListener()], ids=["alone", "listener"])
@pytest.mark.parametrize("seek", SEEKS)
@virtual_time
async def test_a_seek_does_not_move_an_assignment_that_nobody_has_heard_of(
    seek, listener, caplog, protocol
):
    async with reading(protocol, listener) as (cluster, consumer):
        await read_batch(consumer, 10)
        await consumer.commit({P0: 50})  # as the member that has the partition meanwhile
        await lose_and_rejoin(cluster, consumer)

        SEEKS[seek](consumer)

        assert "A seek of orders-0 was ignored" in caplog.text
        assert (await read_batch(consumer, 1))[0].offset == 50


@of_both_protocols
@virtual_time
async def test_a_seek_after_the_application_has_heard_of_the_assignment_counts(protocol):
    async with reading(protocol, None) as (cluster, consumer):
        await read_batch(consumer, 10)
        await lose_and_rejoin(cluster, consumer)
        await read_batch(consumer, 1)

        consumer.seek(P0, 3)

        assert (await read_batch(consumer, 1))[0].offset == 3


@of_both_protocols
@virtual_time
async def test_a_seek_in_the_listener_of_the_new_assignment_counts(protocol):
    class SeekingListener(RebalanceListener):
        def on_partitions_assigned(self, partitions: Any) -> None:
            consumer.seek(P0, 7)

    async with reading(protocol, SeekingListener()) as (cluster, consumer):
        await read_batch(consumer, 10)
        await lose_and_rejoin(cluster, consumer)

        assert (await read_batch(consumer, 1))[0].offset == 7


@of_both_protocols
@virtual_time
async def test_the_first_assignment_can_be_moved_before_anybody_has_heard_of_it(protocol):
    async with reading(protocol, None) as (_, consumer):
        await consumer.poll(0)
        await eventually(lambda: consumer.assignment() == {P0})

        consumer.seek(P0, 7)

        assert (await read_batch(consumer, 1))[0].offset == 7


@virtual_time
async def test_offsets_in_a_transaction_are_fenced_until_the_application_has_heard_of_its_loss():
    async with reading("classic", None) as (cluster, consumer), writing(cluster) as producer:
        await read_batch(consumer, 10)
        before = consumer.group_metadata()
        with cluster.faults.on("Heartbeat").once().error("UNKNOWN_MEMBER_ID"):
            await eventually(lambda: consumer.assignment() == set())
        assert consumer.group_metadata() == before
        await eventually(lambda: consumer.assignment() == {P0})
        await asyncio.sleep(5)

        await producer.begin_transaction()
        with pytest.raises(TransactionAbortableError, match="UNKNOWN_MEMBER_ID"):
            await producer.send_offsets_to_transaction({P0: 10}, consumer.group_metadata())
        await producer.abort_transaction()

        await read_batch(consumer, 10)
        await producer.begin_transaction()
        await producer.send_offsets_to_transaction({P0: 10}, consumer.group_metadata())
        await producer.commit_transaction()
        assert consumer.group_metadata().member_id != before.member_id


@asynccontextmanager
async def writing(cluster: Any) -> AsyncIterator[AsyncProducer[bytes, bytes]]:
    producer: AsyncProducer[bytes, bytes] = AsyncProducer(
        cluster.bootstrap, transactional_id="t", **client_options(network_of(cluster))
    )
    async with producer:
        yield producer
