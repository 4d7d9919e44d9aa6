"""A scheduled turn comes soon after it is requested, or at a time, never twice for one reason."""

from __future__ import annotations

import asyncio

from pyk.clients.producer.sending.scheduled_turn import NEVER, ScheduledTurn
from pyk.runtime.virtual_time import current_clock, virtual_time


class Turns:
    """Notes when a turn came."""

    def __init__(self) -> None:
        self.taken_at: list[float] = []
        self.scheduled = ScheduledTurn(self.take)

    def take(self) -> None:
        self.taken_at.append(current_clock().now())


@virtual_time
async def test_a_turn_that_is_requested_often_comes_once() -> None:
    turns = Turns()
    turns.scheduled.start()

    for _ in range(3):
        turns.scheduled.request()
    await asyncio.sleep(1)

    assert turns.taken_at == [0]


@virtual_time
async def test_requests_before_the_start_are_not_lost() -> None:
    turns = Turns()
    turns.scheduled.request()
    await asyncio.sleep(1)
    assert turns.taken_at == []

    turns.scheduled.start()
    await asyncio.sleep(1)

    assert turns.taken_at == [1]


@virtual_time
async def test_a_turn_comes_at_its_time_and_an_earlier_time_replaces_a_later_one() -> None:
    turns = Turns()
    turns.scheduled.start()

    turns.scheduled.request_at(NEVER)
    turns.scheduled.request_at(5)
    turns.scheduled.request_at(3)
    await asyncio.sleep(10)

    assert turns.taken_at == [3]


@virtual_time
async def test_a_later_time_leaves_the_earlier_one() -> None:
    turns = Turns()
    turns.scheduled.start()

    turns.scheduled.request_at(3)
    turns.scheduled.request_at(5)
    await asyncio.sleep(10)

    assert turns.taken_at == [3]


@virtual_time
async def test_a_turn_that_came_can_be_requested_at_a_later_time() -> None:
    turns = Turns()
    turns.scheduled.start()

    turns.scheduled.request_at(3)
    await asyncio.sleep(4)
    turns.scheduled.request_at(5)
    await asyncio.sleep(10)

    assert turns.taken_at == [3, 5]


@virtual_time
async def test_a_turn_that_was_stopped_never_comes() -> None:
    turns = Turns()
    turns.scheduled.start()

    turns.scheduled.request()
    turns.scheduled.request_at(3)
    turns.scheduled.stop()
    turns.scheduled.request()
    turns.scheduled.request_at(4)
    await asyncio.sleep(10)

    assert turns.taken_at == []
