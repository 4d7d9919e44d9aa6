"""A consumer of any kind on its event loop: its life, from the first connection to the end."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Collection
from typing import Any, Protocol

from pyk.clients.config.client_config import ClientConfig
from pyk.clients.consumer.buffer.read_buffer import CLOSED, EVENT, FORKED, ReadBuffer
from pyk.clients.consumer.buffer.record_reader import RecordReader
from pyk.clients.consumer.faces.closing import run_unattended
from pyk.clients.consumer.faces.limits import CallLimits
from pyk.clients.consumer.faces.wakeups import Wakeups
from pyk.clients.engine.client import Client
from pyk.clients.engine.context import EXIT_SECONDS
from pyk.clients.errors import ClosedError, StateError


class ReadingSubscription(Protocol):
    """What a consumer is asked to read."""

    @property
    def topics(self) -> Collection[str]: ...

    def check_reading(self) -> None:
        """Raise if the consumer cannot be used, or if no record could ever come."""
        ...


class ReadingCore:
    """One consumer: its client, and what its application shares with its event loop.

    Everything here is called on the loop of the client, except the ``reader``, with which the
    application takes records in its own thread.
    """

    config: ClientConfig
    subscription_calls: ReadingSubscription

    def __init__(
        self, client: Client, buffer: ReadBuffer, reader: RecordReader, limits: CallLimits
    ) -> None:
        self.client = client
        self.limits = limits
        self.buffer = buffer
        self.reader = reader
        self.wakeups = Wakeups(buffer, self.check)
        self.long_calls: Callable[[float], tuple[str, ...]] | None = None
        """Tells which handlers of ``process()`` do not return, while that runs; any thread asks."""
        client.on_failure = lambda: buffer.call_attention(EVENT)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._starting = asyncio.Lock()
        self.warn_at_loop_end: Callable[[], None] | None = None
        """Warns of a consumer that its event loop ends before; None if the loop is pyk's own."""
        self._is_closed = False

    def handler_problems(self, now: float) -> tuple[str, ...]:
        """Return which handlers of ``process()`` do not return, in words."""
        return () if self.long_calls is None else self.long_calls(now)

    async def start(self, timeout: float | None = None) -> None:
        """Connect, and begin with the subscription or assignment so far."""
        async with self._starting:
            self.check()
            if self.is_started:
                return
            await self.client.start(timeout)
            self._loop = asyncio.get_running_loop()
            self._spawn()
            if self.warn_at_loop_end is not None and self.is_member:
                from pyk.clients.engine.loop_end import when_loop_ends

                leaving = when_loop_ends(lambda: self._is_closed, self._leave_with_loop)
                self.client.supervisor.spawn("leave at the end", leaving)

    def _spawn(self) -> None:
        """Start the tasks that keep records coming."""
        raise NotImplementedError

    @property
    def is_started(self) -> bool:
        return self._loop is not None

    @property
    def has_loop(self) -> bool:
        """Whether its event loop can still do something for it."""
        return self._loop is not None and not self._loop.is_closed()

    async def ready(self) -> None:
        """Start if that has not been done; raise if the consumer cannot be used."""
        if not self.is_started:
            await self.start()
        self.check()

    async def _end_client(self, deadline: float) -> None:
        """End connections and tasks, and tell the application."""
        self.buffer.call_attention(CLOSED)
        left = max(0.0, deadline - self.client.clock.now())
        await self.client.close(left)

    def end(self) -> None:
        """Take note that nothing more will come, once its event loop has ended."""
        self._is_closed = True
        self.buffer.call_attention(CLOSED)

    @property
    def is_member(self) -> bool:
        """Whether there is a group to leave."""
        raise NotImplementedError

    async def abandon(self, timeout: float | None = None) -> None:
        """Leave and end, because the consumer was dropped, or its event loop ends."""
        raise NotImplementedError

    async def _leave_with_loop(self) -> None:
        """Abandon a consumer that is still open when its event loop ends."""
        if self.warn_at_loop_end is not None:
            self.warn_at_loop_end()
        await self.abandon(EXIT_SECONDS)

    def abandon_soon(self) -> None:
        """Abandon the consumer on its event loop; any thread may call it."""
        self.call_soon(run_unattended, self.abandon)

    def call_soon(self, function: Callable[..., object], *args: Any) -> None:
        """Call a function on the event loop, unless that has ended; any thread may call it."""
        if self._loop is None:
            return
        with contextlib.suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(function, *args)

    @property
    def is_closed(self) -> bool:
        return self._is_closed

    def check(self) -> None:
        """Raise if the consumer cannot be used."""
        self.client.guard.check()
        if self._is_closed:
            raise ClosedError("the consumer is closed")
        failure = self.client.failure
        if failure is not None:
            raise StateError(str(failure)) from failure.__cause__

    def forked(self) -> None:
        """Make the application notice, in a forked child, that the consumer is the parent's."""
        self.buffer.call_attention(FORKED)
