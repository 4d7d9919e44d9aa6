"""A blocking client cannot live in virtual time, and says so at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pyk.clients import Admin, Consumer, Producer, StateError, TopicPartition
from pyk.runtime.simulation import World
from pyk.runtime.virtual_time import virtual_time

NOWHERE = "broker:9092"

CALLS: list[tuple[Any, Callable[[Any], object]]] = [
    (Admin, lambda admin: admin.list_topics()),
    (Consumer, lambda consumer: consumer.end_offsets([TopicPartition("orders", 0)])),
    (Producer, lambda producer: producer.send("orders", b"value")),
]


@pytest.mark.parametrize(("client", "call"), CALLS, ids=["Admin", "Consumer", "Producer"])
@virtual_time
async def test_a_blocking_client_on_a_simulated_host_names_what_to_use_instead(
    client: Any, call: Callable[[Any], object]
) -> None:
    with (
        pytest.raises(StateError, match="runs in real time, so use its asyncio twin"),
        client(NOWHERE, **World().host("alice").client_options) as opened,
    ):
        call(opened)


@pytest.mark.parametrize(("client", "call"), CALLS, ids=["Admin", "Consumer", "Producer"])
@virtual_time
async def test_its_first_call_says_the_same(client: Any, call: Callable[[Any], object]) -> None:
    unopened = client(NOWHERE, **World().host("alice").client_options)

    with pytest.raises(StateError, match="runs in real time, so use its asyncio twin"):
        call(unopened)

    unopened.close()
