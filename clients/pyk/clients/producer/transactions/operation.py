"""One call about a transaction, which goes on when its caller stops waiting."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from pyk.clients.engine.client import Client
from pyk.clients.errors import ClosedError, KafkaError, KafkaTimeoutError, StateError
from pyk.clients.wording import because


class Operation:
    """Runs a coroutine as a task of the client; any number of callers wait for its result.

    A timeout, a cancellation and Ctrl-C end a wait and not the operation: what was sent cannot be
    taken back, and the same call, made again, waits on. ``why`` returns the last error that the
    operation has met, for the caller that waits too long.
    """

    def __init__(
        self,
        client: Client,
        name: str,
        coroutine: Coroutine[Any, Any, Any],
        why: Callable[[], KafkaError | None] = lambda: None,
    ) -> None:
        self.name = name
        self._why = why
        self._waiters = 0
        self._result: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        try:
            task = client.supervisor.spawn(name, self._run(coroutine))
        except ClosedError:
            coroutine.close()
            raise
        task.add_done_callback(lambda _: self._ended(coroutine))

    @property
    def is_over(self) -> bool:
        return self._result.done()

    @property
    def has_succeeded(self) -> bool:
        return self._result.done() and self._result.exception() is None

    @property
    def is_awaited(self) -> bool:
        """Whether a caller waits for the result at this moment."""
        return self._waiters > 0

    def is_result(self, error: BaseException) -> bool:
        """Return whether this is the error with which the operation ended."""
        return self._result.done() and self._result.exception() is error

    async def wait(self, timeout: float | None) -> Any:
        """Return the result; raise :class:`KafkaTimeoutError` after ``timeout`` seconds."""
        self._waiters += 1
        try:
            async with asyncio.timeout(timeout):
                return await asyncio.shield(self._result)
        except TimeoutError as error:
            if isinstance(error, KafkaError):
                raise
            raise KafkaTimeoutError(
                f"{self.name}() has not ended after {timeout:g} s; it goes on: call it again to "
                f"wait for it{because(self._why())}"
            ) from None
        finally:
            self._waiters -= 1

    async def _run(self, coroutine: Coroutine[Any, Any, Any]) -> None:
        try:
            result = await coroutine
        except KafkaError as error:
            self._fail(error)
        except Exception as bug:
            self._fail(StateError(f"{self.name}() failed because of a bug in pyk: {bug!r}"))
            raise
        else:
            self._result.set_result(result)

    def _ended(self, coroutine: Coroutine[Any, Any, Any]) -> None:
        """Tell the callers if it was cancelled, perhaps before it began."""
        coroutine.close()
        if not self._result.done():
            self._fail(ClosedError(f"the producer was closed before {self.name}() had ended"))

    def _fail(self, error: KafkaError) -> None:
        self._result.set_exception(error)
        self._result.exception()  # seen: perhaps no caller waits any more
