"""Finding the cluster, or saying of every address how far it came."""

from __future__ import annotations

import asyncio
import socket

import pytest

from pyk.clients.errors import BootstrapError, Stage
from pyk.protocol.api_keys import ApiKey
from pyk.protocol.messages.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from pyk.protocol.messages.metadata import MetadataRequest, MetadataResponse
from pyk.protocol.versions import VersionRange
from pyk.runtime.network import Address, MemoryNetwork
from pyk.runtime.virtual_time import current_clock, virtual_time
from support.engine_parts import make_client
from support.scripted_broker import CLOSE, SILENCE, ScriptedCluster


class NamedNetwork(MemoryNetwork):
    """A network with names of its own."""

    def __init__(self, names: dict[str, list[str]]) -> None:
        super().__init__()
        self.names = names

    async def resolve(self, host: str, port: int) -> list[Address]:
        if host not in self.names:
            raise socket.gaierror(-2, "Name or service not known")
        return [Address(address, port) for address in self.names[host]]


async def failure(cluster: ScriptedCluster, bootstrap: str, timeout: float = 5.0) -> BootstrapError:
    """Return the error of a client that cannot find its cluster, and check that nothing is left."""
    client = make_client(cluster, bootstrap=bootstrap)
    try:
        with pytest.raises(BootstrapError) as raised:
            await client.start(timeout)
    finally:
        await client.close()
    assert asyncio.all_tasks() == {asyncio.current_task()}
    return raised.value


@virtual_time
async def test_one_server_that_answers_is_enough() -> None:
    async with ScriptedCluster(MemoryNetwork(), nodes=3) as cluster:
        await cluster.kill(1)
        await cluster.kill(2)
        client = make_client(cluster, bootstrap=cluster.bootstrap)

        await client.start(5.0)

        assert set(client.metadata.nodes) == {1, 2, 3}
        await client.close()


@virtual_time
async def test_a_server_that_is_silent_does_not_hold_up_the_others() -> None:
    async with ScriptedCluster(MemoryNetwork(), nodes=2) as cluster:
        cluster.network.isolate("broker1")
        client = make_client(cluster, bootstrap=cluster.bootstrap)

        await client.start(30.0)

        assert current_clock().now() <= 1.0
        await client.close()


@virtual_time
async def test_the_connection_to_a_broker_that_was_a_bootstrap_server_is_kept() -> None:
    async with ScriptedCluster(MemoryNetwork()) as cluster:
        client = make_client(cluster)
        await client.start()

        await client.send(1, MetadataRequest(topics=[]))

        assert cluster.connection_counts[1] == 1
        await client.close()


@virtual_time
async def test_servers_that_refuse_are_named_at_once() -> None:
    async with ScriptedCluster(MemoryNetwork()) as cluster:
        error = await failure(cluster, "down1:9092,down2:9093")

        assert [(a.server, a.stage) for a in error.attempts] == [
            ("down1:9092", Stage.TCP),
            ("down2:9093", Stage.TCP),
        ]
        assert "connection refused" in str(error)
        assert "is the broker up" in str(error)
        assert current_clock().now() < 0.1


@virtual_time
async def test_a_name_that_does_not_exist_is_named_with_its_stage() -> None:
    network = NamedNetwork({})
    async with ScriptedCluster(network) as cluster:
        error = await failure(cluster, "nowhere:9092")

        assert [(a.server, a.address, a.stage) for a in error.attempts] == [
            ("nowhere:9092", None, Stage.DNS)
        ]
        assert "Name or service not known" in str(error)


@virtual_time
async def test_every_address_of_a_name_is_tried_and_named() -> None:
    network = NamedNetwork({"kafka": ["10.0.0.1", "10.0.0.2"]})
    async with ScriptedCluster(network) as cluster:
        error = await failure(cluster, "kafka:9092")

        assert [a.address for a in error.attempts] == ["10.0.0.1:9092", "10.0.0.2:9092"]


@virtual_time
async def test_a_second_address_of_a_name_is_as_good_as_the_first() -> None:
    network = NamedNetwork({"kafka": ["10.0.0.1", "broker1"], "broker1": ["broker1"]})
    async with ScriptedCluster(network) as cluster:
        client = make_client(cluster, bootstrap="kafka:9092")

        await client.start(5.0)

        assert set(client.metadata.nodes) == {1}
        await client.close()


@virtual_time
async def test_a_timeout_is_kept_when_no_broker_answers() -> None:
    async with ScriptedCluster(MemoryNetwork(), nodes=2) as cluster:
        cluster.network.isolate("broker1")
        cluster.on(ApiVersionsRequest, SILENCE)

        error = await failure(cluster, cluster.bootstrap, timeout=3.0)

        assert current_clock().now() == pytest.approx(3.0, abs=0.2)
        assert [(a.server, a.stage) for a in error.attempts] == [
            ("broker1:9092", Stage.TCP),
            ("broker2:9092", Stage.API_VERSIONS),
        ]
        assert "firewall" in str(error)


@virtual_time
async def test_a_broker_that_closes_on_metadata_probably_wants_a_password() -> None:
    async with ScriptedCluster(MemoryNetwork()) as cluster:
        cluster.on(MetadataRequest, CLOSE)

        error = await failure(cluster, "broker1:9092")

        assert [a.stage for a in error.attempts] == [Stage.METADATA]
        assert "SASL" in str(error)


@virtual_time
async def test_a_broker_that_knows_of_no_broker_is_starting() -> None:
    async with ScriptedCluster(MemoryNetwork()) as cluster:
        cluster.on(MetadataRequest, MetadataResponse())

        assert "starting" in str(await failure(cluster, "broker1:9092"))


@pytest.mark.parametrize(
    ("first_bytes", "words"),
    [
        (b"HTTP/1.0 400 Bad Request\r\n\r\n", "web server"),
        (b"<!DOCTYPE html><html></html>", "web server"),
        (b"\x15\x03\x01\x00\x02\x02\x46", "TLS"),
        (b"SSH-2.0-OpenSSH_9.6\r\n", "SSH"),
        (b"-ERR unknown command\r\n", "Redis"),
    ],
)
@virtual_time
async def test_a_server_that_is_not_a_broker_is_recognised(first_bytes: bytes, words: str) -> None:
    async with ScriptedCluster(MemoryNetwork()) as cluster:
        cluster.on(ApiVersionsRequest, first_bytes)

        error = await failure(cluster, "broker1:9092")

        assert [a.stage for a in error.attempts] == [Stage.API_VERSIONS]
        assert words in str(error)
        assert current_clock().now() < 1.0


def test_the_first_request_ends_a_line_for_servers_that_read_lines() -> None:
    from pyk.clients.engine.protocol_sniffer import FIRST_CORRELATION_ID

    assert FIRST_CORRELATION_ID.to_bytes(4, "big") == b"\r\n\r\n"


def versions_answer(**more: int) -> ApiVersionsResponse:
    offered = [ApiVersion(api_key=3, min_version=0, max_version=13)]
    return ApiVersionsResponse(api_keys=offered, **more)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        pytest.param(ApiVersionsResponse(), "does not offer Metadata", id="nothing offered"),
        pytest.param(
            ApiVersionsResponse(api_keys=[ApiVersion(api_key=3, min_version=9, max_version=1)]),
            "Metadata",
            id="lowest above highest",
        ),
        pytest.param(
            ApiVersionsResponse(api_keys=[ApiVersion(api_key=3, min_version=90, max_version=99)]),
            "90-99",
            id="versions from the future",
        ),
        pytest.param(versions_answer(error_code=31_000), "31000", id="an unknown error"),
    ],
)
@virtual_time
async def test_odd_answers_to_api_versions_end_in_an_error(
    answer: ApiVersionsResponse, words: str
) -> None:
    async with ScriptedCluster(MemoryNetwork()) as cluster:
        cluster.on(ApiVersionsRequest, answer)

        error = await failure(cluster, "broker1:9092")

        assert words in str(error)
        assert len(cluster.requests(ApiVersionsRequest)) <= 3


@virtual_time
async def test_a_broker_that_refuses_every_version_of_api_versions_is_given_up() -> None:
    async with ScriptedCluster(MemoryNetwork()) as cluster:
        cluster.versions[ApiKey.API_VERSIONS] = VersionRange(70, 70)

        error = await failure(cluster, "broker1:9092")

        assert "refuses every version" in str(error)
        assert cluster.connection_counts[1] == 1


@virtual_time
async def test_ten_thousand_unknown_apis_disturb_nothing() -> None:
    async with ScriptedCluster(MemoryNetwork()) as cluster:
        unknown = [
            ApiVersion(api_key=key, min_version=0, max_version=1) for key in range(5_000, 15_000)
        ]
        cluster.on(ApiVersionsRequest, ApiVersionsResponse(api_keys=cluster.offered(1) + unknown))
        client = make_client(cluster)

        await client.start()

        await client.close()


@virtual_time
async def test_a_broker_before_version_2_4_is_asked_in_version_0() -> None:
    async with ScriptedCluster(MemoryNetwork()) as cluster:
        cluster.versions[ApiKey.API_VERSIONS] = VersionRange(0, 0)
        cluster.versions[ApiKey.METADATA] = VersionRange(0, 5)
        client = make_client(cluster)

        await client.start()

        assert [one.version for one in cluster.requests(ApiVersionsRequest)] == [0]
        assert [one.version for one in cluster.requests(MetadataRequest)] == [5]
        await client.close()
