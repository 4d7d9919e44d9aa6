"""The connection from one broker to another is given up when it does not answer."""

from __future__ import annotations

import asyncio

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.find_coordinator import FindCoordinatorRequest
from pyk.reference_broker import AsyncCluster
from pyk.reference_broker.awaiting import value_of
from pyk.reference_broker.tcp_channels import REQUEST_TIMEOUT_SECONDS, TcpChannels
from pyk.runtime.network import MemoryNetwork
from pyk.runtime.virtual_time import current_clock, virtual_time


@virtual_time
async def test_later_requests_do_not_put_off_the_timeout_of_a_silent_connection():
    network, clock = MemoryNetwork(latency=0.001), current_clock()
    async with AsyncCluster(network=network, clock=clock) as cluster:
        port = int(cluster.bootstrap.rsplit(":", 1)[1])
        channels = TcpChannels(network, clock, lambda _: ("127.0.0.1", port), "broker")
        cluster.faults.on("FindCoordinator").once().drop_before_apply()
        began = clock.now()

        first = channels.send(0, FindCoordinatorRequest(key_type=1, coordinator_keys=["a"]))
        later = []
        while clock.now() - began < REQUEST_TIMEOUT_SECONDS + 1:
            await asyncio.sleep(1)
            later.append(
                channels.send(0, FindCoordinatorRequest(key_type=1, coordinator_keys=["b"]))
            )

        assert first.is_done
        assert await value_of(first) is ErrorCode.NETWORK_EXCEPTION
        assert not isinstance(await value_of(later[-1]), ErrorCode)
        await channels.close()
