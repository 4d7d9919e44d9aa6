"""Blocking clients behind the calls of asyncio clients: each call runs in a thread.

So one workload serves both, and the blocking clients are used as in programs with threads.
"""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Any, Self

NOT_WAITING = frozenset(
    {
        "acknowledge",
        "assign",
        "assignment",
        "group_metadata",
        "set_acknowledgement_commit_callback",
        "subscribe",
        "wakeup",
        "_core",
    }
)
"""What asyncio clients do without an ``await``."""


class InThreads:
    """A blocking client, whose calls are awaited."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._client, name)
        if name in NOT_WAITING or name == "_transaction_reads":
            return found

        async def call(*arguments: Any, **options: Any) -> Any:
            return await asyncio.to_thread(found, *arguments, **options)

        return call

    def transaction(self, *consumers: InThreads) -> BlockInThreads:
        return BlockInThreads(self._client.transaction(*(each._client for each in consumers)))

    async def __aenter__(self) -> Self:
        await asyncio.to_thread(self._client.__enter__)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await asyncio.to_thread(self._client.__exit__, kind, error, traceback)


class BlockInThreads:
    """A ``transaction()`` block of a blocking producer, for ``async with``."""

    def __init__(self, block: Any) -> None:
        self._block = block

    async def __aenter__(self) -> Self:
        await asyncio.to_thread(self._block.__enter__)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await asyncio.to_thread(self._block.__exit__, kind, error, traceback)

    async def send_offsets(self, consumer: InThreads) -> None:
        await asyncio.to_thread(self._block.send_offsets, consumer._client)
