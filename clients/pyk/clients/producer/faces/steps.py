"""Drive the steps of a ``send`` that has to wait: in a thread, or in a task."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from pyk.clients.errors import KafkaError
from pyk.clients.producer.batching.waits import Steps, Wait

R = TypeVar("R")


def run(steps: Steps[R], wait: Callable[[Wait], object]) -> R:
    """Return what the steps return; ``wait`` blocks this thread for each of them."""
    try:
        step = next(steps)
        while True:
            try:
                wait(step)
            except KafkaError as error:
                step = steps.throw(error)
            else:
                step = next(steps)
    except StopIteration as end:
        result: R = end.value
        return result
    finally:
        steps.close()


async def run_awaited(steps: Steps[R], wait: Callable[[Wait], Awaitable[object]]) -> R:
    """Return what the steps return; ``wait`` is awaited for each of them."""
    try:
        step = next(steps)
        while True:
            try:
                await wait(step)
            except KafkaError as error:
                step = steps.throw(error)
            else:
                step = next(steps)
    except StopIteration as end:
        result: R = end.value
        return result
    finally:
        steps.close()
