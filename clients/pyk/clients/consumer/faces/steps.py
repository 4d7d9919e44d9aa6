"""The steps of which calls of a consumer consist. Pure.

Both consumers do in a call what a generator of :data:`Steps` yields; ``pyk.clients.engine.steps``
drives it. There are two kinds of steps, for what a thread and a task do differently.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Coroutine, Generator
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeVar

from pyk.runtime import slotted

if TYPE_CHECKING:
    from pyk.clients.consumer.group.actions import ApplicationEvent

P = ParamSpec("P")
R = TypeVar("R")


@slotted.frozen
class OnLoop:
    """Await what a function returns, on the event loop of the consumer; the step gives the result.

    The coroutine is created when the step is done: one that is never awaited would warn.
    """

    function: Callable[[], Coroutine[Any, Any, Any]]


@slotted.frozen
class TellListener:
    """Call the rebalance listener with an event, in the thread or task of the application."""

    event: ApplicationEvent


class Told(Protocol):
    """An outcome that a callback of the application hears of."""

    def tell(self) -> object:
        """Call the callback, and return what it returned."""
        ...


@slotted.frozen
class TellOfCommit:
    """Call the callback of a commit, in the thread or task of the application."""

    commit: Told


Step = OnLoop | TellListener | TellOfCommit
Steps = Generator[Step, Any, R]


def on_loop(
    function: Callable[P, Coroutine[Any, Any, R]], *args: P.args, **kwargs: P.kwargs
) -> Steps[R]:
    """Call a coroutine function on the event loop of the consumer, and return its result."""
    result: R = yield OnLoop(functools.partial(function, *args, **kwargs))
    return result
