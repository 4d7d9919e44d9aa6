"""The loop of virtual time: order, jumps, and what ends a test that would wait forever."""

from __future__ import annotations

import asyncio
import socket
from random import Random

import pytest

from pyk.runtime.virtual_time import (
    START_MS,
    DeadlockError,
    VirtualClock,
    current_clock,
    run_virtual,
    virtual_time,
)


@virtual_time
async def test_timers_of_one_moment_run_in_the_order_in_which_they_were_set() -> None:
    loop, seen = asyncio.get_running_loop(), list[int]()

    for number in range(50):
        loop.call_at(10.0, seen.append, number)
    await asyncio.sleep(11)

    assert seen == list(range(50))


@virtual_time
async def test_the_clock_jumps_exactly_to_the_next_timer() -> None:
    loop, seen = asyncio.get_running_loop(), list[float]()

    for when in (0.1, 86_400.3, 0.7):
        loop.call_at(when, lambda: seen.append(current_clock().now()))
    await asyncio.sleep(100_000)

    assert seen == [0.1, 0.7, 86_400.3]


@pytest.mark.parametrize("step", [0.1, 0.7, 0.001, 0.000_001])
def test_steps_of_a_clock_never_end_before_their_sum(step: float) -> None:
    clock = VirtualClock()

    for _ in range(1000):
        clock.advance(step)

    assert 0 <= clock.now() - step * 1000 < 1e-9
    assert clock.time_ms() == START_MS + round(step * 1_000_000)


def test_a_clock_reaches_a_deadline_that_was_computed_from_it() -> None:
    clock = VirtualClock(0.1)
    deadline = clock.now() + 0.2

    clock.advance(0.2)

    assert clock.now() >= deadline


@virtual_time
async def test_timers_that_were_cancelled_neither_run_nor_pile_up() -> None:
    loop = asyncio.get_running_loop()

    for _ in range(10_000):
        loop.call_later(3600, pytest.fail, "it was cancelled").cancel()
        await asyncio.sleep(0.001)

    assert len(loop._timers) < 1000  # type: ignore[attr-defined]
    await asyncio.sleep(7200)


@virtual_time
async def test_timers_keep_their_order_when_cancelled_ones_are_swept() -> None:
    loop, seen = asyncio.get_running_loop(), list[float]()
    random = Random(1)
    times = [random.uniform(1, 100) for _ in range(1000)]
    timers = [loop.call_at(when, seen.append, when) for when in times]

    for timer in timers[::2] + timers[1::3]:
        timer.cancel()
    await asyncio.sleep(200)

    assert len(seen) > 300
    assert seen == sorted(seen)


@virtual_time
async def test_a_timer_that_was_cancelled_does_not_move_the_clock() -> None:
    asyncio.get_running_loop().call_later(3600, pytest.fail, "it was cancelled").cancel()

    await asyncio.to_thread(lambda: None)

    assert current_clock().now() == 0


@virtual_time
async def test_a_timer_of_the_past_does_not_turn_the_clock_back() -> None:
    await asyncio.sleep(10)
    ran = asyncio.Event()

    asyncio.get_running_loop().call_at(1, ran.set)
    await ran.wait()

    assert current_clock().now() == 10


@virtual_time
async def test_a_task_that_yields_lets_timers_run_that_are_due() -> None:
    ran: list[str] = []

    asyncio.get_running_loop().call_later(0, ran.append, "due")
    for _ in range(3):
        await asyncio.sleep(0)

    assert ran == ["due"]


@virtual_time
async def test_work_in_a_thread_wakes_a_loop_that_has_no_timer() -> None:
    assert await asyncio.to_thread(lambda: "done") == "done"


@virtual_time
async def test_sockets_are_served_while_timers_wait() -> None:
    loop = asyncio.get_running_loop()
    near, far = socket.socketpair()
    with near, far:
        near.setblocking(False)
        loop.call_later(1, far.send, b"x")

        assert await asyncio.wait_for(loop.sock_recv(near, 1), timeout=60) == b"x"


def test_a_test_that_would_wait_forever_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pyk.runtime.virtual_time.PATIENCE_SECONDS", 0)

    async def wait_forever() -> None:
        await asyncio.get_running_loop().create_future()

    with pytest.raises(DeadlockError, match="every task waits"):
        run_virtual(wait_forever())


def test_a_simulated_clock_outside_of_virtual_time_says_what_to_do() -> None:
    async def in_real_time() -> None:
        current_clock()

    with pytest.raises(RuntimeError, match="decorate the async test with @virtual_time"):
        current_clock()
    with pytest.raises(RuntimeError, match=r"run_virtual\(\)"):
        asyncio.run(in_real_time())


def test_virtual_time_refuses_a_function_that_is_not_async() -> None:
    @virtual_time
    def test_orders() -> None:  # type: ignore[misc]
        pass

    with pytest.raises(TypeError, match="write async def test_orders"):
        test_orders()
