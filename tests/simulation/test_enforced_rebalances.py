"""``enforce_rebalance`` makes a group divide its partitions again."""

from __future__ import annotations

from typing import Any

import pytest

from pyk.clients.errors import StateError
from pyk.runtime.virtual_time import virtual_time
from support.consuming import cluster_with_orders, eventually_polled, make_consumer, read


@pytest.mark.parametrize("assignor", ["range", "cooperative-sticky"])
@virtual_time
async def test_the_member_joins_again_and_reads_on(assignor):
    async with cluster_with_orders(5) as cluster:
        options: Any = {"partition_assignment_strategy": assignor}
        async with make_consumer(
            cluster, topics=["orders"], group_id="kitchen", **options
        ) as consumer:
            await read(consumer, 5)
            before = consumer.group_metadata().generation_id

            await consumer.enforce_rebalance("more of us")

            await eventually_polled(
                consumer, lambda: consumer.group_metadata().generation_id == before + 1
            )
            assert len(consumer.assignment()) == 1
            assert consumer.health().problems == ()


@virtual_time
async def test_a_group_of_the_newer_protocol_is_not_rebalanced(caplog):
    async with cluster_with_orders(1) as cluster:
        consumer = make_consumer(
            cluster, topics=["orders"], group_id="kitchen", group_protocol="consumer"
        )

        consumer.enforce_rebalance()

        assert [m for m in caplog.messages if "has no effect" in m]


@virtual_time
async def test_it_needs_a_group():
    async with cluster_with_orders(1) as cluster:
        with pytest.raises(StateError, match="group_id"):
            make_consumer(cluster).enforce_rebalance()
