"""Run what a login waits for, such as a function that returns a token, in threads of its own.

Not in those of the event loop: they look up names, so functions that do not return would hold up
the other clients of the loop, and the end of the program would wait for them.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from typing import Any

from pyk.clients.security.exchange import CredentialsError

MOST_THREADS = 8
"""Of one client. Logins wait for one: each attempt may leave behind one that does not return."""


class LoginThreads:
    """Calls functions in threads, not more than some at a time."""

    def __init__(self, most: int = MOST_THREADS) -> None:
        self._free = asyncio.Semaphore(most)

    async def call(self, function: Callable[[], Any]) -> Any:
        """Return what a function returns, or raise what it raises.

        A thread whose caller does not wait any more counts until its function returns.
        """
        await self._free.acquire()
        loop = asyncio.get_running_loop()
        outcome: asyncio.Future[Any] = loop.create_future()

        def tell(value: Any, error: Exception | None) -> None:
            self._free.release()
            if outcome.done():
                return
            if error is None:
                outcome.set_result(value)
            else:
                outcome.set_exception(error)

        def run() -> None:
            with contextlib.suppress(RuntimeError):  # the loop is closed, so nobody waits
                loop.call_soon_threadsafe(tell, *_outcome_of(function))

        try:
            threading.Thread(target=run, name="pyk-login", daemon=True).start()
        except RuntimeError:
            tell(None, CredentialsError("no thread can be started"))
        return await outcome


def _outcome_of(function: Callable[[], Any]) -> tuple[Any, Exception | None]:
    try:
        return function(), None
    except Exception as error:
        return None, error
    except BaseException as error:  # which would end the event loop
        return None, CredentialsError(f"what auth= calls raised {type(error).__name__}")
