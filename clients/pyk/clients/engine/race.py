"""Ask several candidates, and take the first response."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

from pyk.clients.errors import KafkaError

C = TypeVar("C")
R = TypeVar("R")


class NoResponseError(Exception):
    """All candidates failed; ``errors`` says how, in the order in which they did."""

    def __init__(self, errors: list[KafkaError]) -> None:
        super().__init__(errors)
        self.errors = errors


async def first_response(
    candidates: Iterable[C],
    ask: Callable[[C], Awaitable[R]],
    head_start: float,
    is_final: Callable[[KafkaError], bool] = lambda _: False,
) -> R:
    """Return the first response that any candidate gives.

    They are asked in their order, each ``head_start`` seconds after the one before, or at once when
    all before have failed: one that is silent costs that long, not its whole time-out (RFC 8305
    does so for addresses). Raises :class:`NoResponseError`; only a :class:`KafkaError` is a failure
    to respond, all else is raised as it is; so is an error that ``is_final``, which any other
    candidate would answer with, too.
    """
    waiting = deque(candidates)
    asked: list[asyncio.Task[R]] = []
    errors: list[KafkaError] = []
    try:
        while waiting or asked:
            if waiting:
                asked.append(asyncio.ensure_future(_asked(ask, waiting.popleft())))
            await asyncio.wait(
                asked,
                timeout=head_start if waiting else None,
                return_when=asyncio.FIRST_COMPLETED,
            )
            done = [task for task in asked if task.done()]
            asked = [task for task in asked if task not in done]
            responses = [task.result() for task in done if not _failed(task, errors)]
            if responses:
                return responses[0]
            final = next(filter(is_final, errors), None)
            if final is not None:
                raise final
        raise NoResponseError(errors)
    finally:
        for task in asked:
            task.cancel()
        await asyncio.gather(*asked, return_exceptions=True)


async def _asked(ask: Callable[[C], Awaitable[R]], candidate: C) -> R:
    return await ask(candidate)


def _failed(task: asyncio.Task[R], errors: list[KafkaError]) -> bool:
    error = task.exception()
    if isinstance(error, KafkaError):
        errors.append(error)
    return isinstance(error, KafkaError)
