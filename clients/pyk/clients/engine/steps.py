"""Drive what both faces of a client do, in a thread or in a task. Pure.

A call that consists of several steps is written once, as a generator. It yields each step, gets
back what came of it, and has an error raised where it waits, as if it had done the step itself. A
blocking client does the steps in the thread of the caller (:func:`run`), an asyncio client in its
task (:func:`run_awaited`).

An interrupt, such as Ctrl-C, may come between two steps. It too is raised where the generator
waits, so that a ``finally`` there may yield further steps.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from typing import Any, TypeVar, cast

S = TypeVar("S")
R = TypeVar("R")


def run(steps: Generator[S, Any, R], do: Callable[[S], object]) -> R:
    """Return what the steps return; ``do`` does each of them in this thread."""
    go_on: Callable[[Any], S] = steps.send
    outcome: object = None
    generator: Any = steps  # which has a frame until it ends; a Generator may be of another type
    try:
        while True:
            try:
                while True:  # inside of the try: an interrupt may come at its end, too
                    step = go_on(outcome)
                    go_on, outcome = steps.send, do(step)
            except BaseException as error:
                outcome = None  # the traceback of an error leads to this frame
                if generator.gi_frame is None:  # it has returned or raised
                    if isinstance(error, StopIteration):
                        return cast("R", error.value)
                    raise
                go_on, outcome = steps.throw, error
    finally:
        steps.close()


async def run_awaited(steps: Generator[S, Any, R], do: Callable[[S], Awaitable[object]]) -> R:
    """Return what the steps return; ``do`` does each of them, awaited in this task."""
    go_on: Callable[[Any], S] = steps.send
    outcome: object = None
    generator: Any = steps  # which has a frame until it ends; a Generator may be of another type
    try:
        while True:
            try:
                while True:  # inside of the try: an interrupt may come at its end, too
                    step = go_on(outcome)
                    go_on, outcome = steps.send, await do(step)
            except BaseException as error:
                outcome = None  # the traceback of an error leads to this frame
                if generator.gi_frame is None:  # it has returned or raised
                    if isinstance(error, StopIteration):
                        return cast("R", error.value)
                    raise
                go_on, outcome = steps.throw, error
    finally:
        steps.close()
