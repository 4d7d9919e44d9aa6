"""``process_batches()`` with a transactional producer loses no record of a batch."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from pyk.clients import ProducerRecord
from pyk.runtime.virtual_time import virtual_time
from support.simulated_billers import Biller, cluster_with_orders, committed, values_of

REFUSED = b"x" * 2_000_000


class BatchBiller(Biller):
    """Writes a bill for each order of a batch; brokers refuse that of ``refused``."""

    refused = b"4"

    async def _run(self) -> None:
        async with self.producer, self.consumer:
            await self.consumer.process_batches(
                self.bill_all, producer=self.producer, **self.options
            )

    async def bill_all(self, orders: Sequence[Any]) -> list[ProducerRecord]:
        self.handled += [order.value for order in orders]
        return [
            ProducerRecord("bills", REFUSED if order.value == self.refused else order.value)
            for order in orders
        ]


@pytest.mark.parametrize("is_callable", [False, True], ids=["topic", "callable"])
@virtual_time
async def test_a_batch_whose_results_brokers_refuse_is_put_aside_as_a_whole(is_callable):
    async with cluster_with_orders(30) as cluster:
        biller = BatchBiller(cluster)
        dead: list[bytes] = []
        biller.options = {"dead_letter": "orders.dead"}
        if is_callable:
            biller.options = {"dead_letter": lambda record, _: dead.append(record.value)}
        biller.start()
        await asyncio.sleep(10)
        await biller.wake()

        dead += await values_of(cluster, "orders.dead")
        assert dead == [b"%d" % number for number in range(30) if number % 3 == 1]
        bills = set(await values_of(cluster, "bills"))
        assert bills == {b"%d" % number for number in range(30) if number % 3 != 1}
        assert set((await committed(cluster)).values()) == {10}
