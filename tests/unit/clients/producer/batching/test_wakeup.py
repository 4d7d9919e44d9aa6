"""An alarm calls its function soon after it is set, or at a time, never twice for one reason."""

from __future__ import annotations

import asyncio

from pyk.clients.producer.batching.wakeup import NEVER, Alarm
from pyk.runtime.virtual_time import current_clock, virtual_time


class Bell:
    """Notes when it was rung."""

    def __init__(self) -> None:
        self.rung: list[float] = []
        self.alarm = Alarm(self.ring)

    def ring(self) -> None:
        self.rung.append(current_clock().now())


@virtual_time
async def test_an_alarm_that_is_set_often_rings_once() -> None:
    bell = Bell()
    bell.alarm.start()

    for _ in range(3):
        bell.alarm.set()
    await asyncio.sleep(1)

    assert bell.rung == [0]


@virtual_time
async def test_what_was_set_before_the_start_is_not_lost() -> None:
    bell = Bell()
    bell.alarm.set()
    await asyncio.sleep(1)
    assert bell.rung == []

    bell.alarm.start()
    await asyncio.sleep(1)

    assert bell.rung == [1]


@virtual_time
async def test_an_alarm_rings_at_its_time_and_an_earlier_time_replaces_a_later_one() -> None:
    bell = Bell()
    bell.alarm.start()

    bell.alarm.set_at(NEVER)
    bell.alarm.set_at(5)
    bell.alarm.set_at(3)
    await asyncio.sleep(10)

    assert bell.rung == [3]


@virtual_time
async def test_a_later_time_leaves_the_earlier_one() -> None:
    bell = Bell()
    bell.alarm.start()

    bell.alarm.set_at(3)
    bell.alarm.set_at(5)
    await asyncio.sleep(10)

    assert bell.rung == [3]


@virtual_time
async def test_an_alarm_that_has_rung_can_be_set_to_a_later_time() -> None:
    bell = Bell()
    bell.alarm.start()

    bell.alarm.set_at(3)
    await asyncio.sleep(4)
    bell.alarm.set_at(5)
    await asyncio.sleep(10)

    assert bell.rung == [3, 5]


@virtual_time
async def test_an_alarm_that_was_stopped_never_rings() -> None:
    bell = Bell()
    bell.alarm.start()

    bell.alarm.set()
    bell.alarm.set_at(3)
    bell.alarm.stop()
    bell.alarm.set()
    bell.alarm.set_at(4)
    await asyncio.sleep(10)

    assert bell.rung == []
