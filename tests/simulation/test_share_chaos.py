"""Members of share groups come, go and crash, responses get lost: every record is handled."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import random
from collections import Counter
from random import Random
from typing import Any

import pytest

from pyk.clients import (
    AcknowledgeType,
    AlterConfig,
    AsyncAdmin,
    AsyncShareConsumer,
    ConfigResource,
    ConfigResourceType,
    RetryPolicy,
)
from pyk.clients.errors import KafkaError
from pyk.protocol.api_keys import ApiKey
from pyk.runtime.virtual_time import current_clock, eventually, virtual_time
from support.consuming import network_of, produce, reference_cluster
from support.environments import client_options
from support.share_cluster import ACCEPT
from support.share_consuming import share_cluster, share_consumer

RECORDS = 400
LOCK = {"group_share_min_record_lock_duration_ms": "1000"}
_seeds = itertools.count(100)


class ShareGroup:
    """A share group at the reference broker, and what its members have handled."""

    def __init__(self, cluster: Any, name: str) -> None:
        self.cluster = cluster
        self.name = name
        self.handled = Counter[tuple[int, int]]()
        self.most_deliveries = 0

    async def configure(self, **configs: str) -> None:
        resource = ConfigResource(ConfigResourceType.GROUP, self.name)
        changes = [AlterConfig(name.replace("_", "."), value) for name, value in configs.items()]
        options = client_options(network_of(self.cluster))
        async with AsyncAdmin(self.cluster.bootstrap, **options) as admin:
            await admin.incremental_alter_configs({resource: changes})

    def consumer(self, **options: Any) -> AsyncShareConsumer[Any, Any]:
        return AsyncShareConsumer(
            self.cluster.bootstrap,
            topics=["orders"],
            group_id=self.name,
            clock=current_clock(),
            network=network_of(self.cluster),
            random=Random(next(_seeds)),
            request_timeout_ms=2000,
            max_poll_records=20,
            **options,
        )

    async def member(self, chance: random.Random) -> None:
        """Read until cancelled, which is a crash half of the time."""
        is_explicit = chance.random() < 0.5
        mode = "explicit" if is_explicit else "implicit"
        consumer = self.consumer(share_acknowledgement_mode=mode)
        try:
            while True:
                try:
                    records = list(await consumer.poll(1))
                except KafkaError:
                    continue
                for record in records:
                    await asyncio.sleep(0.005)
                    self.most_deliveries = max(self.most_deliveries, record.delivery_count)
                    if is_explicit and chance.random() < 0.02:
                        consumer.acknowledge(record, AcknowledgeType.RELEASE)
                        continue
                    self.handled[record.partition, record.offset] += 1
                    if is_explicit:
                        consumer.acknowledge(record)
        finally:
            if chance.random() < 0.5:
                await consumer._core.client.close(0)
                consumer._core.end()
            else:
                await consumer.close(5)


@pytest.mark.parametrize("seed", range(4))
@virtual_time
async def test_every_record_is_handled_while_members_change_and_responses_are_lost(seed: int):
    chance = random.Random(seed)
    async with reference_cluster(**LOCK) as cluster:
        group = ShareGroup(cluster, f"g{seed}")
        await group.configure(
            share_auto_offset_reset="earliest",
            share_record_lock_duration_ms="2000",
            share_delivery_count_limit="10",
        )
        await cluster.create_topic("orders", partitions=2)
        members = [asyncio.create_task(group.member(chance)) for _ in range(3)]
        for _ in range(10):
            await produce(cluster, "orders", RECORDS // 10, partitions=2)
            await disturb(cluster, group, members, chance)
            await asyncio.sleep(chance.uniform(0.2, 2.0))
        cluster.faults.clear()

        await eventually(lambda: len(group.handled) == RECORDS, timeout=300)
        for member in members:
            member.cancel()
        await asyncio.gather(*members, return_exceptions=True)


async def disturb(
    cluster: Any, group: ShareGroup, members: list[asyncio.Task[None]], chance: random.Random
) -> None:
    """Lose a response, or let a member go and another come."""
    match chance.choice(["fetch", "acknowledge", "heartbeat", "member"]):
        case "fetch":
            cluster.faults.on("ShareFetch").once().apply_then_lose_response()
        case "acknowledge":
            cluster.faults.on("ShareAcknowledge").once().apply_then_lose_response()
        case "heartbeat":
            cluster.faults.on("ShareGroupHeartbeat").once().apply_then_lose_response()
        case "member":
            members.pop(chance.randrange(len(members))).cancel()
            members.append(asyncio.create_task(group.member(chance)))


@virtual_time
async def test_lost_responses_at_the_reference_broker_cost_no_record():
    async with reference_cluster(**LOCK) as cluster:
        group = ShareGroup(cluster, "g")
        await group.configure(
            share_auto_offset_reset="earliest", share_record_lock_duration_ms="2000"
        )
        await cluster.create_topic("orders", partitions=1)
        await produce(cluster, "orders", 10)
        async with group.consumer() as consumer:
            cluster.faults.on(ApiKey.SHARE_FETCH.name).once().apply_then_lose_response()
            got = Counter[int]()
            while len(got) < 10:
                got.update(record.offset for record in await consumer.poll(1))
            await consumer.commit()

        assert set(got) == set(range(10))


@virtual_time
async def test_handlers_of_process_share_what_is_written_and_locks_outlast_them():
    async with reference_cluster(**LOCK) as cluster:
        group = ShareGroup(cluster, "g")
        await group.configure(
            share_auto_offset_reset="earliest", share_record_lock_duration_ms="1000"
        )
        await cluster.create_topic("orders", partitions=2)
        await produce(cluster, "orders", 60, partitions=2)

        async def handle(record: Any) -> None:
            await asyncio.sleep(3)
            group.handled[record.partition, record.offset] += 1

        async with group.consumer() as one, group.consumer() as other:
            running = [
                asyncio.create_task(each.process(handle, concurrency=8, retry=RetryPolicy()))
                for each in (one, other)
            ]
            await eventually(lambda: len(group.handled) == 60, timeout=120)
            for each in (one, other):
                each.wakeup()
            await asyncio.gather(*running)

        assert set(group.handled.values()) == {1}


@pytest.mark.parametrize("seed", range(3))
@virtual_time
async def test_process_handles_every_record_whatever_happens_to_broker_and_handlers(seed: int):
    chance = random.Random(seed)
    async with reference_cluster(**LOCK) as cluster:
        group = ShareGroup(cluster, "g")
        await group.configure(
            share_auto_offset_reset="earliest",
            share_record_lock_duration_ms="2000",
            share_delivery_count_limit="10",
        )
        await cluster.create_topic("orders", partitions=2)
        await produce(cluster, "orders", 120, partitions=2)

        async def handle(record: Any) -> None:
            group.most_deliveries = max(group.most_deliveries, record.delivery_count)
            # Most handlers are quick, some outlast a lock, few never return.
            seconds = chance.choices((0.02, 3.0, 10_000.0), (90, 8, 2))[0]
            await asyncio.sleep(seconds)
            group.handled[record.partition, record.offset] += 1

        async def member() -> None:
            async with group.consumer() as consumer:
                with contextlib.suppress(asyncio.CancelledError):
                    await consumer.process(handle, concurrency=6, deadline=8)

        members = [asyncio.create_task(member()) for _ in range(2)]
        for _ in range(6):
            await asyncio.sleep(chance.uniform(0.2, 2.0))
            if chance.random() < 0.3:
                await cluster.kill()
                await asyncio.sleep(1)
                await cluster.start()
            else:
                await disturb_responses(cluster, chance)
        cluster.faults.clear()

        await eventually(lambda: len(group.handled) == 120, timeout=300)
        await eventually(lambda: is_drained(cluster, 120), timeout=60)
        for each in members:
            each.cancel()
        await asyncio.wait_for(asyncio.gather(*members, return_exceptions=True), 60)
        assert group.most_deliveries <= 10


async def disturb_responses(cluster: Any, chance: random.Random) -> None:
    api = chance.choice(["ShareFetch", "ShareAcknowledge", "WriteShareGroupState"])
    cluster.faults.on(api).times(2).apply_then_lose_response()


def is_drained(cluster: Any, count: int) -> bool:
    """Return whether the leader has nothing left: every record is done."""
    (broker,) = cluster._brokers.values()
    led = [each.state for each in broker.services.share._partitions.values()]
    return sum(0 if state is None else state.start_offset for state in led) == count


@pytest.mark.parametrize("seed", range(5))
@virtual_time
async def test_leaders_move_and_sessions_are_lost_and_every_record_is_accepted_once(seed: int):
    chance = random.Random(seed)
    async with share_cluster(nodes=3, partitions=3, lock_seconds=3) as cluster:
        stopping = asyncio.Event()

        async def read() -> None:
            async with share_consumer(cluster, request_timeout_ms=2000) as consumer:
                while not stopping.is_set():
                    try:
                        await consumer.poll(0.5)
                    except KafkaError:
                        continue

        readers = [asyncio.create_task(read()) for _ in range(2)]
        for number in range(30):
            cluster.produce(*[b"v"] * 5, partition=number % 3)
            await asyncio.sleep(chance.uniform(0.05, 0.6))
            match chance.randrange(4):
                case 0:
                    cluster.move(chance.randrange(3), 1 + chance.randrange(3))
                case 1:
                    cluster.lose_sessions(keeps_locks=chance.random() < 0.5)
                case 2:
                    cluster.fence()

        def is_done() -> bool:
            return all(cluster.outcomes(number) == [ACCEPT] * 50 for number in range(3))

        await eventually(is_done, timeout=120)
        stopping.set()
        await asyncio.gather(*readers)
        assert set(cluster.final.values()) == {1}
