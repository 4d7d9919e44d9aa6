"""A client can be closed in any state, and given up on at any point, and leaves nothing behind."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from pyk.clients.engine.client import Client
from pyk.clients.engine.coordinators import CoordinatorType
from pyk.clients.errors import KafkaError
from pyk.protocol.io import MemoryNetwork
from pyk.protocol.messages.find_coordinator import FindCoordinatorRequest
from pyk.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from pyk.protocol.messages.metadata import MetadataRequest
from support.engine_parts import make_client, running
from support.scripted_broker import CLOSE, SILENCE, ScriptedCluster
from support.virtual_time import current_clock, run_virtual, virtual_time

Operation = Callable[[Client], Awaitable[Any]]

OPERATIONS: dict[str, Operation] = {
    "send": lambda client: client.send(2, HeartbeatRequest()),
    "send on another lane": lambda client: client.send(1, HeartbeatRequest(), lane="group"),
    "find a topic": lambda client: client.topic("orders", current_clock().now() + 10),
    "find a topic that is missing": lambda client: client.topic("no", current_clock().now() + 2),
    "find a coordinator": lambda client: client.coordinator(
        CoordinatorType.GROUP, "g", current_clock().now() + 10
    ),
    "wait for metadata": lambda client: client.metadata_updated(
        client.metadata.version, current_clock().now() + 2
    ),
}


async def in_any_state(seed: int) -> None:
    """Bring a client into a state by chance, close it, and look at what is left."""
    chance = random.Random(seed)
    network = MemoryNetwork(latency=chance.choice([0.0, 0.001, 0.2]))
    async with ScriptedCluster(network, nodes=3) as cluster:
        cluster.add_topic("orders", leaders=[1, 2, 3])
        cluster.on(HeartbeatRequest, chance.choice([HeartbeatResponse(), SILENCE, CLOSE]))
        client = make_client(cluster, bootstrap=cluster.bootstrap)
        calls = []
        starting = asyncio.ensure_future(client.start(10))
        if chance.random() < 0.8:
            await asyncio.wait([starting], timeout=5)
            calls = [
                asyncio.ensure_future(chance.choice(list(OPERATIONS.values()))(client))
                for _ in range(chance.randrange(8))
            ]
        for node_id in (1, 2, 3):
            trouble = chance.random()
            if trouble < 0.25:
                await cluster.kill(node_id)
            elif trouble < 0.5:
                network.freeze(f"broker{node_id}", 9092)
        if chance.random() < 0.5:
            cluster.on(chance.choice([MetadataRequest, FindCoordinatorRequest]), SILENCE)
        await asyncio.sleep(chance.choice([0, 0.0005, 0.1, 3, 40]))
        timeout = chance.choice([0.0, 0.5, 5.0])
        began = current_clock().now()

        await client.close(timeout)

        assert current_clock().now() - began <= timeout + 0.2
        outcomes = await asyncio.wait_for(
            asyncio.gather(starting, *calls, return_exceptions=True), timeout=11
        )
        assert all(
            isinstance(outcome, KafkaError) or not isinstance(outcome, BaseException)
            for outcome in outcomes
        )
        await asyncio.sleep(1)
        assert asyncio.all_tasks() == {asyncio.current_task()}


@pytest.mark.parametrize("hundred", range(5))
def test_a_client_closes_in_time_from_any_state(hundred: int) -> None:
    for seed in range(hundred * 100, hundred * 100 + 100):
        try:
            run_virtual(in_any_state(seed))
        except BaseException as error:
            error.add_note(f"seed {seed}")
            raise


@virtual_time
async def test_closing_leaves_no_connection_and_no_task() -> None:
    async with running(nodes=3) as (cluster, client):
        cluster.on(HeartbeatRequest, HeartbeatResponse())
        for node_id in (1, 2, 3):
            await client.send(node_id, HeartbeatRequest(), lane="group")

        await client.close()

        await asyncio.sleep(0.01)
        assert cluster.network.open_connections == 0
        assert asyncio.all_tasks() == {asyncio.current_task()}


@virtual_time
async def test_closing_twice_is_fine() -> None:
    async with running() as (_, client):
        await client.close()
        await client.close()


@virtual_time
async def test_a_client_that_was_never_started_can_be_closed() -> None:
    async with ScriptedCluster(MemoryNetwork()) as cluster:
        await make_client(cluster).close()


async def given_up_after(steps: int, operation: Operation) -> bool:
    """Give up an operation after that many turns of the loop; say whether it was still running."""
    async with running(nodes=2) as (cluster, client):
        cluster.add_topic("orders", leaders=[1])
        cluster.on(HeartbeatRequest, HeartbeatResponse())
        tasks_before = client.supervisor.task_names
        task = asyncio.ensure_future(operation(client))
        for _ in range(steps):  # of no time at all, so every await is reached
            await asyncio.sleep(0)

        was_running = task.cancel()
        await asyncio.gather(task, return_exceptions=True)

        await client.send(1, HeartbeatRequest())
        await client.send(2, HeartbeatRequest())
        await client.topic("orders", current_clock().now() + 5)
        await asyncio.sleep(5)
        assert client.supervisor.task_names == tasks_before
        return was_running


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS.keys())
def test_a_client_is_usable_after_an_operation_was_given_up_at_any_point(
    operation: Operation,
) -> None:
    steps = 0
    while run_virtual(given_up_after(steps, operation)) and steps < 100:
        steps += 1

    assert steps > 3


@pytest.mark.parametrize("steps", range(0, 60, 3))
def test_a_start_that_was_given_up_can_be_repeated(steps: int) -> None:
    async def main() -> None:
        async with ScriptedCluster(MemoryNetwork(), nodes=2) as cluster:
            client = make_client(cluster, bootstrap=cluster.bootstrap)
            task = asyncio.ensure_future(client.start())
            for _ in range(steps):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

            await client.start()

            assert set(client.metadata.nodes) == {1, 2}
            await client.close()
            assert asyncio.all_tasks() == {asyncio.current_task()}

    run_virtual(main())
