"""Records that were handed out under an earlier assignment are never committed, in any way."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import attrs
import pytest

from pyk.clients import AsyncConsumer, ConsumerRecord, OffsetAndMetadata, RebalanceListener
from pyk.clients.errors import CommitFailedError
from pyk.runtime.virtual_time import current_clock, eventually, virtual_time
from support.consumer_groups import heartbeat_of, member_options, of_both_protocols
from support.consuming import (
    P0,
    cluster_with_orders,
    eventually_polled,
    make_consumer,
    produce,
    read,
    reference_cluster,
)

COMMITTED = 5


@attrs.define
class Stale:
    """A consumer whose partition went and came back while the application worked on a batch."""

    cluster: Any
    consumer: AsyncConsumer[Any, Any]
    batch: list[ConsumerRecord[Any, Any]]

    async def committed(self) -> int:
        found = (await self.consumer.committed([P0]))[P0]
        assert found is not None
        return found.offset


@asynccontextmanager
async def stale_batch(protocol: str = "classic", **options: Any) -> AsyncIterator[Stale]:
    """Poll ten records, commit five, and let the group forget the member and take it back."""
    async with cluster_with_orders(100) as cluster:
        options.setdefault("enable_auto_commit", False)
        consumer = make_consumer(
            cluster,
            group_id="g",
            topics=["orders"],
            **member_options(protocol),
            **options,
        )
        async with consumer:
            batch = await read_batch(consumer, 10)
            await consumer.commit({P0: COMMITTED})
            await lose_and_rejoin(cluster, consumer)
            yield Stale(cluster, consumer, batch)


async def read_batch(consumer: AsyncConsumer[Any, Any], count: int = 3) -> Any:
    """Return the next so many records, as one poll gives them."""
    for _ in range(30):
        if batch := await consumer.poll(1, max_records=count):
            return batch
    raise AssertionError("no records came")


async def lose_and_rejoin(cluster: Any, consumer: AsyncConsumer[Any, Any]) -> None:
    """Let the coordinator refuse one heartbeat, and wait until the partition is back."""
    assignment = consumer._core.partitions[P0].buffer.assignment
    with cluster.faults.on(heartbeat_of(consumer)).once().error("UNKNOWN_MEMBER_ID"):
        await eventually(lambda: assignment.is_lost)
    await eventually(lambda: consumer.assignment() == {P0})
    await asyncio.sleep(5)


ROADS: dict[str, Callable[[Any], Any]] = {
    "nothing": lambda batch: None,
    "a record": lambda batch: batch[-1],
    "a batch": lambda batch: batch,
    "a list": list,
    "a number": lambda batch: {P0: batch[-1].offset + 1},
    "offset and metadata": lambda batch: {P0: OffsetAndMetadata(batch[-1].offset + 1)},
}


@of_both_protocols
@pytest.mark.parametrize("road", ROADS)
@virtual_time
async def test_a_commit_by_hand_after_a_loss_and_a_rejoin_fails(road: str, protocol: str):
    async with stale_batch(protocol) as stale:
        for _ in range(2):
            with pytest.raises(CommitFailedError, match="orders-0"):
                await stale.consumer.commit(ROADS[road](stale.batch))

        assert await stale.committed() == COMMITTED


@of_both_protocols
@pytest.mark.parametrize("road", ROADS)
@virtual_time
async def test_a_commit_in_the_background_after_a_loss_and_a_rejoin_fails(road: str, protocol: str):
    async with stale_batch(protocol) as stale:
        errors: list[Exception | None] = []
        for _ in range(2):
            stale.consumer.commit_async(
                ROADS[road](stale.batch), lambda offsets, error: errors.append(error)
            )
        await asyncio.sleep(5)
        await stale.consumer.poll(0)

        assert [type(error) for error in errors] == [CommitFailedError] * 2
        assert await stale.committed() == COMMITTED


@of_both_protocols
@virtual_time
async def test_a_commit_in_the_background_that_a_loss_overtakes_fails(protocol: str):
    async with stale_batch(protocol) as stale:
        consumer = stale.consumer
        batch = await read_batch(consumer, 10)
        errors: list[Exception | None] = []
        with stale.cluster.faults.on("OffsetCommit").error("COORDINATOR_LOAD_IN_PROGRESS"):
            consumer.commit_async(batch, lambda offsets, error: errors.append(error))
            await lose_and_rejoin(stale.cluster, consumer)
        await asyncio.sleep(5)
        await consumer.poll(0)

        assert [type(error) for error in errors] == [CommitFailedError]
        assert await stale.committed() == COMMITTED


@of_both_protocols
@pytest.mark.parametrize("road", ["a record", "a batch", "a list"])
@virtual_time
async def test_records_of_before_a_loss_are_not_committed_after_the_application_heard(
    road: str, protocol: str
):
    async with stale_batch(protocol) as stale:
        assert [record.offset for record in await read_batch(stale.consumer)] == [5, 6, 7]

        with pytest.raises(CommitFailedError, match="orders-0"):
            await stale.consumer.commit(ROADS[road](stale.batch))

        assert await stale.committed() == COMMITTED


@of_both_protocols
@virtual_time
async def test_records_after_a_loss_are_committed_as_before(protocol: str):
    async with stale_batch(protocol) as stale:
        batch = await read_batch(stale.consumer)

        await stale.consumer.commit()
        assert await stale.committed() == 8
        await stale.consumer.commit(batch[0])
        assert await stale.committed() == 6
        await stale.consumer.commit({P0: 7})
        assert await stale.committed() == 7


@of_both_protocols
@virtual_time
async def test_no_warning_is_logged_if_no_record_is_lost(protocol: str):
    async with stale_batch(protocol) as stale:
        await read_batch(stale.consumer)
        await stale.consumer.commit()
        await lose_and_rejoin(stale.cluster, stale.consumer)

        await stale.consumer.commit()

        assert await stale.committed() == 8


@virtual_time
async def test_no_warning_is_logged_if_no_record_was_handed_out():
    async with cluster_with_orders(10) as cluster:
        options = {"session_timeout_ms": 6_000, "heartbeat_interval_ms": 1_000}
        async with make_consumer(cluster, group_id="g", topics=["orders"], **options) as consumer:
            await eventually(lambda: consumer.assignment() == {P0})
            await lose_and_rejoin(cluster, consumer)

            await consumer.commit()


@of_both_protocols
@virtual_time
async def test_a_record_in_the_loop_body_is_not_committed_after_a_loss(protocol: str):
    async with stale_batch(protocol) as stale:
        async for record in stale.consumer:
            if record.offset == 10:
                break
        await lose_and_rejoin(stale.cluster, stale.consumer)

        with pytest.raises(CommitFailedError):
            await stale.consumer.commit()
        with pytest.raises(CommitFailedError):
            await stale.consumer.commit(record)

        assert await stale.committed() == COMMITTED


@of_both_protocols
@virtual_time
async def test_auto_commit_and_closing_leave_a_lost_batch_alone(protocol: str):
    async with stale_batch(protocol, enable_auto_commit=True, auto_commit_interval_ms=100) as stale:
        assert await stale.committed() == COMMITTED
        await asyncio.sleep(1)
        assert await stale.committed() == COMMITTED
        cluster = stale.cluster

        await stale.consumer.close()
        async with make_consumer(cluster, group_id="g") as observer:
            found = (await observer.committed([P0]))[P0]
            assert found is not None
            assert found.offset == COMMITTED


@virtual_time
async def test_a_listener_cannot_commit_lost_partitions():
    class Commits(RebalanceListener):
        errors: list[Exception] = []  # noqa: RUF012

        async def on_partitions_lost(self, partitions: Any) -> None:
            for offsets in (None, {P0: 10}):
                try:
                    await consumer.commit(offsets)
                except CommitFailedError as error:
                    self.errors.append(error)

    async with cluster_with_orders(100) as cluster:
        consumer = make_consumer(
            cluster, group_id="g", enable_auto_commit=False, heartbeat_interval_ms=1_000,
            session_timeout_ms=6_000,
        )  # fmt: skip
        async with consumer:
            listener = Commits()
            consumer.subscribe(["orders"], listener=listener)
            await read(consumer, 10)
            await lose_and_rejoin(cluster, consumer)
            await eventually_polled(consumer, lambda: len(listener.errors) == 2)

            assert await consumer.committed([P0]) == {P0: None}


@virtual_time
async def test_a_commit_that_waits_fails_once_its_partition_is_lost():
    async with cluster_with_orders(100) as cluster:
        consumer = make_consumer(
            cluster, group_id="g", topics=["orders"], enable_auto_commit=False,
            heartbeat_interval_ms=1_000, session_timeout_ms=6_000,
        )  # fmt: skip
        async with consumer:
            batch = await read_batch(consumer)
            with cluster.faults.on("OffsetCommit").error("COORDINATOR_LOAD_IN_PROGRESS"):
                committing = asyncio.create_task(consumer.commit(batch))
                await asyncio.sleep(1)
                await lose_and_rejoin(cluster, consumer)

            with pytest.raises(CommitFailedError):
                await committing
            assert await consumer.committed([P0]) == {P0: None}


@virtual_time
async def test_a_partition_is_given_up_only_when_its_last_commit_is_stored():
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=2)
        await produce(cluster, "orders", 100, partitions=2)
        slow = make_consumer(cluster, group_id="g", topics=["orders"])
        async with slow:
            await read(slow, 100)
            with cluster.faults.on("OffsetCommit").once().delay(2_000):
                other = make_consumer(cluster, group_id="g", topics=["orders"])
                async with other:
                    seen: list[Any] = []
                    deadline = current_clock().now() + 20
                    while len(other.assignment()) != 1 and current_clock().now() < deadline:
                        await slow.poll(0.1)
                        seen += await other.poll(0.1)
                    for _ in range(10):
                        seen += await other.poll(0.3)

            assert seen == []  # it began where the first had finished


@virtual_time
async def test_auto_commit_goes_back_after_the_consumer_did():
    async with cluster_with_orders(500) as cluster:
        consumer = make_consumer(
            cluster, group_id="g", topics=["orders"], auto_commit_interval_ms=100
        )
        async with consumer:
            await read(consumer, 500)
            await consumer.poll(1)
            assert (await consumer.committed([P0]))[P0] == OffsetAndMetadata(500, "", 0)

            core = consumer._core
            core.positions.out_of_range(core.partitions[P0], current_clock().now())
            core._look()
            assert len(await read_batch(consumer, 300)) == 300  # from the beginning again
            await consumer.poll(1, max_records=100)
            await asyncio.sleep(1)

            assert (await consumer.committed([P0]))[P0] == OffsetAndMetadata(300, "", 0)
