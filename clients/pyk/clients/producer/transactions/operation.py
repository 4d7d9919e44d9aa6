"""One call about a transaction, which goes on when its caller stops waiting."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Coroutine
from typing import Any

from pyk.clients.engine.client import Client
from pyk.clients.errors import ClosedError, KafkaError, KafkaTimeoutError, StateError


class Operation:
    """Runs a coroutine as a task of the client; any number of callers wait for its result.

    A timeout, a cancellation and Ctrl-C end a wait and not the operation: what was sent cannot be
    taken back, and the same call, made again, waits on.
    """

    def __init__(self, client: Client, name: str, coroutine: Coroutine[Any, Any, Any]) -> None:
        self.name = name
        self._result: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        client.supervisor.spawn(name, self._run(coroutine))

    @property
    def is_over(self) -> bool:
        return self._result.done()

    @property
    def has_succeeded(self) -> bool:
        return self._result.done() and self._result.exception() is None

    async def wait(self, timeout: float | None) -> Any:
        """Return the result; raise :class:`KafkaTimeoutError` after ``timeout`` seconds."""
        try:
            async with asyncio.timeout(timeout):
                return await asyncio.shield(self._result)
        except TimeoutError as error:
            if isinstance(error, KafkaError):
                raise
            raise KafkaTimeoutError(
                f"{self.name}() has not ended after {timeout:g} s; it goes on: call it again to "
                "wait for it"
            ) from None

    async def ended(self) -> None:
        """Wait for the end, whatever the result is."""
        with contextlib.suppress(KafkaError):
            await asyncio.shield(self._result)

    async def _run(self, coroutine: Coroutine[Any, Any, Any]) -> None:
        try:
            result = await coroutine
        except KafkaError as error:
            self._fail(error)
        except asyncio.CancelledError:
            self._fail(ClosedError(f"the producer was closed before {self.name}() had ended"))
            raise
        except Exception as bug:
            self._fail(StateError(f"{self.name}() failed because of a bug in pyk: {bug!r}"))
            raise
        else:
            self._result.set_result(result)

    def _fail(self, error: KafkaError) -> None:
        self._result.set_exception(error)
        self._result.exception()  # seen: perhaps no caller waits any more
