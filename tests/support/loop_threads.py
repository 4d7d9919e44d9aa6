"""What tests of a blocking client's loop let it do."""

from __future__ import annotations

import asyncio
import threading
import time

from pyk.clients.engine.thread import LoopThread
from pyk.clients.engine.waiter import Waiter


async def ident() -> int:
    await asyncio.sleep(0)
    return threading.get_ident()


async def after(seconds: float, value: object = None) -> object:
    await asyncio.sleep(seconds)
    return value


def thread_waiter(thread: LoopThread) -> Waiter:
    thread.call(ident())
    return thread.new_waiter()


def let_callers_drive(thread: LoopThread, grace: float) -> None:
    """Have the background thread nap for so many seconds, unless it is woken."""
    thread._drivers.handover.grace = grace

    async def come_and_find_no_other() -> None:
        assert thread.loop is not None
        thread.loop.poke()  # the background thread may be in its `select`
        await asyncio.sleep(0.001)

    while thread._drivers.handover.nap_ends_at < time.monotonic():
        thread.call(come_and_find_no_other())
