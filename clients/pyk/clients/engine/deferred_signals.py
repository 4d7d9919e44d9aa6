"""Hold back the handlers of signals while the main thread runs code that must not be interrupted.

Python runs handlers in the main thread, between any two instructions, and their exceptions
(``KeyboardInterrupt``, ``SystemExit`` of a SIGTERM handler, the time limit of a worker) are raised
right there. In the middle of the engine that would leave a request without its outcome, and its
caller waiting for ever. So as long as a caller in the main thread drives the loop, a signal is only
noted, and its handler runs when the loop is at rest.
"""

from __future__ import annotations

import contextlib
import os
import signal as signal_numbers
import sys
import threading

# The functions of ``signal`` wrap each number in an enum, which costs more than all the rest.
from _signal import (  # type: ignore[import-not-found]
    getsignal,
    set_wakeup_fd,
    signal,
)
from types import FrameType
from typing import Any

from pyk.clients.engine.poller import note_signals

# Signals that come from outside, or from timers; each costs a check at every wait.
_NAMES = (
    "INT", "TERM", "HUP", "QUIT", "ALRM", "VTALRM",
    "PROF", "USR1", "USR2", "CHLD", "WINCH", "BREAK",
)  # fmt: skip
_SIGNALS = tuple(
    int(getattr(signal_numbers, f"SIG{name}"))
    for name in _NAMES
    if hasattr(signal_numbers, f"SIG{name}")
)


_thread_ident = threading.get_ident
_regions: list[DeferredSignals] = []
"""The active regions that hold handlers back, each inside the one before."""


_main_thread_ident = threading.main_thread().ident


def is_main_thread() -> bool:
    """Return whether handlers of signals run in this thread."""
    return _thread_ident() == _main_thread_ident


class DeferredSignals:
    """Notes signals from :meth:`begin` to :meth:`end`; regions may be nested."""

    __slots__ = ("_handlers", "_held", "_numbers", "_old_wakeup_fd", "pending")

    def __init__(self) -> None:
        self.pending: list[int] = []
        self._numbers: list[int] = []
        self._handlers: list[Any] = []
        self._held = 0
        self._old_wakeup_fd: int | None = None

    def begin(self) -> None:
        """Hold handlers back. In the main thread only; call :meth:`end` whatever happens."""
        _regions.append(self)
        for number in _SIGNALS:
            handler = getsignal(number)
            if callable(handler):
                self._numbers.append(number)
                self._handlers.append(handler)
                self._held = len(self._handlers)
                signal(number, _note)

    def ring(self, wakeup_fd: int) -> None:
        """Let the interpreter write a byte to ``wakeup_fd`` for each signal from now on.

        It is written at once, whatever the thread does: a thread just about to wait would miss the
        signal otherwise. Signals that came before are noted in ``pending``.
        """
        # A program may handle no signal at all: one that runs in the background ignores SIGINT.
        if self._held and self._old_wakeup_fd is None:
            self._old_wakeup_fd = set_wakeup_fd(wakeup_fd, warn_on_full_buffer=False)
            note_signals()

    def silence(self) -> None:
        """Let the interpreter write to the descriptor of before again, if to any."""
        if self._old_wakeup_fd is not None:
            self._restore_wakeup_fd(self._old_wakeup_fd)

    def end(self) -> None:
        """Put the handlers back and run those of the signals that came.

        All of them run; each is told that it has interrupted this call. If several raise, the last
        error is raised, with the one before it as its context, as if each signal had come while the
        one before it was handled.
        """
        raised: BaseException | None = None
        try:
            self._restore()
        except BaseException as error:  # of the handler of a signal that came just now
            raised = error
        if self in _regions:
            _regions.remove(self)
        if self.pending:
            raised = self._handle(raised)
        if raised is not None:
            raise raised

    @property
    def are_held(self) -> bool:
        """Return whether the handler of any signal is held back."""
        return self._held > 0

    @staticmethod
    def restore_in_child() -> None:
        """Put the handlers back in a process that was forked off while they were held back.

        The thread that was about to do so may not exist there. Signals that came before are the
        parent's.
        """
        global _main_thread_ident  # noqa: PLW0603 - the thread that forked is the main one there
        _main_thread_ident = _thread_ident()
        while _regions:
            signals = _regions.pop()
            signals.pending.clear()
            signals._restore()

    def _handle(self, raised: BaseException | None) -> BaseException | None:
        """Run the handlers of the signals that came; return the last error."""
        while self.pending:
            number = self.pending.pop(0)
            try:
                self._handlers[self._numbers.index(number)](number, sys._getframe())
            except BaseException as error:
                error.__context__ = raised
                raised = error
        return raised

    def _restore(self) -> None:
        try:
            self.silence()
            while self._held:
                number = self._numbers[self._held - 1]
                if getsignal(number) is _note:  # otherwise another one was set meanwhile
                    signal(number, self._handlers[self._held - 1])
                self._held -= 1
        finally:
            if self._held:  # the handler of a signal that came just now has raised
                self._restore()

    def _restore_wakeup_fd(self, old: int) -> None:
        self._old_wakeup_fd = None
        try:
            set_wakeup_fd(old)
        except (OSError, ValueError):  # its owner closed it without resetting it
            set_wakeup_fd(-1)
            return
        if old >= 0:
            for number in self.pending:
                with contextlib.suppress(OSError):
                    os.write(old, bytes([number]))


def _note(number: int, frame: FrameType | None) -> None:
    # Do not keep the frame: its variables would live on, among them a view of a receive buffer, and
    # a buffer with views cannot grow.
    region = next(reversed(_regions), None)  # no [-1]: hot modules are compiled without it
    if region is not None:
        region.pending.append(number)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=DeferredSignals.restore_in_child)
