"""An application that knows nothing of virtual time runs in it."""

from __future__ import annotations

import asyncio
import re
import time

import pytest

from pyk.clients import AsyncConsumer, AsyncProducer, ConsumerRecord, RetryPolicy
from pyk.reference_broker import AsyncCluster, Cluster, DeadlockError, World
from pyk.runtime.virtual_time import VirtualClock, virtual_time

MINUTE = 60.0
HOUR = 60 * MINUTE
POLICY = RetryPolicy(attempts=1, topics={"orders-in-10m": 10 * MINUTE, "orders-in-1h": HOUR})


class Shop:
    """An application: bills orders, and tries again for an hour while the bank is closed."""

    def __init__(self, bootstrap: str, opens_at: float) -> None:
        self.bootstrap = bootstrap
        self.opens_at = opens_at
        self.attempts: list[tuple[str, int]] = []

    async def run(self) -> None:
        async with AsyncConsumer(
            self.bootstrap,
            topics=["orders", *POLICY.topics],
            group_id="bills",
            auto_offset_reset="earliest",
            fetch_max_wait_ms=20_000,
        ) as consumer:
            await consumer.process(self.bill, retry=POLICY, dead_letter="unbilled")

    async def bill(self, order: ConsumerRecord[bytes, bytes]) -> None:
        now = asyncio.get_running_loop().time()
        self.attempts.append((order.topic, round(now / MINUTE)))
        if now < self.opens_at:
            raise RuntimeError("the bank is closed")


async def two_hours_of_a_shop(opens_at: float) -> tuple[list[tuple[str, int]], int]:
    async with AsyncCluster() as cluster:
        for topic in ("orders", "unbilled", *POLICY.topics):
            await cluster.create_topic(topic)
        await cluster.seed({"orders": ["one"]})
        shop = Shop(cluster.bootstrap, opens_at)
        running = asyncio.create_task(shop.run())
        await asyncio.sleep(2 * HOUR)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        return shop.attempts, len(await cluster.records("unbilled"))


def test_retries_of_an_hour_need_no_arguments_in_the_application() -> None:
    attempts, unbilled = World().run(two_hours_of_a_shop(opens_at=50 * MINUTE))

    assert attempts == [("orders", 0), ("orders-in-10m", 10), ("orders-in-1h", 70)]
    assert unbilled == 0


def test_an_application_gives_up_after_its_last_retry() -> None:
    attempts, unbilled = World().run(two_hours_of_a_shop(opens_at=1000 * HOUR))

    assert len(attempts) == 3
    assert unbilled == 1


async def offsets_and_times() -> list[tuple[int, int, float]]:
    loop = asyncio.get_running_loop()
    async with AsyncCluster() as cluster, AsyncProducer(cluster.bootstrap) as producer:
        cluster.faults.on("Produce").times(3).error("NOT_LEADER_OR_FOLLOWER")
        sent = [await producer.send_and_wait("orders", b"x") for _ in range(3)]
        return [(each.offset, each.timestamp, loop.time()) for each in sent]


def test_a_world_does_the_same_again_with_its_seed_and_not_with_another() -> None:
    first, second = World(seed=7).run(offsets_and_times()), World(seed=7).run(offsets_and_times())

    assert first == second
    assert World(seed=8).run(offsets_and_times()) != first


def test_a_world_goes_on_where_its_last_run_ended() -> None:
    world = World()
    world.run(asyncio.sleep(HOUR))

    assert world.clock.now() == HOUR
    world.run(asyncio.sleep(HOUR))
    assert world.clock.now() == 2 * HOUR


def test_the_network_between_application_and_cluster_can_be_cut() -> None:
    world = World()

    async def main() -> int:
        async with AsyncCluster() as cluster, AsyncProducer(cluster.bootstrap) as producer:
            await producer.send_and_wait("orders", b"before")
            world.network.cut("app", "kafka")
            delivery = await producer.send("orders", b"during")
            await asyncio.sleep(20)
            assert not delivery.done()
            world.network.heal()
            return (await delivery).offset

    assert world.run(main()) == 1


def test_two_clusters_of_a_world_are_on_hosts_of_their_own() -> None:
    world = World()

    async def main() -> tuple[list[bytes], list[bytes]]:
        async with AsyncCluster() as near, AsyncCluster() as far:
            await near.seed({"orders": [b"near"]})
            await far.seed({"orders": [b"far"]})
            world.network.isolate("kafka-2")
            near_records, far_records = await near.records("orders"), await far.records("orders")
            return [one.value for one in near_records], [one.value for one in far_records]

    assert world.run(main()) == ([b"near"], [b"far"])


def test_a_block_of_another_host_is_behind_the_links_of_that_host() -> None:
    world = World()

    async def main() -> list[int]:
        async with AsyncCluster() as cluster:
            with world.host("branch"):
                branch = AsyncProducer(cluster.bootstrap)
            async with branch, AsyncProducer(cluster.bootstrap) as here:
                await branch.send_and_wait("orders", b"branch opens")
                world.network.isolate("branch")
                held = await branch.send("orders", b"branch is cut off")
                offsets = [(await here.send_and_wait("orders", b"here")).offset]
                world.network.heal()
                return [*offsets, (await held).offset]

    assert world.run(main()) == [1, 2]


def test_the_clock_stands_still_while_a_thread_works() -> None:
    async def main() -> float:
        await asyncio.wait_for(asyncio.to_thread(time.sleep, 0.02), timeout=0.001)
        return asyncio.get_running_loop().time()

    assert World().run(main()) == 0


def test_a_deadlock_names_where_each_task_waits() -> None:
    async def wait_for_godot() -> None:
        await asyncio.Event().wait()

    async def main() -> None:
        waiting = asyncio.create_task(wait_for_godot(), name="estragon")
        await waiting

    with pytest.raises(DeadlockError, match="every task waits, and no timer is set") as caught:
        World().run(main())

    ours = rf"{re.escape(__file__)}:\d+"
    first, second = str(caught.value).splitlines()[1:]
    assert re.fullmatch(rf"  Task-\d+ waits at {ours} in main", first)
    assert re.fullmatch(rf"  estragon waits at {ours} in wait_for_godot, .*:\d+ in wait", second)


def test_a_deadlock_in_a_decorated_test_names_the_line_of_the_test() -> None:
    @virtual_time
    async def wait_for_godot() -> None:
        await asyncio.Event().wait()

    with pytest.raises(DeadlockError) as caught:
        wait_for_godot()

    (line,) = str(caught.value).splitlines()[1:]
    assert f" waits at {__file__}:" in line


def test_a_blocking_cluster_is_refused_in_a_world_and_its_twin_named() -> None:
    async def main() -> None:
        Cluster().open()

    with pytest.raises(RuntimeError, match="in a simulated world use AsyncCluster"):
        World().run(main())


def test_a_clock_that_is_not_the_loops_is_refused_and_the_world_named() -> None:
    with pytest.raises(RuntimeError, match=r"not the clock of this event loop.*World\(\)\.run"):
        Cluster(clock=VirtualClock()).open()


def test_after_a_run_clients_are_on_this_machine_again() -> None:
    async def main() -> None:
        pass

    World().run(main())

    with Cluster() as cluster:
        assert cluster.bootstrap.startswith("127.0.0.1:")
