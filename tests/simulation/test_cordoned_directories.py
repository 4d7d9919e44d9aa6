"""Log directories that take no new partitions (KIP-1066), as the configuration of a broker says."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

import pytest

from pyk.clients import (
    AlterConfig,
    AsyncAdmin,
    ConfigResource,
    ConfigResourceType,
    NewTopic,
)
from pyk.clients.errors import InvalidReplicationFactorError
from pyk.reference_broker import AsyncCluster, World
from pyk.reference_broker.config import InvalidConfigError

CORDONED = "cordoned.log.dirs"
FIRST = "/pyk/disk0/node0"


def run(scenario: Coroutine[Any, Any, None]) -> None:
    World().run(scenario)


async def counts(admin: AsyncAdmin) -> list[int]:
    """Return how many partitions each directory has."""
    return [len(each.replicas) for each in (await admin.describe_log_dirs([0]))[0].values()]


async def cordon(admin: AsyncAdmin, paths: str) -> None:
    resource = ConfigResource(ConfigResourceType.BROKER, "0")
    await admin.incremental_alter_configs({resource: [AlterConfig(CORDONED, paths)]})


def test_a_directory_is_cordoned_from_the_start() -> None:
    async def scenario() -> None:
        async with (
            AsyncCluster(log_dirs=2, config={CORDONED: FIRST}) as cluster,
            AsyncAdmin(cluster.bootstrap) as admin,
        ):
            await cluster.create_topic("orders", 4)

            assert await counts(admin) == [0, 4]

    run(scenario())


def test_a_broker_all_of_whose_directories_are_cordoned_gets_partitions_again_later() -> None:
    async def scenario() -> None:
        async with (
            AsyncCluster(log_dirs=2, config={CORDONED: "*"}) as cluster,
            AsyncAdmin(cluster.bootstrap) as admin,
        ):
            new = NewTopic("orders", partitions=1, replication_factor=1)
            with pytest.raises(InvalidReplicationFactorError, match="cordoned"):
                await admin.create_topics([new])
            await cordon(admin, "")
            await cluster.stop()
            await cluster.start()

            await admin.create_topics([new])

    run(scenario())


def test_a_broker_does_not_start_with_a_cordoned_directory_that_it_does_not_have() -> None:
    async def scenario() -> None:
        with pytest.raises(InvalidConfigError, match="/nowhere"):
            async with AsyncCluster(config={CORDONED: "/nowhere"}):
                pass

    run(scenario())
