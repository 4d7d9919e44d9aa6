"""Blocks and loops of asyncio clients without ``async``, and the reverse, are refused in words."""

from __future__ import annotations

from typing import Any

import pytest

from pyk.clients import (
    Admin,
    AsyncAdmin,
    AsyncConsumer,
    AsyncProducer,
    AsyncShareConsumer,
    Consumer,
    Producer,
    ShareConsumer,
)
from pyk.reference_broker import AsyncCluster, Cluster, World
from pyk.runtime.virtual_time import virtual_time

GROUP = {"group_id": "g", "topics": ["orders"]}
READERS: list[tuple[Any, Any]] = [(Consumer, AsyncConsumer), (ShareConsumer, AsyncShareConsumer)]
TWINS: list[tuple[Any, Any]] = [
    *READERS,
    (Producer, AsyncProducer),
    (Admin, AsyncAdmin),
    (Cluster, AsyncCluster),
]


def client_of(kind: Any) -> Any:
    if "Cluster" in kind.__name__:
        return kind()
    return kind("127.0.0.1:1", **(GROUP if "Consumer" in kind.__name__ else {}))


@pytest.mark.parametrize(("blocking", "awaited"), TWINS)
async def test_a_block_of_the_other_kind_says_what_to_write(blocking: Any, awaited: Any) -> None:
    name = awaited.__name__

    with (
        pytest.raises(TypeError, match=f"^{name} is .*'async with'.* or use {blocking.__name__},"),
        client_of(awaited),
    ):
        pass
    with pytest.raises(TypeError, match=f"^{blocking.__name__} is .*'with' .* or use {name}$"):
        async with client_of(blocking):
            pass


async def test_a_transaction_of_the_other_kind_says_what_to_write() -> None:
    blocking: Any = client_of(Producer)
    awaited: Any = client_of(AsyncProducer)

    with (
        pytest.raises(TypeError, match=r"^AsyncProducer\.transaction\(\) is .*'async with'"),
        awaited.transaction(),
    ):
        pass
    with pytest.raises(TypeError, match=r"^Producer\.transaction\(\) is .*'with' without async"):
        async with blocking.transaction():
            pass


@virtual_time
async def test_blocks_without_a_twin_say_what_to_write() -> None:
    cluster: Any = AsyncCluster()
    world: Any = World()
    blocks = [cluster.faults.on("Produce"), cluster.faults.pause(), world.host("app")]

    for block in blocks:
        with pytest.raises(TypeError, match=r"^\w+ is blocking: write 'with' without async$"):
            async with block:
                pass


async def test_a_derived_class_is_called_by_the_name_of_its_twin() -> None:
    class Orders(AsyncProducer[Any, Any]):
        pass

    orders: Any = client_of(Orders)
    with pytest.raises(TypeError, match=r"^AsyncProducer is .* or use Producer,"), orders:
        pass


@pytest.mark.parametrize(("blocking", "awaited"), READERS)
async def test_a_loop_of_the_other_kind_says_what_to_write(blocking: Any, awaited: Any) -> None:
    with pytest.raises(TypeError, match=f"^{awaited.__name__} is .*'async for'"):
        list(client_of(awaited))
    with pytest.raises(TypeError, match=f"^{blocking.__name__} is .*'for' without async"):
        async for _ in client_of(blocking):
            pass
