"""A client can be closed in any state and calls cancelled at any point; nothing is left over."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from pyk.clients import AsyncConsumer, AsyncProducer, AsyncShareConsumer
from pyk.clients.engine.client import Client
from pyk.clients.engine.coordinators import CoordinatorType
from pyk.clients.errors import ClosedError, KafkaError
from pyk.protocol.messages.find_coordinator import FindCoordinatorRequest
from pyk.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from pyk.protocol.messages.metadata import MetadataRequest
from pyk.protocol.versions import ALL_VERSIONS
from pyk.runtime.network import MemoryNetwork
from pyk.runtime.virtual_time import current_clock, run_virtual, virtual_time
from support.engine_parts import make_client, running
from support.scripted_broker import CLOSE, SILENCE, ScriptedCluster

SEEDS_PER_TEST = 100
MOST_TURNS = 100

Call = Callable[[Client], Awaitable[Any]]


def deadline_in(seconds: float) -> float:
    return current_clock().now() + seconds


CALLS: dict[str, Call] = {
    "send": lambda client: client.send(2, HeartbeatRequest()),
    "send on another lane": lambda client: client.send(1, HeartbeatRequest(), lane="group"),
    "find a topic": lambda client: client.topics.find("orders", deadline_in(10)),
    "find a missing topic": lambda client: client.topics.find("missing", deadline_in(2)),
    "find a coordinator": lambda client: client.coordinators.find(
        CoordinatorType.GROUP, "g", deadline_in(10)
    ),
    "wait for metadata": lambda client: client.metadata_keeper.updated(
        client.metadata.version, deadline_in(2)
    ),
}


def test_connections_to_silent_brokers_end_but_those_that_carry_records_by_their_timeouts() -> None:
    clients = [
        AsyncConsumer("127.0.0.1:1")._core.client,
        AsyncShareConsumer("127.0.0.1:1", group_id="g")._core.client,
        AsyncProducer("127.0.0.1:1")._core.client,
    ]

    assert [client.network._ends_silent for client in clients] == [True, True, False]  # type: ignore[attr-defined]


# -- closing ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("first_seed", range(0, 500, SEEDS_PER_TEST))
def test_a_client_closes_in_time_from_any_state(first_seed: int) -> None:
    for seed in range(first_seed, first_seed + SEEDS_PER_TEST):
        try:
            run_virtual(close_from_a_random_state(random.Random(seed)))
        except BaseException as error:
            error.add_note(f"seed {seed}")
            raise


async def close_from_a_random_state(rng: random.Random) -> None:
    network = MemoryNetwork(latency=rng.choice([0.0, 0.001, 0.2]))
    async with ScriptedCluster(network, nodes=3) as cluster:
        cluster.add_topic("orders", leaders=[1, 2, 3])
        cluster.on(HeartbeatRequest, rng.choice([HeartbeatResponse(), SILENCE, CLOSE]))
        client = make_client(cluster, bootstrap=cluster.bootstrap)
        calls = await start_client_and_calls(client, rng)
        await break_some_nodes(cluster, rng)
        await asyncio.sleep(rng.choice([0, 0.0005, 0.1, 3, 40]))
        timeout = rng.choice([0.0, 0.5, 5.0])

        await assert_closes_in_time(client, timeout)

        await assert_each_returns_or_raises_a_kafka_error(calls)
        await asyncio.sleep(1)
        assert_no_task_is_left()


async def start_client_and_calls(client: Client, rng: random.Random) -> list[asyncio.Future[Any]]:
    """Start a client, and with luck calls of it; return those calls, of which `start` is one."""
    start = asyncio.ensure_future(client.start(10))
    if rng.random() >= 0.8:
        return [start]
    await asyncio.wait([start], timeout=5)
    calls = [rng.choice(list(CALLS.values())) for _ in range(rng.randrange(8))]
    return [start, *[asyncio.ensure_future(call(client)) for call in calls]]


async def break_some_nodes(cluster: ScriptedCluster, rng: random.Random) -> None:
    """Kill or freeze each node with even odds, and maybe leave a kind of request unanswered."""
    for node_id, host in cluster.nodes.items():
        luck = rng.random()
        if luck < 0.25:
            await cluster.kill(node_id)
        elif luck < 0.5:
            cluster.network.isolate(host)
    if rng.random() < 0.5:
        cluster.on(rng.choice([MetadataRequest, FindCoordinatorRequest]), SILENCE)


@virtual_time
async def test_closing_leaves_no_connection_and_no_task() -> None:
    async with running(nodes=3) as (cluster, client):
        cluster.on(HeartbeatRequest, HeartbeatResponse())
        for node_id in (1, 2, 3):
            await client.send(node_id, HeartbeatRequest(), lane="group")

        await client.close()

        await asyncio.sleep(0.01)
        assert cluster.network.open_connections == 0
        assert_no_task_is_left()


@virtual_time
async def test_a_request_submitted_while_its_client_closes_fails_once() -> None:
    ends: list[Exception] = []

    async def submit_when_cancelled(client: Client) -> None:
        try:
            await asyncio.sleep(60)
        finally:
            connection = client.pool.connection(2, "main")
            try:
                connection.submit(HeartbeatRequest(), 1.0, ALL_VERSIONS, Ends(ends))
            except KafkaError as error:  # as the sender of a producer takes it
                ends.append(error)

    async with running(2) as (_, client):
        client.supervisor.spawn("submit when cancelled", submit_when_cancelled(client))
        await asyncio.sleep(0)

        await client.close()

    assert [type(end) for end in ends] == [ClosedError]


class Ends:
    """Waits for the outcome of a request, and lists each error that it gets."""

    def __init__(self, ends: list[Exception]) -> None:
        self._ends = ends

    def done(self) -> bool:
        return False

    def set_result(self, result: Any, /) -> None:
        raise AssertionError(f"answered with {result}")

    def set_exception(self, exception: Exception, /) -> None:
        self._ends.append(exception)


@virtual_time
async def test_closing_twice_is_fine() -> None:
    async with running() as (_, client):
        await client.close()
        await client.close()


@virtual_time
async def test_a_client_that_was_never_started_can_be_closed() -> None:
    async with ScriptedCluster(MemoryNetwork()) as cluster:
        await make_client(cluster).close()


# -- cancelling ------------------------------------------------------------------------------------


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS.keys())
def test_a_client_works_after_a_call_was_cancelled_at_any_point(call: Call) -> None:
    turns = 0
    while turns < MOST_TURNS and run_virtual(cancel_a_call(call, after_turns=turns)):
        turns += 1

    assert turns > 3


async def cancel_a_call(call: Call, after_turns: int) -> bool:
    """Check that a client works after this; return whether the call was still running."""
    async with running(nodes=2) as (cluster, client):
        cluster.add_topic("orders", leaders=[1])
        cluster.on(HeartbeatRequest, HeartbeatResponse())
        tasks_before = client.supervisor.task_names

        was_running = await start_and_cancel(call(client), after_turns)

        await client.send(1, HeartbeatRequest())
        await client.send(2, HeartbeatRequest())
        await client.topics.find("orders", deadline_in(5))
        await asyncio.sleep(5)
        assert client.supervisor.task_names == tasks_before
        return was_running


@pytest.mark.parametrize("turns", range(0, 60, 3))
@virtual_time
async def test_a_client_starts_after_its_start_was_cancelled(turns: int) -> None:
    async with ScriptedCluster(MemoryNetwork(), nodes=2) as cluster:
        client = make_client(cluster, bootstrap=cluster.bootstrap)
        await start_and_cancel(client.start(), turns)

        await client.start()

        assert set(client.metadata.nodes) == {1, 2}
        await client.close()
        assert_no_task_is_left()


async def start_and_cancel(call: Awaitable[Any], turns: int) -> bool:
    """Cancel a call after this many turns of the loop; return whether it was still running."""
    task = asyncio.ensure_future(call)
    for _ in range(turns):  # without latency, every await of the call is reached within some turns
        await asyncio.sleep(0)
    was_running = task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    return was_running


# -- checks ----------------------------------------------------------------------------------------


async def assert_closes_in_time(client: Client, timeout: float) -> None:
    started = current_clock().now()
    await client.close(timeout)
    assert current_clock().now() - started <= timeout + 0.2


async def assert_each_returns_or_raises_a_kafka_error(calls: list[asyncio.Future[Any]]) -> None:
    async with asyncio.timeout(11):
        outcomes = await asyncio.gather(*calls, return_exceptions=True)
    errors = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
    assert [error for error in errors if not isinstance(error, KafkaError)] == []


def assert_no_task_is_left() -> None:
    assert asyncio.all_tasks() == {asyncio.current_task()}
