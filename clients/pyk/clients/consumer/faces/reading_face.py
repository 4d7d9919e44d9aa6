"""The methods that all consumers share, however they wait and whatever they read.

:class:`ReadingFace` needs no knowledge of threads or tasks; :mod:`.blocking_face` and
:mod:`.async_face` add that.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Coroutine
from typing import Any, ClassVar, Generic, ParamSpec, TypeVar

from pyk.clients.consumer.buffer.read_buffer import CLOSED, FORKED, ReadBuffer
from pyk.clients.consumer.buffer.record_reader import RecordReader
from pyk.clients.consumer.faces.closing import warn_of_dropped
from pyk.clients.consumer.faces.reading_core import ReadingCore
from pyk.clients.consumer.faces.steps import Steps
from pyk.clients.engine.fork import ForkGuard
from pyk.clients.errors import ClosedError, ConcurrentUseError, StateError
from pyk.clients.payload import K, V

P = ParamSpec("P")
R = TypeVar("R")


class ReadingFace(Generic[K, V]):
    """A consumer of any kind, except for how it waits: in a thread, or in a task."""

    _core: ReadingCore
    _buffer: ReadBuffer
    _reader: RecordReader
    _user: Any
    """The thread or task that is inside poll or iteration, None between calls."""
    _taker: Any
    """The thread or task that polled last."""
    _commit_instead: ClassVar[str] = (
        "call commit() there, or pass it what is finished, such as a record"
    )
    _other_caller: ClassVar[str] = ""
    """Why who calls may be another thread or task than it seems."""

    def __repr__(self) -> str:
        return self._core.config.name_of(self)

    def subscription(self) -> set[str]:
        """Return the topics of the subscription, or those that match its pattern now."""
        return set(self._core.subscription_calls.topics)

    def wakeup(self) -> None:
        """Make the call that waits, or the next one that may wait, raise :class:`WakeupError`.

        It concerns the thread or task that polls: its polls and iteration, ``commit``, and what it
        asks brokers for, such as ``committed`` and ``position``; neither ``close`` and
        ``unsubscribe`` nor what never waits. A commit that it interrupts may have been stored.
        Any thread and the handlers of signals may call it.
        """
        self._core.wakeups.wake()

    # -- who uses the consumer ---------------------------------------------------------------------

    def _attend_steps(self, deadline: float | None) -> Steps[None]:
        """Handle what is due besides records."""
        raise NotImplementedError

    def _at_once_on_loop(self, function: Callable[..., R], *args: Any) -> R:
        """Return the result of a function that never waits, called on the consumer's loop.

        Raises while another thread, or task, is inside poll or iteration.
        """
        raise NotImplementedError

    def _now_on_loop(self, function: Callable[..., R], *args: Any) -> R:
        """Do the same, also while another thread, or task, is inside poll or iteration."""
        raise NotImplementedError

    def _is_taker(self) -> bool:
        """Tell whether who calls may say that what was handed out last is finished."""
        raise NotImplementedError

    def _caller(self) -> object:
        """Return the thread, or task, that calls."""
        raise NotImplementedError

    def _refuse_others(self) -> None:
        """Raise while another thread, or task, is inside poll or iteration."""
        raise NotImplementedError

    def _interruptible(
        self, function: Callable[P, Coroutine[Any, Any, R]]
    ) -> Callable[P, Coroutine[Any, Any, R]]:
        """Return a function of the loop as one that :meth:`wakeup` interrupts, if who calls it is
        who polls."""
        if not self._is_taker():
            return function
        return functools.partial(self._core.wakeups.interruptible, function)

    @property
    def _guard(self) -> ForkGuard:
        """The guard that knows whether the process was forked since the consumer was made."""
        raise NotImplementedError

    def _check_commit_of_all(self) -> None:
        """Raise inside a deserializer or signal handler, and in a thread or task that did not poll
        last."""
        self._refuse_others()
        if self._user is not None and self._reader.is_under_way:
            raise StateError(
                "a deserializer or signal handler cannot poll or commit while records are "
                "being taken"
            )
        if not self._is_taker():
            raise ConcurrentUseError(
                f"{self._taker!r} polled last: {self._commit_instead}{self._other_caller}"
            )

    def _finish_after(self, error: BaseException | None) -> None:
        """Count what was handed out last as finished at the end of a block without an error."""
        if error is None and self._is_taker():
            self._reader.finish()

    def _raise_if_ended(self) -> None:
        """Raise if reading cannot go on, or was interrupted by :meth:`wakeup`."""
        reasons = self._buffer.attention
        if reasons & FORKED:
            self._guard.check()
        if reasons & CLOSED:
            raise ClosedError("the consumer is closed")
        self._core.wakeups.raise_in_poll()

    # -- dropped -----------------------------------------------------------------------------------

    def __del__(self) -> None:
        core = getattr(self, "_core", None)
        if core is None or core.is_closed or not core.is_started or self._guard.is_forked:
            return
        core.warn_at_loop_end = None
        warn_of_dropped(self, can_leave=core.has_loop)
        if not sys.is_finalizing():
            self._abandon()

    def _abandon(self) -> None:
        """Make the core of a dropped consumer commit, leave and end, without waiting for it."""
        raise NotImplementedError
