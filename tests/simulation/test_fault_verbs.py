"""Faults that change order and number of requests, pauses, and older releases, seen by clients."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from pyk.clients import AsyncAdmin, AsyncConsumer, AsyncProducer
from pyk.reference_broker import AsyncCluster
from pyk.reference_broker.faults import FaultRule
from pyk.runtime.simulation import World
from pyk.runtime.virtual_time import virtual_time


def new_cluster(world: World, **options: Any) -> AsyncCluster:
    return AsyncCluster(**world.host("broker").environment, **options)


def new_producer(world: World, cluster: AsyncCluster, **options: Any) -> AsyncProducer:
    return AsyncProducer(cluster.bootstrap, **world.host("shop").client_options, **options)


async def values(cluster: AsyncCluster) -> list[bytes]:
    return [record.value for record in await cluster.records("orders")]


@virtual_time
async def test_a_duplicate_of_an_idempotent_producer_is_stored_once() -> None:
    world = World()
    async with new_cluster(world) as cluster, new_producer(world, cluster) as producer:
        rule = cluster.faults.on("Produce").duplicate()

        await producer.send_and_wait("orders", b"first")
        await producer.send_and_wait("orders", b"second")

        assert rule.hits == 2
        assert await values(cluster) == [b"first", b"second"]


@virtual_time
async def test_a_duplicate_of_another_producer_is_stored_twice() -> None:
    world = World()
    plain = {"enable_idempotence": False}
    async with new_cluster(world) as cluster, new_producer(world, cluster, **plain) as producer:
        cluster.faults.on("Produce").once().duplicate()

        sent = await producer.send_and_wait("orders", b"first")

        assert sent.offset == 0
        assert await values(cluster) == [b"first", b"first"]


@virtual_time
async def test_a_reordered_request_is_carried_out_after_the_next() -> None:
    world = World()
    async with (
        new_cluster(world) as cluster,
        new_producer(world, cluster) as early,
        new_producer(world, cluster) as late,
    ):
        await cluster.create_topic("orders")
        cluster.faults.on("Produce", topic="orders").once().reorder()

        first = await early.send("orders", b"early")
        await asyncio.sleep(1)
        second = await late.send("orders", b"late")
        offsets = [(await first).offset, (await second).offset]

        assert offsets == [1, 0]
        assert await values(cluster) == [b"late", b"early"]


@pytest.mark.parametrize(
    ("is_idempotent", "stored"), [(True, [b"first"]), (False, [b"first", b"first"])]
)
def test_a_request_can_be_carried_out_after_its_own_retry(
    is_idempotent: bool, stored: list[bytes]
) -> None:
    @virtual_time
    async def run() -> None:
        world = World()
        options = {"enable_idempotence": is_idempotent}
        async with (
            new_cluster(world) as cluster,
            new_producer(world, cluster, **options) as producer,
        ):
            await cluster.create_topic("orders")
            cluster.faults.on("Produce", topic="orders").once().reorder()
            delivery = await producer.send("orders", b"first")
            await asyncio.sleep(1)

            world.network.reset("shop")
            await delivery

            assert await values(cluster) == stored

    run()


@virtual_time
async def test_a_paused_node_answers_when_it_is_resumed() -> None:
    world = World()
    async with new_cluster(world) as cluster, new_producer(world, cluster) as producer:
        await producer.send_and_wait("orders", b"before")
        with cluster.faults.pause(node=0):
            delivery = await producer.send("orders", b"during")
            await asyncio.sleep(20)
            assert not delivery.done()

        assert (await delivery).offset == 1


@virtual_time
async def test_a_pause_beyond_the_request_timeout_neither_loses_nor_doubles_records() -> None:
    world = World()
    async with new_cluster(world) as cluster, new_producer(world, cluster) as producer:
        await producer.send_and_wait("orders", b"before")
        pause = cluster.faults.pause()
        delivery = await producer.send("orders", b"during")
        await asyncio.sleep(45)

        pause.resume()
        await delivery

        assert await values(cluster) == [b"before", b"during"]


@virtual_time
async def test_what_a_paused_node_has_not_carried_out_ends_with_it() -> None:
    world = World()
    plain = {"enable_idempotence": False}
    async with new_cluster(world) as cluster, new_producer(world, cluster, **plain) as producer:
        await producer.send_and_wait("orders", b"before")
        pause = cluster.faults.pause()
        delivery = await producer.send("orders", b"during")
        await asyncio.sleep(1)
        await cluster.kill()
        await cluster.start()
        await asyncio.sleep(1)

        pause.resume()
        await delivery

        assert await values(cluster) == [b"before", b"during"]


@virtual_time
async def test_clear_ends_pauses() -> None:
    world = World()
    async with new_cluster(world) as cluster, new_producer(world, cluster) as producer:
        cluster.faults.pause()
        delivery = asyncio.create_task(producer.send_and_wait("orders", b"first"))
        await asyncio.sleep(1)

        cluster.faults.clear()

        assert (await delivery).offset == 0


@pytest.mark.parametrize(
    ("release", "produce"), [("2.1", 7), ("3.9", 11), ("4.0", 12), ("4.3", 13)]
)
def test_clients_speak_the_versions_of_the_release(release: str, produce: int) -> None:
    @virtual_time
    async def run() -> None:
        world = World()
        async with new_cluster(world) as cluster:
            cluster.faults.pretend(release)
            async with (
                new_producer(world, cluster) as producer,
                AsyncConsumer(
                    cluster.bootstrap,
                    topics=["orders"],
                    group_id="shop",
                    auto_offset_reset="earliest",
                    **world.host("shop").client_options,
                ) as consumer,
            ):
                await producer.send_and_wait("orders", b"first")
                record = await anext(aiter(consumer))

            assert record.value == b"first"
            assert {each.version for each in cluster.requests("Produce")} == {produce}

    run()


@pytest.mark.parametrize(("release", "produce"), [("2.1", 7), ("3.9", 11), ("4.0", 12)])
def test_clients_that_are_connected_learn_the_versions_of_a_release(
    release: str, produce: int
) -> None:
    @virtual_time
    async def run() -> None:
        world = World()
        async with (
            new_cluster(world) as cluster,
            new_producer(world, cluster) as producer,
            AsyncConsumer(
                cluster.bootstrap,
                topics=["orders"],
                group_id="shop",
                auto_offset_reset="earliest",
                **world.host("shop").client_options,
            ) as consumer,
        ):
            await producer.send_and_wait("orders", b"first")
            records = aiter(consumer)
            values = [(await anext(records)).value]

            cluster.faults.pretend(release)
            before = len(cluster.requests())
            await producer.send_and_wait("orders", b"second")
            await producer.send_and_wait("bills", b"of another topic")
            values.append((await anext(records)).value)
            await consumer.commit()

            assert values == [b"first", b"second"]
            assert {one.version for one in cluster.requests("Produce")[1:]} == {13, produce}
            assert len(cluster.requests()) - before < 60

    run()


@virtual_time
async def test_an_admin_client_that_is_connected_learns_the_versions_of_a_release() -> None:
    world = World()
    async with (
        new_cluster(world) as cluster,
        AsyncAdmin(cluster.bootstrap, **world.host("shop").client_options) as admin,
    ):
        await cluster.create_topic("orders")

        cluster.faults.pretend("2.1")

        assert list(await admin.list_topics()) == ["orders"]


@pytest.mark.parametrize("release", ["2.1", "2.5", "3.9", "4.0"])
def test_transactions_work_with_the_versions_of_the_release(release: str) -> None:
    @virtual_time
    async def run() -> None:
        world = World()
        async with new_cluster(world) as cluster:
            cluster.faults.pretend(release)
            async with new_producer(world, cluster, transactional_id="shop") as producer:
                for value in (b"first", b"second"):
                    async with producer.transaction():
                        await producer.send_and_wait("orders", value)

            assert await values(cluster) == [b"first", b"second"]

    run()


@virtual_time
async def test_a_producer_waits_out_stale_metadata_of_a_new_topic() -> None:
    world = World()
    options = {"auto.create.topics.enable": "false"}
    async with new_cluster(world, config=options) as cluster, new_producer(world, cluster) as shop:
        stale = cluster.faults.on("Metadata").stale()
        await cluster.create_topic("orders")
        sending = asyncio.create_task(shop.send_and_wait("orders", b"first"))
        await asyncio.sleep(20)
        assert not sending.done()

        stale.remove()

        assert (await sending).offset == 0
        assert stale.hits > 1


@virtual_time
async def test_a_producer_goes_on_once_its_metadata_of_a_recreated_topic_are_fresh() -> None:
    world = World()
    async with (
        new_cluster(world) as cluster,
        new_producer(world, cluster, client_id="shop") as shop,
        AsyncAdmin(cluster.bootstrap, **world.host("shop").client_options) as admin,
    ):
        await shop.send_and_wait("orders", b"old topic")
        with cluster.faults.on("Metadata", client_id="shop").stale() as stale:
            await admin.delete_topics(["orders"])
            await cluster.create_topic("orders", partitions=2)
            sending = asyncio.create_task(shop.send_and_wait("orders", b"new topic"))
            await asyncio.sleep(20)
            assert stale.hits > 1
            assert await shop.partitions_for("orders") == {0}

        await sending

        assert await values(cluster) == [b"new topic"]
        assert await shop.partitions_for("orders") == {0, 1}


VERBS: dict[str, Callable[[FaultRule], object]] = {
    "error": lambda rule: rule.error("REQUEST_TIMED_OUT"),
    "delay": lambda rule: rule.delay(5_000),
    "throttle": lambda rule: rule.throttle(2_000),
    "drop_before_apply": lambda rule: rule.drop_before_apply(),
    "apply_then_lose_response": lambda rule: rule.apply_then_lose_response(),
    "half_open": lambda rule: rule.apply_then_lose_response(half_open=True),
    "close": lambda rule: rule.close(),
    "truncate": lambda rule: rule.truncate(),
    "corrupt": lambda rule: rule.corrupt(),
    "duplicate": lambda rule: rule.duplicate(),
}


@pytest.mark.parametrize("api", ["Produce", "Fetch", "OffsetCommit", "Heartbeat", "Metadata"])
@pytest.mark.parametrize("verb", VERBS)
def test_clients_live_through_every_fault_and_each_record_comes_once(api: str, verb: str) -> None:
    async def main() -> None:
        async with AsyncCluster() as cluster:
            await cluster.create_topic("orders")
            seen = []
            async with (
                AsyncProducer(cluster.bootstrap) as producer,
                AsyncConsumer(
                    cluster.bootstrap,
                    topics=["orders"],
                    group_id="shop",
                    auto_offset_reset="earliest",
                    auto_commit_interval_ms=1000,
                    metadata_max_age_ms=5000,
                ) as consumer,
            ):
                rule = cluster.faults.on(api).after(1).once()
                VERBS[verb](rule)
                for number in range(10):
                    await producer.send_and_wait("orders", b"%d" % number)
                    await asyncio.sleep(5)
                    seen += await consumer.poll(timeout=1.0)
                while len(seen) < 10:
                    seen += await consumer.poll(timeout=10.0)

            assert rule.hits == 1
            assert [record.value for record in seen] == [b"%d" % number for number in range(10)]

    World(seed=5).run(asyncio.wait_for(main(), 600))


@virtual_time
async def test_metadata_that_are_stale_for_one_client_are_fresh_for_the_others() -> None:
    world = World()
    options = world.host("shop").client_options
    async with (
        new_cluster(world) as cluster,
        AsyncAdmin(cluster.bootstrap, client_id="late", **options) as late,
        AsyncAdmin(cluster.bootstrap, client_id="fresh", **options) as fresh,
    ):
        cluster.faults.on("Metadata", client_id="late").stale()
        await cluster.create_topic("orders")

        assert "orders" not in await late.list_topics()
        assert "orders" in await fresh.list_topics()


@virtual_time
async def test_a_producer_lives_through_connections_that_end_at_random() -> None:
    world = World(seed=3)
    async with new_cluster(world) as cluster, new_producer(world, cluster) as shop:
        rule = cluster.faults.on("Produce").probability(0.2).close()

        for number in range(50):
            await shop.send_and_wait("orders", b"%d" % number)

        assert 0 < rule.hits < rule.seen
        assert await values(cluster) == [b"%d" % number for number in range(50)]


@virtual_time
async def test_an_unknown_release_is_refused_with_those_that_are_known() -> None:
    async with new_cluster(World()) as cluster:
        with pytest.raises(
            ValueError, match=r"no release '1\.0' of Kafka is known; these are: 2\.1"
        ):
            cluster.faults.pretend("1.0")
