"""A transaction that follows another one waits for its markers, and little longer."""

from __future__ import annotations

import pytest

from pyk.clients import AsyncProducer
from pyk.reference_broker import AsyncCluster
from pyk.runtime.network import MemoryNetwork
from pyk.runtime.virtual_time import current_clock, virtual_time
from support.environments import client_options

ONE_WAY_MS = 1
ROUND_TRIP_MS = 2 * ONE_WAY_MS


@pytest.mark.parametrize("markers_take_ms", [1, 2, 10])
@virtual_time
async def test_a_transaction_begins_soon_after_the_markers_of_the_one_before(
    markers_take_ms: int,
) -> None:
    network = MemoryNetwork(latency=ONE_WAY_MS / 1000)
    async with (
        AsyncCluster(clock=current_clock(), network=network) as cluster,
        AsyncProducer(
            cluster.bootstrap, transactional_id="payments", linger_ms=0, **client_options(network)
        ) as producer,
    ):
        await cluster.create_topic("orders")
        cluster.faults.on("WriteTxnMarkers").delay(markers_take_ms)
        async with producer.transaction():
            await producer.send("orders", b"first")

        before = current_clock().now()
        async with producer.transaction():
            await producer.send("orders", b"second")

        # Its own requests are a produce, its verification and the end.
        took_ms = (current_clock().now() - before) * 1000
        assert took_ms <= 3 * ROUND_TRIP_MS + 2 * (ROUND_TRIP_MS + markers_take_ms)
