"""What tests of a blocking client's loop let it do."""

from __future__ import annotations

import asyncio
import threading

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
