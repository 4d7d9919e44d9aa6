from __future__ import annotations

import asyncio
from asyncio import get_running_loop

import pytest

from pyk.clients.consumer.bell import Bell
from support.virtual_time import current_clock, virtual_time


@virtual_time
async def test_a_wait_ends_when_it_rings():
    bell = Bell()
    get_running_loop().call_later(3, bell.ring)

    assert await bell.rings(None)
    assert current_clock().now() == pytest.approx(3)


@virtual_time
async def test_a_wait_ends_at_its_deadline():
    bell = Bell()

    assert not await bell.rings(get_running_loop().time() + 2)
    assert current_clock().now() == pytest.approx(2)


@virtual_time
async def test_what_rang_before_the_wait_ends_it_until_it_is_cleared():
    bell = Bell()
    bell.ring()

    assert await bell.rings(None)
    bell.clear()
    assert not await bell.rings(get_running_loop().time() + 1)


@virtual_time
async def test_ringing_and_the_deadline_in_one_turn_end_the_wait_once():
    bell = Bell()
    at = get_running_loop().time() + 1
    get_running_loop().call_at(at, bell.ring)
    get_running_loop().call_at(at, bell.ring)

    await bell.rings(at)
    await asyncio.sleep(1)


@virtual_time
async def test_a_wait_that_is_cancelled_leaves_nothing_behind():
    bell = Bell()
    waiting = asyncio.create_task(bell.rings(None))
    await asyncio.sleep(0)

    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    bell.ring()

    assert await bell.rings(None)
