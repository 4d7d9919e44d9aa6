"""Interrupt the calls of a consumer that wait, as ``wakeup()`` asks for.

A poll that waits for records looks at the buffer's attention by itself. Whatever else waits on the
event loop for the application's thread or task is an :class:`InterruptibleCall`.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterator
from typing import ParamSpec, TypeVar

from pyk.clients.consumer.buffer.read_buffer import PROCESS_ENDS, WAKEUP, ReadBuffer
from pyk.clients.errors import WakeupError

P = ParamSpec("P")
R = TypeVar("R")


class Wakeups:
    """Makes the call that waits, or the next one, raise :class:`WakeupError`."""

    def __init__(self, buffer: ReadBuffer, check: Callable[[], None]) -> None:
        """``check`` raises if the consumer cannot be used."""
        self._buffer = buffer
        self._check = check
        self._calls: list[InterruptibleCall] = []
        self._is_leaving = False

    def wake(self) -> None:
        """Interrupt a call; any thread and signal handlers may call it."""
        # In this order: a call first joins the others, and then looks whether it was woken up.
        self._buffer.call_attention(WAKEUP)
        for call in self._calls[:1]:
            call.interrupt_soon()

    def raise_if_woken(self) -> None:
        """Raise if :meth:`wake` was called and no call has raised since."""
        if self._buffer.attention & WAKEUP:
            self._buffer.clear_attention(WAKEUP)
            raise WakeupError("wakeup() was called")

    def raise_in_poll(self) -> None:
        """Do the same, and raise too if handlers of ``process()`` want its polls to end."""
        self.raise_if_woken()
        if self._buffer.attention & PROCESS_ENDS:
            self._buffer.clear_attention(PROCESS_ENDS)
            raise WakeupError("process() ends")

    @contextlib.contextmanager
    def kept_for_later(self) -> Iterator[None]:
        """Interrupt nothing that begins inside the block.

        A consumer that leaves lets its rebalance listener commit, which has no second chance.
        """
        was_leaving, self._is_leaving = self._is_leaving, True
        try:
            yield
        finally:
            self._is_leaving = was_leaving

    async def interruptible(
        self, function: Callable[P, Awaitable[R]], *args: P.args, **kwargs: P.kwargs
    ) -> R:
        """Await what a function returns, unless it is interrupted; on the event loop."""
        if self._is_leaving:
            return await function(*args, **kwargs)
        call = InterruptibleCall(self._buffer)
        self._calls.append(call)
        try:
            self._check()
            self.raise_if_woken()
            return await function(*args, **kwargs)
        except asyncio.CancelledError:
            if not call.was_only_interrupted():
                raise
        finally:
            self._calls.remove(call)
            call.end()
        raise WakeupError(
            "wakeup() interrupted the call, which had begun: if it was a commit, the offsets may "
            "have been stored",
            definite=False,
        )


class InterruptibleCall:
    """A call that the present task waits in; it is interrupted by cancelling the task."""

    def __init__(self, buffer: ReadBuffer) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._buffer = buffer
        self._task = task
        self._loop = asyncio.get_running_loop()
        self._cancellations = task.cancelling()
        self._is_interrupted = False
        self._has_ended = False

    def interrupt_soon(self) -> None:
        """Interrupt the call unless it ends before; any thread may call it."""
        with contextlib.suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._interrupt)

    def _interrupt(self) -> None:
        if not self._has_ended and not self._is_interrupted and self._buffer.attention & WAKEUP:
            self._is_interrupted = True
            self._buffer.clear_attention(WAKEUP)
            self._task.cancel()

    def was_only_interrupted(self) -> bool:
        """Return whether the task was cancelled by nobody else, and forget that it was."""
        if not self._is_interrupted or self._task.cancelling() > self._cancellations + 1:
            return False
        self._is_interrupted = False
        self._task.uncancel()
        return True

    def end(self) -> None:
        """Leave the interruption to the next call if this one has ended in another way."""
        self._has_ended = True
        if self._is_interrupted:
            self._task.uncancel()
            self._buffer.call_attention(WAKEUP)
