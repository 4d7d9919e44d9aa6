from __future__ import annotations

import asyncio
from asyncio import get_running_loop
from contextvars import ContextVar, copy_context

import pytest

from pyk.clients.consumer.faces.task_waiter import TaskWaiter
from pyk.runtime.virtual_time import current_clock, virtual_time


async def begun(coroutine):
    """Return the task of a coroutine that has reached its first wait."""
    task = asyncio.create_task(coroutine)
    await asyncio.sleep(0)
    return task


async def wait_and_note(waiter, steps):
    await waiter.wait(None)
    steps.append("went on")


@virtual_time
async def test_a_wait_ends_when_it_rings():
    waiter = TaskWaiter()
    get_running_loop().call_later(3, waiter.set)

    assert await waiter.wait(None)
    assert current_clock().now() == pytest.approx(3)


@virtual_time
async def test_a_wait_ends_at_its_deadline():
    waiter = TaskWaiter()

    assert not await waiter.wait(get_running_loop().time() + 2)
    assert current_clock().now() == pytest.approx(2)


@virtual_time
async def test_a_ring_before_the_wait_ends_it_until_it_is_cleared():
    waiter = TaskWaiter()
    waiter.set()

    assert await waiter.wait(None)
    waiter.clear()
    assert not await waiter.wait(get_running_loop().time() + 1)


@virtual_time
async def test_ringing_and_the_deadline_in_one_turn_end_the_wait_once():
    waiter = TaskWaiter()
    at = get_running_loop().time() + 1
    get_running_loop().call_at(at, waiter.set)
    get_running_loop().call_at(at, waiter.set)

    await waiter.wait(at)
    await asyncio.sleep(1)


@virtual_time
async def test_a_wait_that_is_cancelled_leaves_nothing_behind():
    waiter = TaskWaiter()
    waiting = await begun(waiter.wait(None))

    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    get_running_loop().call_later(1, waiter.set)

    assert await waiter.wait(None)


@virtual_time
async def test_a_deadline_that_was_met_does_not_end_the_next_wait():
    waiter = TaskWaiter()
    get_running_loop().call_later(1, waiter.set)
    await waiter.wait(get_running_loop().time() + 2)
    waiter.clear()

    get_running_loop().call_later(5, waiter.set)
    await waiter.wait(None)

    assert current_clock().now() == pytest.approx(6)


@virtual_time
async def test_a_ring_at_once_leaves_a_task_alone_that_went_on_before():
    waiter, problems = TaskWaiter(), []
    get_running_loop().set_exception_handler(lambda _, problem: problems.append(problem))

    async def wait_and_sleep():
        await waiter.wait(None)
        await asyncio.sleep(1)

    waiting = await begun(wait_and_sleep())
    get_running_loop().call_soon(waiter.set_now)
    get_running_loop().call_soon(waiter.set_now)
    await waiting
    await asyncio.sleep(0)

    assert current_clock().now() == pytest.approx(1)
    assert problems == []


@virtual_time
async def test_a_ring_at_once_lets_the_task_go_on_before_it_returns():
    waiter, steps = TaskWaiter(), []
    waiting = await begun(wait_and_note(waiter, steps))

    def ring():
        waiter.set_now()
        steps.append("rang")

    get_running_loop().call_soon(ring)
    await waiting

    assert steps == ["went on", "rang"]


@virtual_time
async def test_a_task_that_rings_at_once_is_not_interrupted():
    waiter, steps = TaskWaiter(), []
    waiting = await begun(wait_and_note(waiter, steps))
    waiter.set_now()
    steps.append("rang")
    await waiting

    assert steps == ["rang", "went on"]


@virtual_time
async def test_a_bell_can_be_awaited_again_and_again():
    waiter, rung = TaskWaiter(), 0

    async def count():
        nonlocal rung
        for _ in range(3):
            await waiter.wait(None)
            waiter.clear()
            rung += 1

    waiting = asyncio.create_task(count())
    for _ in range(3):
        await asyncio.sleep(1)
        waiter.set()
    await waiting

    assert rung == 3


@pytest.mark.parametrize("ring", [TaskWaiter.set, TaskWaiter.set_now])
@virtual_time
async def test_a_task_goes_on_in_its_own_context(ring):
    waiter, name = TaskWaiter(), ContextVar("name", default="nobody")

    async def wait_and_tell():
        name.set("reader")
        await waiter.wait(None)
        return name.get(), asyncio.current_task()

    waiting = await begun(wait_and_tell())
    get_running_loop().call_soon(ring, waiter)

    assert await waiting == ("reader", waiting)


@virtual_time
async def test_a_wait_can_be_cancelled_with_a_message():
    waiter = TaskWaiter()
    waiting = asyncio.create_task(waiter.wait(get_running_loop().time() + 5))
    await asyncio.sleep(1)

    waiting.cancel("enough")
    with pytest.raises(asyncio.CancelledError, match="enough"):
        await waiting


@virtual_time
async def test_a_cancellation_that_comes_after_the_ring_still_counts():
    waiter = TaskWaiter()
    waiting = await begun(waiter.wait(None))

    waiter.set()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting


@virtual_time
async def test_a_bell_whose_task_was_dropped_rings_for_the_next():
    waiter = TaskWaiter()
    dropped = waiter.wait(None)
    dropped.send(None).add_done_callback(lambda _: pytest.fail("woken"), context=copy_context())
    dropped.close()

    get_running_loop().call_later(1, waiter.set)
    assert await waiter.wait(None)


@virtual_time
async def test_the_function_after_the_task_is_called_even_if_the_task_ends_the_program():
    waiter, called = TaskWaiter(), []

    async def wait_and_end():
        await waiter.wait(None)
        raise SystemExit

    waiting = asyncio.create_task(wait_and_end())
    await asyncio.sleep(0)

    def ring():
        with pytest.raises(SystemExit):
            waiter.set_before(lambda: called.append("after the task"))

    get_running_loop().call_soon(ring)
    await asyncio.sleep(0)

    assert called == ["after the task"]
    assert isinstance(waiting.exception(), SystemExit)
