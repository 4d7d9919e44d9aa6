"""Records come soon and in their order, and fetching stays within its bounds."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest

from pyk.clients.consumer import PartitionState
from pyk.clients.consumer.fetching import fetcher, node_fetcher
from pyk.clients.consumer.fetching.fetch_plan import NodePlan, plan
from pyk.protocol.api_keys import ApiKey
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.fetch import FetchRequest, FetchResponse
from pyk.protocol.versions import VersionRange
from pyk.runtime.network import MemoryNetwork
from pyk.runtime.virtual_time import current_clock, virtual_time
from support.consuming import P0, fetching, make_consumer, read
from support.fetching_cluster import FetchingCluster
from support.legacy_batches import compressed, legacy
from support.scripted_broker import Received


@virtual_time
async def test_records_of_all_partitions_come_in_their_order():
    async with fetching(leaders=(1, 1, 1)) as (cluster, consumer):
        for number in range(3):
            cluster.append([b"%d" % n for n in range(10)], partition=number)

        values = await read(consumer, 30)

        assert sorted(values) == sorted([b"%d" % n for n in range(10)] * 3)


@virtual_time
async def test_the_first_records_of_all_partitions_come_after_a_few_round_trips():
    async with fetching(leaders=(1,) * 50) as (cluster, consumer):
        for number in range(50):
            cluster.append([b"a"], partition=number)
        began = current_clock().now()

        await read(consumer, 50)

        assert current_clock().now() - began < 0.03  # one round trip takes 2 ms


@virtual_time
async def test_a_caught_up_consumer_sends_empty_incremental_fetches():
    async with fetching(leaders=(1, 1)) as (cluster, consumer):
        cluster.append([b"a"])
        await read(consumer, 1)
        await consumer.poll(5)

        last = cluster.requests(FetchRequest)[-1].message
        assert last.session_id == 1
        assert last.topics == []


@virtual_time
async def test_a_fetch_waits_at_the_broker_while_the_application_works_on_the_one_before():
    async with fetching() as (cluster, consumer):
        await consumer.poll(1)

        for value in (b"a", b"b"):
            cluster.append([value])
            await asyncio.sleep(0.1)  # the application works and does not come back
        began = current_clock().now()

        assert await read(consumer, 2) == [b"a", b"b"]
        assert current_clock().now() == began


@pytest.mark.parametrize("move", ["seek", "pause"])
@virtual_time
async def test_records_of_a_fetch_that_waits_after_unread_ones_are_not_handed_out_twice(move):
    async with fetching() as (cluster, consumer):
        await consumer.poll(1)
        cluster.append([b"a", b"b"])
        await asyncio.sleep(0.1)  # they are here, and the next fetch waits at the broker

        if move == "seek":
            consumer.seek(P0, 1)
        else:
            consumer.pause(P0)
            assert not await consumer.poll(1)
            consumer.seek(P0, 1)
            consumer.resume(P0)
        cluster.append([b"c"])

        assert await read(consumer, 2) == [b"b", b"c"]
        assert not await consumer.poll(1)


@virtual_time
async def test_fetched_bytes_stay_bounded_while_the_application_is_slow():
    value = b"x" * 1000
    async with fetching(
        leaders=(1, 2, 3) * 8, max_partition_fetch_bytes=10_000, buffer_memory=90_000
    ) as (cluster, consumer):
        for number in range(24):
            for _ in range(20):
                cluster.append([value] * 8, partition=number)

        held = []
        for _ in range(100):
            await consumer.poll(1, max_records=1)
            await asyncio.sleep(0.1)
            held.append(consumer.stats().buffered_bytes)

        assert max(held) <= 90_000
        assert min(held) > 0


@pytest.mark.parametrize("pause", [0.001, 0.1])
@virtual_time
async def test_no_leader_starves_the_partitions_of_another(pause):
    async with fetching(
        leaders=(1, 1, 2, 3), buffer_memory=300_000, max_partition_fetch_bytes=50_000
    ) as (cluster, consumer):
        value = b"x" * 1000
        for number in range(4):
            for _ in range(200):
                cluster.append([value] * 10, partition=number)

        read_from = Counter[int]()
        for _ in range(100):
            records = await consumer.poll(1, max_records=20)
            read_from.update(record.partition for record in records)
            await asyncio.sleep(pause)

        assert set(read_from) == {0, 1, 2, 3}
        assert min(read_from.values()) > max(read_from.values()) / 2


@virtual_time
async def test_each_request_may_bring_fetch_max_bytes():
    async with fetching(fetch_max_bytes=123_456) as (cluster, consumer):
        await consumer.poll(1)

        asked = {(r.node_id, r.message.max_bytes) for r in cluster.requests(FetchRequest)}
        assert asked == {(1, 123_456), (2, 123_456), (3, 123_456)}


@virtual_time
async def test_a_partition_that_no_request_names_is_not_healthy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def without_node_2(*arguments: Any) -> dict[int, NodePlan]:
        return {node: what for node, what in plan(*arguments).items() if node != 2}

    async with fetching() as (_, consumer):
        await consumer.poll(1)
        for module in (fetcher, node_fetcher):
            monkeypatch.setattr(module, "plan", without_node_2)
        await consumer.poll(13)

        assert consumer.health().partitions["orders", 1].state is PartitionState.STALLED
    monkeypatch.undo()


@virtual_time
async def test_while_a_partition_is_full_others_are_fetched_without_haste():
    async with fetching(leaders=(1, 1), max_poll_records=1) as (cluster, consumer):
        cluster.append([b"%d" % n for n in range(50)], partition=0)
        await consumer.poll(1)
        before = len(cluster.requests(FetchRequest))

        await asyncio.sleep(60)

        assert len(cluster.requests(FetchRequest)) - before < 200


@virtual_time
async def test_a_broker_that_never_waits_is_not_hammered():
    async with fetching() as (cluster, consumer):
        cluster.waits = False
        await consumer.poll(60)

        assert len(cluster.requests(FetchRequest)) < 200 * len(cluster.nodes)


@virtual_time
async def test_an_application_that_reads_in_small_pieces_never_waits_for_room():
    limits = {"buffer_memory": 100_000, "max_partition_fetch_bytes": 50_000}
    async with fetching(leaders=(1, 1, 1), max_poll_records=10, **limits) as (cluster, consumer):
        for partition in range(3):
            for _ in range(20):
                cluster.append([b"x" * 1000] * 20, partition=partition)
        began = current_clock().now()

        await read(consumer, 1200)

        assert current_clock().now() - began < 0.5


@virtual_time
async def test_a_broker_that_names_topics_is_read_like_one_that_knows_their_ids():
    cluster = FetchingCluster(MemoryNetwork(latency=0.001))
    cluster.versions[ApiKey.FETCH] = VersionRange(4, 12)
    async with cluster, make_consumer(cluster, topics=["orders", "bills"]) as consumer:
        for topic in ("orders", "bills"):
            cluster.add_topic(topic, [1])
            cluster.append([topic.encode()], topic)

        assert sorted(await read(consumer, 2)) == [b"bills", b"orders"]


@virtual_time
async def test_records_come_at_once_however_long_there_were_none():
    async with fetching() as (cluster, consumer):
        for number in range(8):
            assert await consumer.poll(10 + number * 0.13) == ()

            cluster.append([b"%d" % number])
            appended_at = current_clock().now()

            assert await read(consumer, 1) == [b"%d" % number]
            assert current_clock().now() - appended_at < 0.1


@virtual_time
async def test_a_broker_that_refuses_every_fetch_is_not_hammered():
    async with fetching(request_timeout_ms=600_000) as (cluster, consumer):
        refusal = FetchResponse(error_code=ErrorCode.INVALID_FETCH_SESSION_EPOCH)
        cluster.on(FetchRequest, refusal)

        await consumer.poll(60)

        assert len(cluster.requests(FetchRequest)) < 100 * len(cluster.nodes)


@virtual_time
async def test_cancelled_polls_lose_nothing():
    async with fetching() as (cluster, consumer):
        values: list[bytes] = []
        for number in range(50):
            waiting = asyncio.ensure_future(consumer.poll(10))
            await asyncio.sleep(0.0007 * number)
            waiting.cancel()
            try:
                values += [record.value for record in await waiting]
            except asyncio.CancelledError:
                cluster.append([b"%d" % number])

        values += await read(consumer, cluster.end() - len(values))

        assert values == [b"%d" % int(v) for v in values]
        assert len(values) == cluster.end()


class Interrupt(BaseException):
    """What the handler of a signal raises."""


@virtual_time
async def test_an_interrupted_poll_goes_on_at_once_however_much_there_is_behind_it():
    interrupts = [Interrupt()]

    def deserialize(value: bytes | None) -> bytes | None:
        if value == b"5" and interrupts:
            raise interrupts.pop()
        return value

    async with fetching(max_partition_fetch_bytes=400, value_deserializer=deserialize) as (
        cluster,
        consumer,
    ):
        for number in range(500):
            cluster.append([b"%d" % number])
        values: list[Any] = []
        with pytest.raises(Interrupt):
            await read_all(consumer, values, 500)
        began = current_clock().now()

        await read_all(consumer, values, 10)

        assert values[:10] == [b"%d" % number for number in range(10)]
        assert current_clock().now() - began < 0.02  # one round trip takes 2 ms


@pytest.mark.parametrize("answer_is", ["records", "an error"])
@virtual_time
async def test_a_late_response_of_the_former_leader_does_not_delay_records_of_the_new_one(
    answer_is,
):
    async with fetching(max_partition_fetch_bytes=400) as (cluster, consumer):
        await consumer.poll(1)
        waits = cluster._fetch_or_wait

        def answer(request: FetchRequest) -> Any:
            return late(waits(request)) if cluster.received[-1].node_id == 1 else waits(request)

        cluster.on(FetchRequest, answer)
        cluster.append([b"0"])
        await read(consumer, 1)
        for number in range(1, 500):
            cluster.append([b"%d" % number])
        if answer_is == "records":
            await asyncio.sleep(0.002)  # they are on their way
        cluster.topics["orders"].leaders[0] = 2
        consumer._core.client.metadata_keeper.request_update()
        began = current_clock().now()

        values: list[Any] = []
        await read_all(consumer, values, 200)

        assert values == [b"%d" % number for number in range(1, 201)]
        assert current_clock().now() - began < 0.3


async def late(answer: Any) -> FetchResponse:
    response: FetchResponse = await answer
    await asyncio.sleep(0.05)
    return response


async def read_all(consumer: Any, values: list[Any], count: int) -> None:
    """Add values, one by one, until there are so many."""
    while len(values) < count:
        values += [record.value for record in await consumer.poll(1, max_records=1)]
        await asyncio.sleep(0.0005)  # the application works


@virtual_time
async def test_an_old_topic_is_read_through_all_formats_it_was_written_in():
    async with fetching(leaders=(1,)) as (cluster, consumer):
        cluster.append_bytes(legacy(b"0", magic=0, timestamp=-1), 0, 1)
        inner = [legacy(b"%d" % n, magic=0, offset=n) for n in (1, 2)]
        cluster.append_bytes(compressed(*inner, magic=0, offset=2), 1, 3)
        cluster.append_bytes(legacy(b"3", offset=3), 3, 4)
        inner = [legacy(b"%d" % (4 + n), offset=n) for n in range(2)]
        cluster.append_bytes(compressed(*inner, offset=5), 4, 6)
        cluster.append([b"6"])

        values = await read(consumer, 7)

        assert values == [b"%d" % n for n in range(7)]


@virtual_time
async def test_waiting_for_an_open_transaction_is_healthy():
    async with fetching(isolation_level="read_committed") as (cluster, consumer):
        cluster.append([b"committed"])
        cluster.stable_ends[P0] = 1
        cluster.append([b"open"])
        assert await read(consumer, 1) == [b"committed"]
        await consumer.poll(1)
        opened = len(sessions_opened(cluster))

        assert await consumer.poll(60) == []

        assert await consumer.lag() == dict.fromkeys(consumer.assignment(), 0)
        assert consumer.health().is_healthy
        assert consumer.health().partitions[P0].state is PartitionState.HELD_BACK
        assert consumer.health().partitions[P0].held_back == 1
        assert consumer.health().partitions["orders", 1].state is PartitionState.CAUGHT_UP
        assert len(sessions_opened(cluster)) == opened
        del cluster.stable_ends[P0]
        cluster.append([b"later"])
        assert await read(consumer, 2) == [b"open", b"later"]
        assert consumer.health().partitions[P0].held_back == 0


def sessions_opened(cluster: FetchingCluster) -> list[Received]:
    return [r for r in cluster.requests(FetchRequest) if r.message.session_epoch == 0]
