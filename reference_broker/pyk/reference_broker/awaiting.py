"""Await what the broker completes by a callback."""

from __future__ import annotations

import asyncio
from typing import TypeVar

from .deferred import Deferred

T = TypeVar("T")


async def value_of(deferred: Deferred[T]) -> T:
    """Return the value of ``deferred`` once it is there.

    Raises the error if it fails. It may be cancelled: the value is then ignored, without an error
    where it is completed.
    """
    future: asyncio.Future[T] = asyncio.get_running_loop().create_future()

    def take(value: T) -> None:
        if not future.done():
            future.set_result(value)

    def fail(error: Exception) -> None:
        if not future.done():
            future.set_exception(error)

    deferred.when_done(take)
    deferred.when_failed(fail)
    return await future
