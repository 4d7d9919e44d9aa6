"""Ctrl-C, which waits while Python imports a module, and until a step is done.

A handler runs between any two instructions, also of Python's import machinery. What it raises there
may be lost in a callback of that ("Exception ignored in …"), so that the command never ends. It may
surface as another error, such as a TypeError, and may leave a module locked for other threads.

``start`` imports this before Ctrl-C is handled, so it imports nothing that Python has not.
"""

import _signal  # type: ignore[import-not-found]
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType, TracebackType
    from typing import Any


class Interrupts:
    """Raises ``KeyboardInterrupt`` for a signal: at once, or after an import, or what is held.

    A second signal does not wait, because what is held may wait for the reader of a pipe.
    """

    def __init__(self) -> None:
        self._is_held = False
        self._is_pending = False
        self._frame: FrameType | None = None
        """Where an interrupt must not be raised, nor in what it calls."""

    def install(self) -> None:
        """Handle Ctrl-C from now on, unless it is ignored."""
        if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
            _signal.signal(_signal.SIGINT, self.handle)
            sys.unraisablehook = self._notice

    def uninstall(self) -> None:
        """Let Ctrl-C end the process at once, because it is about to end by itself."""
        self._forget()
        if installed() is self:
            _signal.signal(_signal.SIGINT, _signal.SIG_DFL)

    def handle(self, number: int, frame: "FrameType | None") -> None:
        """Handle a signal."""
        if not self._is_pending:
            self._is_pending = True
            if self._is_held:
                return
            if (found := _outermost_import(frame)) and self._wait_for(found):
                return
        self._raise()

    def held(self) -> "_Held":
        """Return a context manager in whose block a signal waits until its end."""
        return _Held(self)

    def _notice(self, unraisable: "Any") -> None:
        """Raise an interrupt again that was lost in a finalizer, for ``sys.unraisablehook``."""
        is_interrupt = issubclass(unraisable.exc_type, KeyboardInterrupt)
        if is_interrupt and self._wait_for(sys._getframe()):
            self._is_pending = True
        else:
            sys.__unraisablehook__(unraisable)

    def _wait_for(self, frame: "FrameType") -> bool:
        """Raise the interrupt after a call; return False if a profiler occupies what tells when."""
        if sys.getprofile() is None:
            self._frame = frame
            sys.setprofile(self._watch)
        return self._frame is frame

    def _watch(self, frame: "FrameType", event: str, argument: object) -> None:
        """Raise the interrupt as soon as it may be; Python calls this for each call and return."""
        if self._frame is None:
            self._frame = _outermost_import(frame)
            if self._frame is None:
                self._raise()
        if frame is self._frame and event == "return":
            self._frame = None

    def _raise(self) -> None:
        self._forget()
        raise KeyboardInterrupt

    def _forget(self) -> None:
        if sys.getprofile() == self._watch:
            sys.setprofile(None)
        self._is_pending, self._frame = False, None


class _Held:
    """Holds signals back in its block."""

    def __init__(self, interrupts: Interrupts) -> None:
        self._interrupts = interrupts

    def __enter__(self) -> None:
        self._interrupts._is_held = True

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: "TracebackType | None",
    ) -> None:
        interrupts = self._interrupts
        was_pending = interrupts._is_pending
        interrupts._is_held = interrupts._is_pending = False
        if was_pending and error is None:
            raise KeyboardInterrupt


def installed() -> Interrupts | None:
    """Return what handles Ctrl-C in this process, None if that is not from here."""
    handler = getattr(_signal.getsignal(_signal.SIGINT), "__self__", None)
    return handler if isinstance(handler, Interrupts) else None


def _outermost_import(frame: "FrameType | None") -> "FrameType | None":
    """Return the first call of the import machinery that led to a frame, None if none has."""
    found = None
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            found = frame
        frame = frame.f_back
    return found
