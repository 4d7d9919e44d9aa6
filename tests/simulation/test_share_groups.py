"""Share groups at a broker that crashes, loses answers and members: what a group promises holds."""

from __future__ import annotations

import asyncio
from collections import Counter
from random import Random
from typing import Any

import pytest

from pyk.clients import AcknowledgeType, AlterConfig, AsyncAdmin, AsyncShareConsumer, ConfigResource
from pyk.clients.errors import KafkaError
from pyk.reference_broker import AsyncCluster
from pyk.runtime.virtual_time import current_clock, eventually, virtual_time
from support.consuming import client_options, network_of, produce, reference_cluster

RECORDS = 300
LIMIT = 5


def member_of(
    cluster: AsyncCluster, random: Random, **options: Any
) -> AsyncShareConsumer[Any, Any]:
    return AsyncShareConsumer(
        cluster.bootstrap,
        topics=["orders"],
        group_id="g",
        clock=current_clock(),
        network=network_of(cluster),
        random=random,
        **options,
    )


class Sharer:
    """A member of a share group, run by a task: it accepts most records, and releases some."""

    def __init__(self, cluster: AsyncCluster, random: Random, releases: float = 0.2) -> None:
        self.accepted: set[tuple[int, int]] = set()
        """Records whose acknowledgement the broker has confirmed."""
        self.counts: Counter[int] = Counter()
        self._random = random
        self._releases = releases
        self._consumer = member_of(cluster, random, share_acknowledgement_mode="explicit")
        self.is_well = True
        self._task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        async with self._consumer as consumer:
            while True:
                records = await self._poll()
                said = []
                for record in records:
                    self.counts[record.delivery_count or 0] += 1
                    is_released = self.is_well and self._random.random() < self._releases
                    kind = AcknowledgeType.RELEASE if is_released else AcknowledgeType.ACCEPT
                    consumer.acknowledge(record, kind)
                    if not is_released:
                        said.append((record.partition, record.offset))
                try:
                    outcomes = await consumer.commit()
                except KafkaError:
                    continue
                confirmed = {
                    (name.partition, offset)
                    for name, ranges in outcomes.items()
                    for each in ranges
                    for offset in each
                }
                self.accepted.update(set(said) & confirmed)

    async def _poll(self) -> Any:
        try:
            return await self._consumer.poll(1.0, max_records=20)
        except KafkaError:
            return ()

    async def leave(self) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def crash(self) -> None:
        """End without a word to the broker."""
        await self._consumer._core.client.close(0)
        await self.leave()


async def begin_at_the_start(cluster: AsyncCluster, **configs: object) -> None:
    changes = [AlterConfig("share.auto.offset.reset", "earliest")]
    changes += [AlterConfig(name.replace("_", "."), str(value)) for name, value in configs.items()]
    options = client_options(network_of(cluster))
    async with AsyncAdmin(cluster.bootstrap, **options) as admin:
        await admin.incremental_alter_configs({ConfigResource.group("g"): changes})


def accepted(sharers: list[Sharer]) -> Counter[tuple[int, int]]:
    return Counter(each for sharer in sharers for each in sharer.accepted)


@pytest.mark.parametrize("seed", range(3))
@virtual_time
async def test_every_record_is_accepted_by_one_member_whatever_breaks(seed: int) -> None:
    random = Random(seed)
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders", partitions=2)
        await produce(cluster, "orders", RECORDS, partitions=2)
        await begin_at_the_start(cluster, share_record_lock_duration_ms=15_000)
        members = [Sharer(cluster, random) for _ in range(3)]
        everybody = list(members)

        for _ in range(10):
            await asyncio.sleep(random.uniform(0.5, 5.0))
            await disturb(cluster, members, everybody, random)

        cluster.faults.clear()
        for member in members:
            member.is_well = False
        await eventually(lambda: settled(cluster), timeout=600)
        for member in members:
            await member.leave()
        found = accepted(everybody)
        assert max(found.values()) == 1, "a record was accepted twice"
        assert all(count <= LIMIT for each in everybody for count in each.counts)


async def disturb(
    cluster: AsyncCluster, members: list[Sharer], everybody: list[Sharer], random: Random
) -> None:
    event = random.choice(["leaves", "crashes", "broker", "fetch", "acknowledge", "write"])
    if event in ("leaves", "crashes"):
        member = members.pop(random.randrange(len(members)))
        members.append(Sharer(cluster, random))
        everybody.append(members[-1])
        await (member.leave() if event == "leaves" else member.crash())
    elif event == "broker":
        await cluster.kill()
        await asyncio.sleep(1)
        await cluster.start()
    else:
        api = {"fetch": "ShareFetch", "acknowledge": "ShareAcknowledge"}.get(
            event, "WriteShareGroupState"
        )
        cluster.faults.on(api).times(2).apply_then_lose_response()


def settled(cluster: AsyncCluster) -> bool:
    """Return whether the leader has nothing left: every record is done."""
    (broker,) = cluster._brokers.values()
    led = list(broker.services.share._partitions.values())
    return len(led) == 2 and all(
        each.state is not None and each.state.start_offset == RECORDS // 2 for each in led
    )


@virtual_time
async def test_a_record_that_nobody_accepts_is_delivered_as_often_as_the_limit_says() -> None:
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders")
        await produce(cluster, "orders", 20)
        await begin_at_the_start(cluster, share_delivery_count_limit=3)
        member = Sharer(cluster, Random(1), releases=1.0)

        await asyncio.sleep(60)
        await member.leave()

        assert member.counts == {1: 20, 2: 20, 3: 20}
        assert not member.accepted


@virtual_time
async def test_members_that_leave_use_up_no_record_that_none_of_them_has_seen() -> None:
    """A record that is fetched and given back counts as delivered. Before its last delivery the
    leader gives fewer at a time, at last one: nothing may be fetched ahead then.
    """
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders")
        await produce(cluster, "orders", 40)
        await begin_at_the_start(cluster)
        seen: set[tuple[int, int]] = set()
        empty = 0
        while empty < 3:
            async with member_of(cluster, Random(empty), max_poll_records=1) as consumer:
                records = []
                for _ in range(3):
                    records += await consumer.poll(1.0)
                    await consumer.commit()
                await asyncio.sleep(0.1)
            empty = 0 if records else empty + 1
            seen |= {(record.partition, record.offset) for record in records}

        assert len(seen) == 40


@virtual_time
async def test_an_accepted_record_does_not_come_again_after_a_crash_of_the_broker() -> None:
    async with reference_cluster() as cluster:
        await cluster.create_topic("orders")
        await produce(cluster, "orders", 50)
        await begin_at_the_start(cluster)
        first = Sharer(cluster, Random(1), releases=0.0)
        await eventually(lambda: len(first.accepted) == 50)
        await first.crash()

        await cluster.kill()
        await cluster.start()
        second = Sharer(cluster, Random(2))
        await asyncio.sleep(60)
        await second.leave()

        assert not second.counts
