"""Ctrl-C at every point of a call where Python checks for signals.

The interpreter checks when it enters a Python function, and after a call of a C function. A
profiler is called at both points, and sends the signal there. Functions of compiled modules are
C functions: signals reach them only where they call Python.

The import system itself is left out. CPython takes its lock of all imports there, and does not
release it if the handler raises just then: every other thread that imports waits for ever.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from pyk.clients.producer.sending import sender
from support.garbage import without_garbage_collection

MANY_POINTS = 1 if sender.__file__.endswith((".so", ".pyd")) else 100
"""Fewer points than a ``send`` has. A handler runs between two steps of Python, and a compiled call
has only a few of those."""


def interrupted_at(
    point: int, function: Callable[[], object], number: int = signal.SIGINT
) -> tuple[bool, object]:
    """Call a function and send a signal at one of its points; in the main thread only.

    Returns whether it has so many points, and its result, None if it was interrupted.
    """
    points = 0

    def count(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal points
        if event not in {"call", "c_return"} or argument is sys.setprofile:
            return
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return
        points += 1
        if points == point:
            signal.raise_signal(number)

    result = None
    with without_garbage_collection():
        try:
            sys.setprofile(count)
            try:
                result = function()
            finally:
                sys.setprofile(None)
        except KeyboardInterrupt:
            points = max(points, point)
    return points >= point, result


def interrupted_everywhere(
    function: Callable[[], object], check: Callable[[object], None], *, step: int = 1
) -> int:
    """Interrupt a function at each of its points, one per call, and check the state each time.

    ``check`` gets the result of the function. Returns how many points there were.
    """
    point = 1
    while True:
        was_interrupted, result = interrupted_at(point, function)
        check(result)
        if not was_interrupted:
            return point
        point += step


def handled_everywhere(function: Callable[[], object], handle: Callable[[], object]) -> int:
    """Let the handler of a signal call ``handle`` at each of a function's points, one per call.

    Returns how many points there were.
    """
    before = signal.signal(signal.SIGUSR1, lambda number, frame: handle())
    try:
        point = 1
        while interrupted_at(point, function, signal.SIGUSR1)[0]:
            point += 1
    finally:
        signal.signal(signal.SIGUSR1, before)
    return point
