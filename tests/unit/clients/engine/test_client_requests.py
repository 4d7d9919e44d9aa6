"""Requests reach their node in order, and each ends with a reply or with an error that says why."""

from __future__ import annotations

import asyncio
import logging

import pytest

from pyk.clients.engine.client import Client
from pyk.clients.engine.connection import VersionedRequest
from pyk.clients.errors import (
    ClosedError,
    MalformedResponseError,
    NodeDisconnectedError,
    NodeUnavailableError,
    RequestTimeoutError,
    StateError,
    UnsupportedVersionError,
)
from pyk.protocol.api_keys import ApiKey
from pyk.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from pyk.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from pyk.protocol.messages.produce import ProduceRequest
from pyk.protocol.versions import VersionRange
from pyk.runtime.network import MemoryNetwork
from pyk.runtime.virtual_time import current_clock, run_virtual, virtual_time
from support.engine_parts import make_client, running
from support.scripted_broker import CLOSE, SILENCE, ScriptedCluster


@virtual_time
async def test_a_request_is_answered_by_the_node_it_was_sent_to() -> None:
    async with running(nodes=2) as (cluster, client):
        cluster.on(HeartbeatRequest, HeartbeatResponse(error_code=27))

        response = await client.send(2, HeartbeatRequest(group_id="g"))

        assert response.error_code == 27
        assert [one.node_id for one in cluster.requests(HeartbeatRequest)] == [2]


@virtual_time
async def test_requests_leave_in_the_order_of_the_calls_also_while_connecting() -> None:
    async with running(latency=0.01, nodes=2) as (cluster, client):
        cluster.on(HeartbeatRequest, HeartbeatResponse())

        await asyncio.gather(
            *(client.send(2, HeartbeatRequest(generation_id=n)) for n in range(50))
        )

        sent = [one.message.generation_id for one in cluster.requests(HeartbeatRequest)]
        assert sent == list(range(50))
        assert cluster.connection_counts[2] == 1


@virtual_time
async def test_each_lane_is_a_connection_of_its_own() -> None:
    async with running() as (cluster, client):
        cluster.on(HeartbeatRequest, HeartbeatResponse())
        cluster.once(HeartbeatRequest, SILENCE)
        waiting = asyncio.ensure_future(client.send(1, HeartbeatRequest(), lane="fetch"))
        await asyncio.sleep(0.1)

        await client.send(1, HeartbeatRequest(), lane="group")

        assert not waiting.done()
        assert cluster.connection_counts[1] == 3
        waiting.cancel()


@virtual_time
async def test_the_highest_common_version_is_used_within_the_limits_of_the_caller() -> None:
    async with running() as (cluster, client):
        cluster.on(HeartbeatRequest, HeartbeatResponse())

        await client.send(1, HeartbeatRequest())
        await client.send(1, HeartbeatRequest(), max_version=2)

        assert [one.version for one in cluster.requests(HeartbeatRequest)] == [4, 2]


@virtual_time
async def test_a_request_can_be_built_for_its_version() -> None:
    async with running() as (cluster, client):
        cluster.on(ListGroupsRequest, ListGroupsResponse())
        request = VersionedRequest(
            ListGroupsRequest, lambda version: ListGroupsRequest(states_filter=[f"v{version}"])
        )

        await client.send(1, request, max_version=4)

        assert cluster.requests(ListGroupsRequest)[0].message.states_filter == ["v4"]


@virtual_time
async def test_a_version_that_the_node_does_not_offer_is_named() -> None:
    async with running() as (_, client):
        with pytest.raises(UnsupportedVersionError, match="Heartbeat") as raised:
            await client.send(1, HeartbeatRequest(), min_version=5)

        assert raised.value.node_id == 1


@virtual_time
async def test_a_request_that_expects_no_answer_ends_when_it_is_written() -> None:
    async with running() as (cluster, client):
        cluster.on(ProduceRequest, SILENCE)

        response = await client.send(1, ProduceRequest(acks=0))

        assert response is None
        await asyncio.sleep(0.01)
        assert len(cluster.requests(ProduceRequest)) == 1


@virtual_time
async def test_a_request_without_an_answer_times_out_and_may_have_been_applied() -> None:
    async with running(request_timeout_ms=5_000) as (cluster, client):
        cluster.on(HeartbeatRequest, SILENCE)
        began = current_clock().now()

        with pytest.raises(RequestTimeoutError, match=r"node 1 .* did not answer Heartbeat") as one:
            await client.send(1, HeartbeatRequest())

        assert current_clock().now() - began == pytest.approx(5.0)
        assert one.value.retriable
        assert not one.value.definite


@virtual_time
async def test_a_request_times_out_after_one_that_timed_out_before() -> None:
    async with running(request_timeout_ms=5_000) as (cluster, client):
        cluster.on(HeartbeatRequest, SILENCE)

        for _ in range(2):
            with pytest.raises(RequestTimeoutError):
                async with asyncio.timeout(60):
                    await client.send(1, HeartbeatRequest())


@virtual_time
async def test_requests_after_one_that_times_out_fail_with_its_connection() -> None:
    async with running() as (cluster, client):
        cluster.on(HeartbeatRequest, SILENCE)
        first = asyncio.ensure_future(client.send(1, HeartbeatRequest(), timeout_ms=1_000))
        second = asyncio.ensure_future(client.send(1, HeartbeatRequest()))

        with pytest.raises(RequestTimeoutError):
            await first
        with pytest.raises(NodeDisconnectedError) as raised:
            await second

        assert not raised.value.definite
        assert current_clock().now() < 1.1


@virtual_time
async def test_a_request_in_flight_when_the_broker_closes_may_have_been_applied() -> None:
    async with running() as (cluster, client):
        cluster.on(HeartbeatRequest, CLOSE)

        with pytest.raises(NodeDisconnectedError, match="closed the connection") as raised:
            await client.send(1, HeartbeatRequest())

        assert raised.value.retriable
        assert not raised.value.definite


@virtual_time
async def test_a_request_to_a_node_that_is_down_was_certainly_not_applied() -> None:
    async with running(nodes=2) as (cluster, client):
        await cluster.kill(2)

        with pytest.raises(NodeUnavailableError, match="connection refused") as raised:
            await client.send(2, HeartbeatRequest())

        assert raised.value.retriable
        assert raised.value.definite


@virtual_time
async def test_a_request_that_could_never_be_written_was_certainly_not_applied() -> None:
    async with running(nodes=2) as (cluster, client):
        cluster.network.isolate("broker2")

        with pytest.raises(RequestTimeoutError, match="could not be sent") as raised:
            await client.send(2, HeartbeatRequest(), timeout_ms=500)

        assert raised.value.definite


@virtual_time
async def test_an_unknown_node_is_named() -> None:
    async with running() as (_, client):
        with pytest.raises(NodeUnavailableError, match="node 7"):
            await client.send(7, HeartbeatRequest())


@virtual_time
async def test_the_connection_is_made_again_after_it_was_lost() -> None:
    async with running() as (cluster, client):
        cluster.on(HeartbeatRequest, HeartbeatResponse())
        await client.send(1, HeartbeatRequest())
        cluster.once(HeartbeatRequest, CLOSE)
        with pytest.raises(NodeDisconnectedError):
            await client.send(1, HeartbeatRequest())

        await client.send(1, HeartbeatRequest())

        assert cluster.connection_counts[1] == 2


@virtual_time
async def test_a_response_without_a_waiter_is_ignored() -> None:
    async with running(latency=0.1) as (cluster, client):
        cluster.on(
            HeartbeatRequest, lambda request: HeartbeatResponse(error_code=request.generation_id)
        )
        given_up = asyncio.ensure_future(client.send(1, HeartbeatRequest(generation_id=1)))
        await asyncio.sleep(0.05)
        given_up.cancel()

        response = await client.send(1, HeartbeatRequest(generation_id=2))

        assert response.error_code == 2
        assert cluster.connection_counts[1] == 1


@virtual_time
async def test_a_request_that_is_given_up_before_it_is_written_is_never_sent() -> None:
    async with running(nodes=2, latency=0.1) as (cluster, client):
        cluster.on(HeartbeatRequest, HeartbeatResponse())
        given_up = asyncio.ensure_future(client.send(2, HeartbeatRequest(generation_id=1)))
        await asyncio.sleep(0.05)
        given_up.cancel()

        await client.send(2, HeartbeatRequest(generation_id=2))
        await asyncio.sleep(60)  # no timer of it goes off either
        await client.send(2, HeartbeatRequest(generation_id=3))

        assert [one.message.generation_id for one in cluster.requests(HeartbeatRequest)] == [2, 3]
        assert cluster.connection_counts[2] == 1


@virtual_time
async def test_a_broker_that_asks_for_patience_gets_it() -> None:
    async with running() as (cluster, client):
        cluster.on(HeartbeatRequest, HeartbeatResponse())
        cluster.once(HeartbeatRequest, HeartbeatResponse(throttle_time_ms=2_000))
        await client.send(1, HeartbeatRequest())

        await client.send(1, HeartbeatRequest())

        first, second = cluster.requests(HeartbeatRequest)
        assert second.at - first.at == pytest.approx(2.0, abs=0.01)


@virtual_time
async def test_a_broker_that_has_held_its_answer_back_already_is_not_waited_for_again() -> None:
    async with running() as (cluster, client):
        cluster.on(HeartbeatRequest, HeartbeatResponse(throttle_time_ms=2_000))
        await client.send(1, HeartbeatRequest(), max_version=1)

        await client.send(1, HeartbeatRequest(), max_version=1)

        first, second = cluster.requests(HeartbeatRequest)
        assert second.at - first.at == pytest.approx(0.0, abs=0.01)


@virtual_time
async def test_a_short_throttle_does_not_cut_a_longer_one_short() -> None:
    async with running() as (cluster, client):
        cluster.on(HeartbeatRequest, HeartbeatResponse())
        cluster.once(
            HeartbeatRequest,
            HeartbeatResponse(throttle_time_ms=2_000),
            HeartbeatResponse(throttle_time_ms=10),
        )
        await asyncio.gather(*(client.send(1, HeartbeatRequest()) for _ in range(2)))

        await client.send(1, HeartbeatRequest())

        first, _, third = cluster.requests(HeartbeatRequest)
        assert third.at - first.at == pytest.approx(2.0, abs=0.01)


@virtual_time
async def test_a_broker_that_asks_for_an_hour_of_patience_gets_a_minute() -> None:
    async with running() as (cluster, client):
        cluster.on(HeartbeatRequest, HeartbeatResponse())
        cluster.once(HeartbeatRequest, HeartbeatResponse(throttle_time_ms=3_600_000))
        await client.send(1, HeartbeatRequest())

        await client.send(1, HeartbeatRequest(), timeout_ms=100_000)

        first, second = cluster.requests(HeartbeatRequest)
        assert second.at - first.at == pytest.approx(60.0, abs=0.01)


@virtual_time
async def test_a_response_that_is_too_large_is_a_warning_once_a_minute_that_names_the_option(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with running(max_response_bytes=2_000) as (cluster, client):
        cluster.on(HeartbeatRequest, (2_001).to_bytes(4, "big"))

        for _ in range(50):
            with pytest.raises(MalformedResponseError, match="max_response_bytes is 2000"):
                await client.send(1, HeartbeatRequest())
            await asyncio.sleep(2)

    warnings = [one for one in caplog.records if one.levelno == logging.WARNING]
    assert len(warnings) == 2
    assert all("max_response_bytes is 2000" in one.getMessage() for one in warnings)


@virtual_time
async def test_a_node_is_backed_off_from_if_its_connection_ended_before_it_was_of_use() -> None:
    async with running(nodes=2) as (cluster, client):
        cluster.on(HeartbeatRequest, HeartbeatResponse())
        connection = client.pool.connection(2, "main")
        await client.send(2, HeartbeatRequest())
        cluster.once(HeartbeatRequest, CLOSE)
        with pytest.raises(NodeDisconnectedError):
            await client.send(2, HeartbeatRequest())
        assert not connection.is_backing_off

        cluster.once(HeartbeatRequest, CLOSE)
        with pytest.raises(NodeDisconnectedError):
            await client.send(2, HeartbeatRequest())

        assert connection.is_backing_off
        await client.send(2, HeartbeatRequest())
        assert not connection.is_backing_off


@virtual_time
async def test_an_idle_connection_is_closed_and_made_again_when_needed() -> None:
    async with running(connections_max_idle_ms=60_000) as (cluster, client):
        cluster.on(HeartbeatRequest, HeartbeatResponse())
        await client.send(1, HeartbeatRequest(), lane="group")
        open_before = len(cluster.open_connections)

        await asyncio.sleep(70)

        assert len(cluster.open_connections) < open_before
        await client.send(1, HeartbeatRequest(), lane="group")


@pytest.mark.parametrize(
    "frame",
    [
        pytest.param((4).to_bytes(4, "big") + (99).to_bytes(4, "big"), id="never asked for"),
        pytest.param((3).to_bytes(4, "big") + b"abc", id="too short for a header"),
        pytest.param((0).to_bytes(4, "big"), id="empty"),
        pytest.param((-1).to_bytes(4, "big", signed=True), id="negative size"),
        pytest.param((2**31 - 1).to_bytes(4, "big"), id="huge size"),
    ],
)
@virtual_time
async def test_a_frame_that_breaks_the_protocol_ends_the_connection(frame: bytes) -> None:
    async with running() as (cluster, client):
        cluster.on(HeartbeatRequest, HeartbeatResponse())
        cluster.once(HeartbeatRequest, frame)

        with pytest.raises(MalformedResponseError, match="node 1") as raised:
            await client.send(1, HeartbeatRequest())

        assert raised.value.retriable
        assert not raised.value.definite
        await client.send(1, HeartbeatRequest())
        assert cluster.connection_counts[1] == 2


@virtual_time
async def test_a_broker_without_newer_api_versions_is_asked_again_in_its_own() -> None:
    async with running(nodes=2) as (cluster, client):
        cluster.versions[ApiKey.API_VERSIONS] = VersionRange(0, 1)
        cluster.on(HeartbeatRequest, HeartbeatResponse())

        await client.send(2, HeartbeatRequest())

        assert client.pool.versions(2) is not None


@virtual_time
async def test_nothing_can_be_asked_of_a_client_that_is_closed_or_not_started() -> None:
    async with running() as (cluster, client):
        unstarted = make_client(cluster)
        with pytest.raises(StateError, match="not started"):
            await unstarted.send(1, HeartbeatRequest())
        await client.close()

        with pytest.raises(ClosedError):
            await client.send(1, HeartbeatRequest())


@virtual_time
async def test_a_client_whose_task_failed_raises_in_every_call() -> None:
    async with running() as (_, client):
        waiting = asyncio.ensure_future(
            client.metadata_keeper.updated(client.metadata.version, current_clock().now() + 60)
        )

        async def fail() -> None:
            raise KeyError("a mistake")

        client.supervisor.spawn("fetch", fail())

        with pytest.raises(StateError, match="'fetch' failed because of a bug"):
            await waiting
        with pytest.raises(StateError, match="'fetch' failed because of a bug"):
            await client.send(1, HeartbeatRequest())


def test_a_client_cannot_be_used_on_another_event_loop() -> None:
    async def start() -> Client:
        cluster = await ScriptedCluster(MemoryNetwork()).__aenter__()
        client = make_client(cluster)
        await client.start()
        return client

    client = run_virtual(start())

    with pytest.raises(StateError, match="another event loop"):
        run_virtual(client.send(1, HeartbeatRequest()))


@virtual_time
async def test_a_request_under_way_fails_when_the_client_closes() -> None:
    async with running() as (cluster, client):
        cluster.on(HeartbeatRequest, SILENCE)
        waiting = asyncio.ensure_future(client.send(1, HeartbeatRequest()))
        await asyncio.sleep(0.1)

        await client.close()

        with pytest.raises(ClosedError):
            await waiting


@virtual_time
async def test_requests_share_one_timer_and_the_earliest_deadline_counts() -> None:
    async with running() as (cluster, client):
        cluster.on(HeartbeatRequest, SILENCE)
        loop = asyncio.get_running_loop()
        timers_before = len(loop._scheduled)  # type: ignore[attr-defined]

        slow = [
            asyncio.ensure_future(client.send(1, HeartbeatRequest(), timeout_ms=20_000))
            for _ in range(50)
        ]
        await asyncio.sleep(1)
        timers = len(loop._scheduled) - timers_before  # type: ignore[attr-defined]
        with pytest.raises(RequestTimeoutError, match="within 5 s"):
            await client.send(1, HeartbeatRequest(), timeout_ms=5_000)
        ended_at = current_clock().now()
        results = await asyncio.gather(*slow, return_exceptions=True)

        assert timers <= 2
        assert ended_at == 6
        assert all(isinstance(result, NodeDisconnectedError) for result in results)
