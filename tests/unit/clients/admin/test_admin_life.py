"""An admin client connects when it is first used, and leaves nothing behind."""

from __future__ import annotations

import asyncio

import pytest

from pyk.clients import AsyncAdmin, OffsetSpec, TopicPartition
from pyk.clients.errors import BootstrapError, ClosedError, StateError
from pyk.runtime.network import MemoryNetwork
from pyk.runtime.virtual_time import run_virtual, virtual_time
from support.administering import administered
from support.environments import client_options
from support.scripted_broker import ScriptedCluster


@virtual_time
async def test_the_cluster_is_described() -> None:
    async with administered(nodes=2) as (_, admin):
        cluster = await admin.describe_cluster()

        assert cluster.cluster_id == "scripted"
        assert cluster.controller_id == 1
        assert [node.node_id for node in cluster.nodes] == [1, 2]


@virtual_time
async def test_the_first_call_connects() -> None:
    async with ScriptedCluster(MemoryNetwork()) as cluster:
        admin = AsyncAdmin("broker1:9092", **client_options(cluster.network))

        await asyncio.gather(*(admin.list_topics() for _ in range(5)))

        assert cluster.connection_counts[1] == 1
        await admin.close()


@virtual_time
async def test_entering_fails_fast_and_leaves_nothing() -> None:
    admin = AsyncAdmin("nowhere:9092", **client_options(MemoryNetwork()))

    with pytest.raises(BootstrapError, match="nowhere:9092"):
        await admin.__aenter__()

    assert asyncio.all_tasks() == {asyncio.current_task()}
    with pytest.raises(ClosedError):
        await admin.list_topics()


@virtual_time
async def test_closing_without_a_limit_has_one_all_the_same() -> None:
    async with administered() as (_, admin):
        await admin.close(timeout=None)

        with pytest.raises(ClosedError):
            await admin.list_topics()


def test_a_call_on_another_event_loop_is_refused_before_it_waits() -> None:
    admins: list[AsyncAdmin] = []

    async def start() -> None:
        async with ScriptedCluster(MemoryNetwork()) as cluster:
            admin = AsyncAdmin("broker1:9092", **client_options(cluster.network))
            await admin.start()
            admins.append(admin)

    run_virtual(start())

    with pytest.raises(StateError, match="another event loop, which has ended"):
        run_virtual(admins[0].list_offsets({TopicPartition("unknown", 0): OffsetSpec.LATEST}))
