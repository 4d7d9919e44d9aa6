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

GROUP = {"group_id": "g", "topics": ["orders"]}
READERS: list[tuple[Any, Any]] = [(Consumer, AsyncConsumer), (ShareConsumer, AsyncShareConsumer)]
TWINS: list[tuple[Any, Any]] = [*READERS, (Producer, AsyncProducer), (Admin, AsyncAdmin)]


def client_of(kind: Any) -> Any:
    return kind("127.0.0.1:1", **(GROUP if "Consumer" in kind.__name__ else {}))


@pytest.mark.parametrize(("blocking", "awaited"), TWINS)
async def test_a_block_of_the_other_kind_says_what_to_write(blocking: Any, awaited: Any) -> None:
    name = awaited.__name__

    with pytest.raises(TypeError, match=f"^{name} is .*'async with'.* or use {blocking.__name__},"):
        client_of(awaited).__enter__()
    with pytest.raises(TypeError, match=f"^{blocking.__name__} is .*'with' .* or use {name}$"):
        await client_of(blocking).__aenter__()


@pytest.mark.parametrize(("blocking", "awaited"), READERS)
async def test_a_loop_of_the_other_kind_says_what_to_write(blocking: Any, awaited: Any) -> None:
    with pytest.raises(TypeError, match=f"^{awaited.__name__} is .*'async for'"):
        list(client_of(awaited))
    with pytest.raises(TypeError, match=f"^{blocking.__name__} is .*'for' without async"):
        async for _ in client_of(blocking):
            pass
