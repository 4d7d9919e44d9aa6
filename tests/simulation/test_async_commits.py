"""``commit_async`` stores offsets in the order of its calls, and tells of them in that order."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from pyk.clients import AsyncConsumer, OffsetAndMetadata, TopicPartition
from pyk.clients.consumer.commits.offsets_argument import OffsetsToCommit
from pyk.clients.errors import CommitFailedError, KafkaTimeoutError, StateError
from pyk.runtime.virtual_time import current_clock, virtual_time
from support.consumer_groups import Recorder
from support.consuming import P0, cluster_with_orders, make_consumer, read


@asynccontextmanager
async def member(**options: Any) -> AsyncIterator[tuple[Any, AsyncConsumer[Any, Any]]]:
    """Run a cluster with 10 records and a member that has read them all, with one in each poll."""
    options = {"enable_auto_commit": False, "max_poll_records": 1, **options}
    async with (
        cluster_with_orders(10) as cluster,
        make_consumer(cluster, topics=["orders"], group_id="kitchen", **options) as consumer,
    ):
        await read(consumer, 1)
        yield cluster, consumer


class Outcomes(list[tuple[int, Exception | None]]):
    """A callback that records the committed offset and the error of each commit."""

    def __call__(self, offsets: Any, error: Exception | None) -> None:
        self.append((offsets[P0].offset, error))


@virtual_time
async def test_outcomes_are_told_by_polls_in_the_order_of_the_calls():
    async with member() as (cluster, consumer):
        told = Outcomes()
        with cluster.faults.on("OffsetCommit").once().error("COORDINATOR_LOAD_IN_PROGRESS"):
            for _ in range(3):
                consumer.commit_async(callback=told)
                await consumer.poll(1)
            await asyncio.sleep(5)
            before_the_poll = list(told)
            await consumer.poll(0)

        assert before_the_poll == []
        assert told == [(1, None), (2, None), (3, None)]
        committed = (await consumer.committed([P0]))[P0]
        assert committed is not None
        assert committed.offset == 3


@virtual_time
async def test_a_poll_without_records_tells_as_soon_as_the_outcome_is_known():
    async with member() as (_, consumer):
        await read(consumer, 9)
        told = Outcomes()

        await consumer.commit_async({P0: 7}, told)
        began = current_clock().now()
        await consumer.poll(0.5)

        assert told == [(7, None)]
        assert current_clock().now() - began <= 0.5


@virtual_time
async def test_commit_tells_of_the_commits_before_it():
    async with member() as (_, consumer):
        told = Outcomes()

        consumer.commit_async({P0: 1}, told)
        await consumer.commit({P0: 2})

        assert told == [(1, None)]
        committed = (await consumer.committed([P0]))[P0]
        assert committed is not None
        assert committed.offset == 2


@virtual_time
async def test_close_waits_for_commits_and_tells_of_them():
    async with member() as (_, consumer):
        told = Outcomes()
        consumer.commit_async({P0: 4}, told)

        await consumer.close()

        assert told == [(4, None)]


@virtual_time
async def test_close_tells_that_an_outcome_is_unknown_and_returns_in_time():
    async with member() as (cluster, consumer):
        told = Outcomes()
        with cluster.faults.on("OffsetCommit").delay(60_000):
            consumer.commit_async({P0: 4}, told)
            began = current_clock().now()
            await consumer.close(timeout=3)

        ((offset, error),) = told
        assert offset == 4
        assert isinstance(error, KafkaTimeoutError)
        assert not error.definite
        assert current_clock().now() - began <= 3


@virtual_time
async def test_records_of_a_lost_assignment_are_not_committed():
    async with member() as (cluster, consumer):
        record = (await consumer.poll(1))[0]
        told: list[Any] = []
        await consumer.unsubscribe()
        async with make_consumer(
            cluster, topics=["orders"], group_id="kitchen", enable_auto_commit=False
        ) as other:
            await read(other, 10)
            await other.commit()

            consumer.commit_async(record, lambda offsets, error: told.append(error))
            consumer.subscribe(["orders"])
            await consumer.poll(1)

            assert [type(error) for error in told] == [CommitFailedError]
            committed = (await other.committed([P0]))[P0]
            assert committed is not None
            assert committed.offset == 10


@virtual_time
async def test_a_callback_that_raises_leaves_the_others_for_the_next_poll():
    async with member() as (_, consumer):
        told = Outcomes()

        def refuse(offsets: object, error: object) -> None:
            raise RuntimeError("refused")

        consumer.commit_async({P0: 1}, refuse)
        consumer.commit_async({P0: 2}, told)
        await asyncio.sleep(1)
        with pytest.raises(RuntimeError, match="refused"):
            await consumer.poll(1)
        await consumer.poll(1)

        assert told == [(2, None)]


@virtual_time
async def test_a_callback_that_raises_keeps_a_close_from_nothing():
    async with member() as (_, consumer):
        await read(consumer, 1)
        told = Outcomes()

        def refuse(offsets: object, error: object) -> None:
            raise RuntimeError("refused")

        consumer.commit_async({P0: 1}, refuse)
        consumer.commit_async({P0: 2}, told)
        consumer.commit_async({P0: 3}, refuse)
        consumer.commit_async({P0: 4}, told)
        listener = Recorder()
        consumer.subscribe(["orders"], listener=listener)
        with pytest.raises(RuntimeError, match="refused"):
            await consumer.close()

        assert told == [(2, None), (4, None)]
        assert listener.events == [("revoked", 1)]


@virtual_time
async def test_a_callback_that_commits_again_keeps_no_close_from_its_end():
    async with member() as (cluster, consumer):
        told = Outcomes()

        def commit_again(offsets: Any, error: Exception | None) -> None:
            told(offsets, error)
            consumer.commit_async(offsets, commit_again)

        with cluster.faults.on("OffsetCommit").delay(60_000):
            consumer.commit_async({P0: 1}, commit_again)
            began = current_clock().now()
            await consumer.close(timeout=3)

        assert len(told) == 1
        assert current_clock().now() - began <= 3


@virtual_time
async def test_a_commit_that_dies_of_a_bug_holds_back_no_other_outcome():
    async with member() as (_, consumer):
        told = Outcomes()

        async def die() -> None:
            raise MemoryError("no room")

        consumer._core.commit_calls.background.begin(
            OffsetsToCommit({P0: OffsetAndMetadata(1)}), told, die
        )
        consumer.commit_async({P0: 2}, told)
        await asyncio.sleep(1)
        with pytest.raises(StateError, match="bug in pyk"):
            await consumer.poll(1)
        await consumer.close()
        ((first, error), second) = told

        assert (first, second) == (1, (2, None))
        assert isinstance(error, StateError)
        assert "MemoryError('no room')" in str(error)
        assert not error.definite


@virtual_time
async def test_a_coroutine_function_is_awaited():
    async with member() as (_, consumer):
        told = []

        async def tell(offsets: object, error: object) -> None:
            await asyncio.sleep(0.1)
            told.append(error)

        consumer.commit_async(callback=tell)
        await asyncio.sleep(1)
        await consumer.poll(1)

        assert told == [None]


@virtual_time
async def test_a_failure_without_a_callback_is_logged(caplog):
    async with member() as (cluster, consumer):
        with cluster.faults.on("OffsetCommit").error("GROUP_AUTHORIZATION_FAILED"):
            consumer.commit_async()
            await asyncio.sleep(1)
            await consumer.poll(1)

        assert [m for m in caplog.messages if m.startswith("commit_async failed")]


@virtual_time
async def test_it_needs_a_group_and_an_open_consumer():
    async with cluster_with_orders(1) as cluster:
        consumer = make_consumer(cluster)
        with pytest.raises(StateError, match="group_id"):
            consumer.commit_async({TopicPartition("orders", 0): 1})
        await consumer.close()
