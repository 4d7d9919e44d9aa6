"""A cluster of asyncio belongs to the event loop that opened it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from pyk.reference_broker import AsyncCluster


@pytest.mark.parametrize(
    "call",
    [
        lambda cluster: cluster.seed({"orders": ["one"]}),
        lambda cluster: cluster.expect("orders", "one"),
        lambda cluster: cluster.records("orders"),
        lambda cluster: cluster.create_topic("bills"),
        lambda cluster: cluster.heal(),
    ],
)
def test_a_cluster_that_another_event_loop_has_opened_says_so(
    call: Callable[[AsyncCluster], Coroutine[Any, Any, object]],
) -> None:
    cluster = AsyncCluster()
    with asyncio.Runner() as first:
        first.run(cluster.open())

        with (
            pytest.raises(RuntimeError, match="another event loop opened this cluster: enter it"),
            asyncio.Runner() as second,
        ):
            second.run(call(cluster))

        first.run(cluster.close())


def test_a_cluster_may_be_opened_again_on_another_event_loop() -> None:
    cluster = AsyncCluster()

    async def count() -> int:
        async with cluster:
            await cluster.seed({"orders": ["one"]})
            return len(await cluster.records("orders"))

    assert [asyncio.run(count()), asyncio.run(count())] == [1, 2]
