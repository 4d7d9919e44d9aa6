"""Metadata stay true while the cluster changes, and cost little while it does not."""

from __future__ import annotations

import asyncio
from uuid import UUID

import attrs
import pytest

from pyk.clients.engine.coordinators import CoordinatorType
from pyk.clients.engine.metadata import MetadataImage
from pyk.clients.errors import (
    ClosedError,
    GroupAuthorizationFailedError,
    InvalidTopicError,
    KafkaTimeoutError,
)
from pyk.clients.topic_partition import TopicPartition
from pyk.protocol.api_keys import ApiKey
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from pyk.protocol.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponseTopic,
)
from pyk.protocol.versions import VersionRange
from pyk.runtime.virtual_time import current_clock, virtual_time
from support.engine_parts import running
from support.scripted_broker import CLOSE, ScriptedCluster

ORDERS = TopicPartition("orders", 0)


def asked(cluster: ScriptedCluster) -> int:
    return len(cluster.requests(MetadataRequest))


@virtual_time
async def test_a_topic_that_is_tracked_is_asked_for_at_once() -> None:
    async with running(nodes=2) as (cluster, client):
        cluster.add_topic("orders", leaders=[2])

        topic = await client.topics.find("orders", current_clock().now() + 1)

        assert topic.partition_count == 1
        assert client.metadata.leader(ORDERS) == 2
        assert current_clock().now() < 0.01


@virtual_time
async def test_a_topic_is_waited_for_until_it_exists() -> None:
    async with running() as (cluster, client):
        waiting = asyncio.ensure_future(client.topics.find("orders", current_clock().now() + 30))
        await asyncio.sleep(5)

        cluster.add_topic("orders", leaders=[1])
        topic = await waiting

        assert topic.name == "orders"
        assert current_clock().now() < 6.5


@virtual_time
async def test_a_topic_that_never_comes_is_a_timeout_that_names_the_last_answer() -> None:
    async with running() as (_, client):
        with pytest.raises(KafkaTimeoutError, match="UNKNOWN_TOPIC_OR_PARTITION") as raised:
            await client.topics.find("orders", current_clock().now() + 3)

        assert raised.value.topic == "orders"
        assert current_clock().now() == pytest.approx(3.0, abs=0.01)


@virtual_time
async def test_a_topic_that_cannot_be_is_an_error_at_once() -> None:
    async with running() as (cluster, client):
        cluster.add_topic("a b", leaders=[]).error_code = ErrorCode.INVALID_TOPIC_EXCEPTION

        with pytest.raises(InvalidTopicError):
            await client.topics.find("a b", current_clock().now() + 30)

        assert current_clock().now() < 0.1


@virtual_time
async def test_waiting_for_metadata_of_a_closed_client_is_an_error_at_once() -> None:
    async with running() as (_, client):
        await client.close()

        for _ in range(2):
            with pytest.raises(ClosedError):
                await client.metadata_keeper.updated(client.metadata.version, 1000)

        assert current_clock().now() < 0.1


@virtual_time
async def test_many_requests_for_an_update_are_one_question() -> None:
    async with running() as (cluster, client):
        before = asked(cluster)

        for _ in range(100):
            client.metadata_keeper.request_update()
        await asyncio.sleep(1)

        assert asked(cluster) == before + 1


@virtual_time
async def test_a_leader_that_stays_away_is_not_asked_for_in_a_loop() -> None:
    async with running() as (cluster, client):
        before = asked(cluster)

        for _ in range(6_000):
            client.metadata_keeper.request_update()
            await asyncio.sleep(0.01)

        assert asked(cluster) - before < 90  # a minute, one a second and a few at first


@virtual_time
async def test_an_idle_client_asks_once_in_a_metadata_age() -> None:
    async with running(metadata_max_age_ms=60_000) as (cluster, _):
        before = asked(cluster)

        await asyncio.sleep(601)

        assert 9 <= asked(cluster) - before <= 10


@virtual_time
async def test_another_topic_id_is_confirmed_or_refuted_within_a_second() -> None:
    async with running(metadata_max_age_ms=60_000) as (cluster, client):
        topic = cluster.add_topic("orders", leaders=[1])
        client.topics.use("test", {"orders"})
        await asyncio.sleep(1)
        assert client.metadata.topic_id("orders") != UUID(int=0xBEEF)
        topic.topic_id = UUID(int=0xBEEF)

        client.metadata_keeper.request_update()
        await asyncio.sleep(1)

        assert client.metadata.topic_id("orders") == UUID(int=0xBEEF)


@virtual_time
async def test_listeners_get_each_image() -> None:
    async with running() as (cluster, client):
        images: list[MetadataImage] = []
        client.metadata_keeper.add_listener(images.append)
        cluster.add_topic("orders", leaders=[1])

        await client.topics.find("orders", current_clock().now() + 1)

        assert [image.leader(ORDERS) for image in images] == [1]


@virtual_time
async def test_a_timeout_of_metadata_says_why() -> None:
    async with running(metadata_recovery_strategy="none") as (cluster, client):
        await cluster.kill(1)
        client.metadata_keeper.request_update()

        with pytest.raises(KafkaTimeoutError, match="connection refused"):
            await client.metadata_keeper.updated(client.metadata.version, current_clock().now() + 5)


@virtual_time
async def test_another_node_is_asked_when_one_fails() -> None:
    async with running(nodes=3) as (cluster, client):
        await cluster.kill(1)
        version = client.metadata.version
        client.metadata_keeper.request_update()

        await client.metadata_keeper.updated(version, current_clock().now() + 5)

        assert current_clock().now() < 1.5


@virtual_time
async def test_metadata_that_cannot_be_true_are_refused_and_the_next_node_asked() -> None:
    async with running(nodes=2) as (cluster, client):
        liar = MetadataResponse(
            brokers=[MetadataResponseBroker(node_id=1, host="a\r\nb", port=9092)]
        )
        cluster.once(MetadataRequest, liar)
        version = client.metadata.version
        client.metadata_keeper.request_update()

        await client.metadata_keeper.updated(version, current_clock().now() + 5)

        assert set(client.metadata.nodes) == {1, 2}


@virtual_time
async def test_leaders_that_came_with_an_error_are_used_before_metadata_are_asked() -> None:
    async with running(nodes=2) as (cluster, client):
        cluster.add_topic("orders", leaders=[1], epoch=3)
        client.topics.use("test", ["orders"])
        await client.topics.find("orders", current_clock().now() + 1)

        assert client.metadata_keeper.update_leaders({ORDERS: (2, 4)}) == {ORDERS}
        assert client.metadata_keeper.update_leaders({ORDERS: (1, 4)}) == set()

        assert client.metadata.leader(ORDERS) == 2
        await asyncio.sleep(1)  # the broker that answers has not heard of it yet
        assert client.metadata.leader(ORDERS) == 2


@virtual_time
async def test_a_minute_without_brokers_costs_few_connects() -> None:
    async with running(nodes=3) as (cluster, client):
        for node_id in (1, 2, 3):
            await cluster.kill(node_id)
        attempts = 0
        connect = cluster.network.connect

        async def counting(*arguments: object) -> object:
            nonlocal attempts
            attempts += 1
            return await connect(*arguments)  # type: ignore[arg-type]

        cluster.network.connect = counting  # type: ignore[method-assign, assignment]
        client.metadata_keeper.request_update()

        await asyncio.sleep(60)

        assert attempts < 4 * 75  # four addresses, one a second each and a few at first


@virtual_time
async def test_a_broker_that_accepts_and_closes_is_backed_off_from() -> None:
    async with running() as (cluster, client):
        cluster.on(MetadataRequest, CLOSE)
        before = cluster.connection_counts[1]
        client.metadata_keeper.request_update()

        await asyncio.sleep(60)

        assert cluster.connection_counts[1] - before < 150


@virtual_time
async def test_everything_goes_on_after_an_outage() -> None:
    async with running(nodes=2) as (cluster, client):
        await cluster.kill(1)
        await cluster.kill(2)
        client.metadata_keeper.request_update()
        await asyncio.sleep(30)
        version = client.metadata.version

        await cluster.start(1)
        await cluster.start(2)

        await client.metadata_keeper.updated(version, current_clock().now() + 2.5)


# -- coordinators ----------------------------------------------------------------------------------


@virtual_time
async def test_a_coordinator_is_asked_for_once() -> None:
    async with running(nodes=2) as (cluster, client):
        cluster.coordinator_id = 2
        deadline = current_clock().now() + 5

        first = await client.coordinators.find(CoordinatorType.GROUP, "g", deadline)
        second = await client.coordinators.find(CoordinatorType.GROUP, "g", deadline)

        assert (first, second) == (2, 2)
        assert len(cluster.requests(FindCoordinatorRequest)) == 1


@virtual_time
async def test_a_coordinator_that_was_forgotten_is_asked_for_again() -> None:
    async with running(nodes=2) as (cluster, client):
        deadline = current_clock().now() + 5
        await client.coordinators.find(CoordinatorType.GROUP, "g", deadline)
        cluster.coordinator_id = 2

        client.coordinators.forget(CoordinatorType.GROUP, "g")

        assert await client.coordinators.find(CoordinatorType.GROUP, "g", deadline) == 2


@virtual_time
async def test_a_coordinator_that_is_not_there_yet_is_waited_for() -> None:
    async with running() as (cluster, client):
        absent = FindCoordinatorResponse(
            coordinators=[Coordinator(key="g", error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE)]
        )
        cluster.once(FindCoordinatorRequest, absent, absent, CLOSE)

        found = await client.coordinators.find(
            CoordinatorType.GROUP, "g", current_clock().now() + 5
        )

        assert found == 1


@virtual_time
async def test_a_group_that_may_not_be_used_is_an_error_at_once() -> None:
    async with running() as (cluster, client):
        forbidden = ErrorCode.GROUP_AUTHORIZATION_FAILED
        cluster.on(
            FindCoordinatorRequest,
            FindCoordinatorResponse(coordinators=[Coordinator(key="g", error_code=forbidden)]),
        )

        with pytest.raises(GroupAuthorizationFailedError):
            await client.coordinators.find(CoordinatorType.GROUP, "g", current_clock().now() + 5)


@virtual_time
async def test_a_coordinator_is_found_where_one_key_is_asked_at_a_time() -> None:
    async with running() as (cluster, client):
        cluster.versions[ApiKey.FIND_COORDINATOR] = VersionRange(0, 3)
        await client.send(1, MetadataRequest(topics=[]))
        cluster.network.reset("broker1")

        found = await client.coordinators.find(
            CoordinatorType.GROUP, "g", current_clock().now() + 5
        )

        assert found == 1
        assert cluster.requests(FindCoordinatorRequest)[0].version == 3


@virtual_time
async def test_an_unknown_error_code_is_an_error_of_its_own() -> None:
    async with running() as (cluster, client):
        cluster.on(
            MetadataRequest,
            lambda request: attrs.evolve(
                cluster.metadata(request),
                topics=[MetadataResponseTopic(name="orders", error_code=31_000)],
            ),
        )

        with pytest.raises(Exception, match="31000") as raised:
            await client.topics.find("orders", current_clock().now() + 5)

        assert type(raised.value).__name__ == "UnknownCodeError"


@virtual_time
async def test_an_outage_is_logged_once_and_not_at_each_attempt(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with running() as (cluster, client):
        await cluster.kill(1)

        with caplog.at_level("INFO", logger="pyk"):
            client.metadata_keeper.request_update()
            await asyncio.sleep(60)

        said = [record.getMessage() for record in caplog.records]
        assert sum("beginning again at the bootstrap servers" in text for text in said) == 1
        assert sum("Could not get metadata" in text for text in said) == 1
