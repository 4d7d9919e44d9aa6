"""Interrupt Python code exactly where the handler of a signal may run."""

from __future__ import annotations

import dis
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any

from support.garbage import without_garbage_collection


class Interrupt(BaseException):
    """What the handler of a signal raises."""


class Interruption:
    """Raises at the ``number``-th place where a handler may run.

    It counts those in functions whose file and name contain one of ``places``. CPython runs
    handlers at the start of a function, at the end of a turn of a loop, and after a call of a C
    function; nowhere else. Finalizers are not interrupted: their errors would never be seen.
    """

    def __init__(self, number: int, places: tuple[str, ...]) -> None:
        self.is_over = False
        """Whether the place was reached."""
        self._left = number
        self._places = places
        self._last_offsets: dict[FrameType, int] = {}
        self._last_frame: FrameType | None = None

    def trace(self, frame: FrameType, event: str, argument: Any) -> Any:
        self._last_frame = None
        name = f"{frame.f_code.co_filename}:{frame.f_code.co_name}"
        if name.endswith("__del__") or not any(place in name for place in self._places):
            return None
        frame.f_trace_opcodes = True
        frame.f_trace_lines = False
        return self._trace_frame

    def _trace_frame(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "return":
            self._last_offsets.pop(frame, None)
            self._last_frame = None
        elif event == "opcode":
            before = self._last_offsets.get(frame)
            self._last_offsets[frame] = frame.f_lasti
            if before is not None and self._may_run_after(frame, before):
                self._count()
            self._last_frame = frame
        return self._trace_frame

    def _may_run_after(self, frame: FrameType, offset: int) -> bool:
        name = _names_of(frame.f_code)[offset]
        if name.startswith("CALL"):
            return self._last_frame is frame  # otherwise it called a function in Python
        return name.startswith(("RESUME", "JUMP_BACKWARD"))

    def _count(self) -> None:
        self._left -= 1
        if self._left == 0:
            self.is_over = True
            sys.settrace(None)
            raise Interrupt


_names: dict[CodeType, dict[int, str]] = {}


def _names_of(code: CodeType) -> dict[int, str]:
    if code not in _names:
        _names[code] = {one.offset: one.opname for one in dis.get_instructions(code)}
    return _names[code]


@contextmanager
def interrupted_at(number: int, *places: str) -> Iterator[Interruption]:
    """Interrupt the block once, and swallow what that raises."""
    interruption = Interruption(number, places)
    before = sys.gettrace()
    with without_garbage_collection():
        sys.settrace(interruption.trace)
        try:
            yield interruption
        except Interrupt:
            pass
        finally:
            sys.settrace(before)
