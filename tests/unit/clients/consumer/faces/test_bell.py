from __future__ import annotations

import asyncio
from asyncio import get_running_loop
from contextvars import ContextVar, copy_context

import pytest

from pyk.clients.consumer.faces.bell import Bell
from pyk.runtime.virtual_time import current_clock, virtual_time


async def begun(coroutine):
    """Return the task of a coroutine, which has come to its first wait."""
    task = asyncio.create_task(coroutine)
    await asyncio.sleep(0)
    return task


async def wait_and_note(bell, steps):
    await bell.rings(None)
    steps.append("went on")


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
    waiting = await begun(bell.rings(None))

    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    get_running_loop().call_later(1, bell.ring)

    assert await bell.rings(None)


@virtual_time
async def test_a_deadline_that_was_met_does_not_end_the_next_wait():
    bell = Bell()
    get_running_loop().call_later(1, bell.ring)
    await bell.rings(get_running_loop().time() + 2)
    bell.clear()

    get_running_loop().call_later(5, bell.ring)
    await bell.rings(None)

    assert current_clock().now() == pytest.approx(6)


@virtual_time
async def test_a_ring_at_once_leaves_a_task_alone_that_went_on_before():
    bell, problems = Bell(), []
    get_running_loop().set_exception_handler(lambda _, problem: problems.append(problem))

    async def wait_and_sleep():
        await bell.rings(None)
        await asyncio.sleep(1)

    waiting = await begun(wait_and_sleep())
    get_running_loop().call_soon(bell.ring_now)
    get_running_loop().call_soon(bell.ring_now)
    await waiting
    await asyncio.sleep(0)

    assert current_clock().now() == pytest.approx(1)
    assert problems == []


@virtual_time
async def test_a_ring_at_once_lets_the_task_go_on_before_it_returns():
    bell, steps = Bell(), []
    waiting = await begun(wait_and_note(bell, steps))

    def ring():
        bell.ring_now()
        steps.append("rang")

    get_running_loop().call_soon(ring)
    await waiting

    assert steps == ["went on", "rang"]


@virtual_time
async def test_a_task_that_rings_at_once_is_not_interrupted():
    bell, steps = Bell(), []
    waiting = await begun(wait_and_note(bell, steps))
    bell.ring_now()
    steps.append("rang")
    await waiting

    assert steps == ["rang", "went on"]


@virtual_time
async def test_a_bell_can_be_awaited_again_and_again():
    bell, rung = Bell(), 0

    async def count():
        nonlocal rung
        for _ in range(3):
            await bell.rings(None)
            bell.clear()
            rung += 1

    waiting = asyncio.create_task(count())
    for _ in range(3):
        await asyncio.sleep(1)
        bell.ring()
    await waiting

    assert rung == 3


@pytest.mark.parametrize("ring", [Bell.ring, Bell.ring_now])
@virtual_time
async def test_a_task_goes_on_in_its_own_context(ring):
    bell, name = Bell(), ContextVar("name", default="nobody")

    async def wait_and_tell():
        name.set("reader")
        await bell.rings(None)
        return name.get(), asyncio.current_task()

    waiting = await begun(wait_and_tell())
    get_running_loop().call_soon(ring, bell)

    assert await waiting == ("reader", waiting)


@virtual_time
async def test_a_wait_can_be_cancelled_with_a_message():
    bell = Bell()
    waiting = asyncio.create_task(bell.rings(get_running_loop().time() + 5))
    await asyncio.sleep(1)

    waiting.cancel("enough")
    with pytest.raises(asyncio.CancelledError, match="enough"):
        await waiting


@virtual_time
async def test_a_cancellation_that_comes_after_the_ring_still_counts():
    bell = Bell()
    waiting = await begun(bell.rings(None))

    bell.ring()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting


@virtual_time
async def test_a_bell_whose_task_was_dropped_rings_for_the_next():
    bell = Bell()
    dropped = bell.rings(None)
    dropped.send(None).add_done_callback(lambda _: pytest.fail("woken"), context=copy_context())
    dropped.close()

    get_running_loop().call_later(1, bell.ring)
    assert await bell.rings(None)


@virtual_time
async def test_what_comes_after_the_task_is_called_even_if_the_task_ends_the_program():
    bell, called = Bell(), []

    async def wait_and_end():
        await bell.rings(None)
        raise SystemExit

    waiting = asyncio.create_task(wait_and_end())
    await asyncio.sleep(0)

    def ring():
        with pytest.raises(SystemExit):
            bell.ring_before(lambda: called.append("after the task"))

    get_running_loop().call_soon(ring)
    await asyncio.sleep(0)

    assert called == ["after the task"]
    assert isinstance(waiting.exception(), SystemExit)
