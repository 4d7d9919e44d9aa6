"""Brokers that name coordinators which cannot be: a typed error, and the client goes on."""

from __future__ import annotations

from typing import Any

import pytest

from pyk.clients.engine.coordinators import CoordinatorType
from pyk.clients.errors import KafkaTimeoutError, MalformedResponseError
from pyk.protocol.api_keys import ApiKey
from pyk.protocol.messages.find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from pyk.protocol.versions import VersionRange
from pyk.runtime.network import MemoryNetwork
from pyk.runtime.virtual_time import virtual_time
from support.engine_parts import make_client
from support.scripted_broker import ScriptedCluster

GOOD: dict[str, Any] = {"node_id": 1, "host": "broker1", "port": 9092}
BAD: list[dict[str, Any]] = [
    {"port": -1},
    {"port": 0},
    {"port": 70_000},
    {"port": -(2**31)},
    {"host": ""},
    {"host": "broker\r\nINFO forged line"},
    {"host": "\0"},
    {"host": "b" * 10_000},
    {"node_id": -1},
    {"node_id": -5},
]


@pytest.mark.parametrize("version", [2, 6])
@pytest.mark.parametrize("bad", BAD, ids=lambda bad: repr(bad)[:30])
def test_a_coordinator_that_cannot_be_is_not_connected_to(
    bad: dict[str, Any], version: int
) -> None:
    @virtual_time
    async def run() -> None:
        async with ScriptedCluster(MemoryNetwork()) as cluster:
            cluster.versions[ApiKey.FIND_COORDINATOR] = VersionRange(0, version)
            client = make_client(cluster)
            await client.start()

            def answer(request: FindCoordinatorRequest) -> FindCoordinatorResponse:
                named = GOOD | bad
                if version < 4:
                    return FindCoordinatorResponse(**named)
                return FindCoordinatorResponse(coordinators=[Coordinator(key="g", **named)])

            cluster.on(FindCoordinatorRequest, answer)
            deadline = client.clock.now() + 5
            with pytest.raises(KafkaTimeoutError) as caught:
                await client.coordinators.find(CoordinatorType.GROUP, "g", deadline)

            assert isinstance(caught.value.__cause__, MalformedResponseError)
            assert "\n" not in str(caught.value)
            assert len(str(caught.value)) < 1000
            assert not client.pool.knows(-5)
            assert client.failure is None
            await client.close()

    run()
