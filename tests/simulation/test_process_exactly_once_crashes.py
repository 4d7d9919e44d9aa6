"""``process()`` with a transactional producer while members crash and brokers lose answers."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest

from pyk.clients import (
    RetryPolicy,
)
from pyk.runtime.virtual_time import virtual_time
from support.simulated_billers import (
    COUNT,
    PARTITIONS,
    Biller,
    all_bills,
    cluster_with_orders,
    committed,
    values_of,
)

REQUESTS = ["OffsetFetch", "Fetch", "Produce", "TxnOffsetCommit", "EndTxn", "InitProducerId"]
PROTOCOLS = [
    {"partition_assignment_strategy": "range"},
    {"partition_assignment_strategy": "cooperative-sticky"},
    {"group_protocol": "consumer"},
]


class Chaos:
    """Billers that come, go and crash, and brokers that lose answers."""

    def __init__(self, cluster: Any, seed: int, options: dict[str, Any]) -> None:
        self.cluster = cluster
        self.random = random.Random(seed)
        self.options = options
        self.billers: list[Biller] = []
        self.names = [f"billing-{n}" for n in range(3)]

    def join(self) -> None:
        chosen = self.random
        biller = Biller(self.cluster, self.names.pop(), **self.options)
        biller.duration = lambda: chosen.choice([0.0, 0.01, 0.1, 2.0])
        biller.failure = lambda: chosen.random() < 0.05
        biller.options = {
            "ordering": chosen.choice(["key", "none", "partition"]),
            "concurrency": chosen.choice([1, 4, 50]),
            "retry": RetryPolicy(attempts=100, backoff=0.2, max_backoff=1.0),
        }
        self.billers.append(biller.start())

    async def step(self) -> None:
        await asyncio.sleep(self.random.uniform(0.0, 3.0))
        if len(self.billers) == 3 or (self.billers and self.random.random() < 0.3):
            biller = self.billers.pop(self.random.randrange(len(self.billers)))
            self.names.append(biller.producer._core.config.transactional_id)
            await self.random.choice([self.wake, self.cancel, self.crash])(biller)
        else:
            self.join()
        if self.random.random() < 0.7:
            request = self.random.choice(REQUESTS)
            self.cluster.faults.on(request).once().apply_then_lose_response()

    async def wake(self, biller: Biller) -> None:
        biller.consumer.wakeup()
        await asyncio.wait({biller.task})

    async def cancel(self, biller: Biller) -> None:
        await biller.cancel()

    async def crash(self, biller: Biller) -> None:
        await biller.crash()


@pytest.mark.parametrize("options", PROTOCOLS, ids=lambda options: next(iter(options.values())))
@pytest.mark.parametrize("seed", range(4))
@virtual_time
async def test_crashes_and_rebalances_leave_one_bill_for_each_order(seed, options):
    async with cluster_with_orders() as cluster:
        chaos = Chaos(cluster, seed, options)
        for _ in range(15):
            await chaos.step()
        cluster.faults.clear()
        if not chaos.billers:
            chaos.join()

        bills = await all_bills(cluster)
        await asyncio.sleep(20)

        assert bills == sorted(map(int, await values_of(cluster, "bills"))) == list(range(COUNT))
        for biller in chaos.billers:
            await chaos.wake(biller)
        assert await committed(cluster) == dict.fromkeys(PARTITIONS, COUNT // 3)
