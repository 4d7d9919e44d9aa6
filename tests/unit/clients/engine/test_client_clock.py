"""A clock that is passed in must be that of the client's event loop."""

from __future__ import annotations

import asyncio

import pytest

from pyk.clients.config import AdminConfig
from pyk.clients.engine.client import Client
from pyk.clients.errors import BootstrapError, StateError
from pyk.runtime.clock import Clock
from pyk.runtime.network import MemoryNetwork
from pyk.runtime.virtual_time import VirtualClock, current_clock, virtual_time


async def start(clock: Clock | None) -> None:
    """Start a client without a broker: it gets as far as that, or not."""
    client = Client(AdminConfig.from_kwargs("broker:9092"), clock=clock, network=MemoryNetwork())
    try:
        with pytest.raises(BootstrapError):
            await client.start(1)
    finally:
        await client.close()


@virtual_time
async def test_the_clock_of_the_event_loop_is_accepted() -> None:
    await start(current_clock())


@virtual_time
async def test_another_clock_is_refused() -> None:
    with pytest.raises(StateError, match="is not that of its event loop"):
        await start(VirtualClock(current_clock().now() + 3600))


async def test_a_test_that_freezes_time_is_no_reason_to_refuse(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(asyncio.get_running_loop(), "time", lambda: 5.0)

    await start(None)
