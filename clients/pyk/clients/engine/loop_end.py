"""Act for a client that is still open when its event loop ends.

``asyncio.run`` ends a loop by cancelling all tasks, and waits for those. A client that has a task
for this moment can deliver and leave. But it is not the first: tasks of the application are
cancelled with it, and may have clean-up to do that uses the client, and then close it.
"""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Awaitable, Callable

from pyk.clients.engine.context import EXIT_SECONDS

_waiting_for_the_end: weakref.WeakSet[asyncio.Task[object]] = weakref.WeakSet()


async def when_loop_ends(is_closed: Callable[[], bool], end: Callable[[], Awaitable[None]]) -> None:
    """Wait until this task is cancelled; call ``end`` if nothing else closes the client then."""
    task = asyncio.current_task()
    assert task is not None
    _waiting_for_the_end.add(task)
    try:
        await asyncio.get_running_loop().create_future()
    except asyncio.CancelledError:
        if not is_closed():
            await _cancelled_tasks()
        if not is_closed():
            await end()
        raise


async def _cancelled_tasks() -> None:
    """Wait until the tasks that were cancelled with this one have ended.

    Others may be waiting for this one, such as a task that cancels all but itself.
    """
    # Not a difference of sets: other threads, with loops of their own, may add to them meanwhile.
    cancelled = [
        task
        for task in asyncio.all_tasks()
        if task.cancelling() and task not in _waiting_for_the_end
    ]
    if cancelled:
        await asyncio.wait(cancelled, timeout=EXIT_SECONDS)
