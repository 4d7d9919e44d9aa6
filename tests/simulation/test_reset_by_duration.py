"""With auto_offset_reset="by_duration:…" partitions begin at a time before now (KIP-1106)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pyk.clients import AsyncAdmin
from pyk.runtime.virtual_time import virtual_time
from support.consuming import (
    P0,
    cluster_with_orders,
    make_consumer,
    network_of,
    produce,
    read,
)
from support.environments import client_options

LAST_HOUR: Any = {"auto_offset_reset": "by_duration:PT1H"}


@pytest.mark.parametrize("group", [None, "kitchen"])
@virtual_time
async def test_a_partition_begins_at_the_first_record_of_the_duration(group):
    async with cluster_with_orders(3) as cluster:
        await asyncio.sleep(7200)
        await produce(cluster, "orders", 2)

        async with make_consumer(
            cluster, topics=["orders"], group_id=group, **LAST_HOUR
        ) as consumer:
            assert await read(consumer, 2) == [b"0", b"1"]
            assert await consumer.position(P0) == 5


@virtual_time
async def test_without_a_record_in_the_duration_it_begins_at_the_end():
    async with cluster_with_orders(3) as cluster:
        await asyncio.sleep(7200)
        async with make_consumer(cluster, **LAST_HOUR) as consumer:
            consumer.assign([P0])

            assert await consumer.position(P0) == 3


@virtual_time
async def test_a_position_that_retention_has_deleted_is_reset_by_the_duration():
    async with cluster_with_orders(10) as cluster:
        await asyncio.sleep(7200)
        await produce(cluster, "orders", 2)
        async with (
            AsyncAdmin(cluster.bootstrap, **client_options(network_of(cluster))) as admin,
            make_consumer(cluster, **LAST_HOUR) as consumer,
        ):
            await admin.delete_records({P0: 4})
            consumer.assign([P0])
            consumer.seek(P0, 1)

            assert await read(consumer, 2) == [b"0", b"1"]
