"""Lists that every broker of a cluster has a part of, while brokers come and go."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pyk.clients.errors import (
    ClusterAuthorizationFailedError,
    KafkaTimeoutError,
    SeveralErrors,
    UnsupportedVersionError,
)
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages import list_transactions
from pyk.protocol.messages.list_groups import ListedGroup, ListGroupsRequest, ListGroupsResponse
from pyk.protocol.messages.list_transactions import (
    ListTransactionsRequest,
    ListTransactionsResponse,
)
from pyk.protocol.messages.metadata import MetadataRequest, MetadataResponse
from pyk.runtime.virtual_time import current_clock, virtual_time
from support.administering import administered
from support.scripted_broker import SILENCE, ScriptedCluster


def coordinate(cluster: ScriptedCluster, groups: dict[str, int]) -> None:
    """Let the nodes list these groups and transactional ids, each at its coordinator."""

    def mine() -> list[str]:
        node_id = cluster.received[-1].node_id
        return [name for name, coordinator_id in groups.items() if coordinator_id == node_id]

    cluster.on(
        ListGroupsRequest,
        lambda _: ListGroupsResponse(
            groups=[ListedGroup(group_id=one, protocol_type="consumer") for one in mine()]
        ),
    )
    cluster.on(
        ListTransactionsRequest,
        lambda _: ListTransactionsResponse(
            transaction_states=[
                list_transactions.TransactionState(transactional_id=one, transaction_state="Empty")
                for one in mine()
            ]
        ),
    )


async def fail_over(cluster: ScriptedCluster, groups: dict[str, int], seconds: float) -> None:
    """Let the cluster notice after a time that node 3 is dead, and node 1 coordinate its groups."""
    await asyncio.sleep(seconds)
    del cluster.nodes[3]
    for name, coordinator_id in groups.items():
        if coordinator_id == 3:
            groups[name] = 1


async def listed_groups(admin: Any) -> list[tuple[str, int]]:
    return [(one.group_id, one.coordinator_id) for one in await admin.list_groups(timeout=30)]


async def listed_transactions(admin: Any) -> list[tuple[str, int]]:
    found = await admin.list_transactions(timeout=30)
    return [(one.transactional_id, one.coordinator_id) for one in found]


@pytest.mark.parametrize("listed", [listed_groups, listed_transactions])
def test_a_broker_that_dies_is_not_waited_for_once_it_has_left(listed: Any) -> None:
    @virtual_time
    async def run() -> None:
        async with administered(nodes=3) as (cluster, admin):
            groups = {"a": 1, "b": 2, "c": 3}
            coordinate(cluster, groups)
            await cluster.kill(3)
            failing_over = asyncio.create_task(fail_over(cluster, groups, 9))

            found = await listed(admin)

            assert found == [("a", 1), ("b", 2), ("c", 1)], "the group that moved is there, too"
            assert 9 < current_clock().now() < 15
            await failing_over

    run()


@virtual_time
async def test_a_broker_that_is_dead_but_has_not_left_is_named_at_the_deadline() -> None:
    async with administered(nodes=3) as (cluster, admin):
        coordinate(cluster, {"a": 1, "b": 2})
        await cluster.kill(3)

        with pytest.raises(SeveralErrors, match="1 of 3 failed") as raised:
            await admin.list_groups(timeout=5)

        assert list(raised.value.errors) == [3]
        assert [one.group_id for some in raised.value.results.values() for one in some] == [
            "a",
            "b",
        ]


@virtual_time
async def test_a_broker_that_the_client_does_not_know_yet_is_asked() -> None:
    async with administered(nodes=2) as (cluster, admin):
        coordinate(cluster, {"a": 1, "b": 2, "c": 3})
        cluster.nodes[3] = "broker3"
        await cluster.start(3)

        assert [one.group_id for one in await admin.list_groups(timeout=5)] == ["a", "b", "c"]


@virtual_time
async def test_an_error_that_lasts_is_raised_although_another_broker_has_left() -> None:
    async with administered(nodes=3) as (cluster, admin):
        groups = {"a": 1, "b": 2, "c": 3}
        coordinate(cluster, groups)
        await cluster.kill(3)
        failing_over = asyncio.create_task(fail_over(cluster, groups, 2))
        refused = ListGroupsResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
        cluster.on(ListGroupsRequest, refused)

        with pytest.raises(SeveralErrors) as raised:
            await admin.list_groups(timeout=30)

        assert set(raised.value.errors) == {1, 2}
        assert {type(one) for one in raised.value.errors.values()} == {
            ClusterAuthorizationFailedError
        }
        await failing_over


@virtual_time
async def test_the_timeout_is_for_the_whole_list() -> None:
    async with administered() as (cluster, admin):
        cluster.on(ListGroupsRequest, SILENCE)

        async def late(request: MetadataRequest) -> MetadataResponse:
            await asyncio.sleep(3)
            return cluster.metadata(request)

        cluster.once(MetadataRequest, late)
        began = current_clock().now()

        with pytest.raises(KafkaTimeoutError):
            await admin.list_groups(timeout=5)

        assert current_clock().now() - began == pytest.approx(5, abs=0.1)


@virtual_time
async def test_a_broker_that_knows_of_no_broker_yet_is_asked_again() -> None:
    async with administered() as (cluster, admin):
        coordinate(cluster, {"a": 1})
        cluster.once(MetadataRequest, MetadataResponse(cluster_id="scripted"))

        assert [one.group_id for one in await admin.list_groups()] == ["a"]


@virtual_time
async def test_an_error_of_the_metadata_as_a_whole_is_not_an_empty_list() -> None:
    async with administered() as (cluster, admin):
        cluster.add_topic("orders", [1])
        refused = MetadataResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
        cluster.once(MetadataRequest, refused)

        with pytest.raises(UnsupportedVersionError):
            await admin.list_topics()
