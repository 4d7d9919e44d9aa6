"""Clients as context managers: started when entered, closed when left, or when starting fails."""

from __future__ import annotations

from types import TracebackType
from typing import Protocol, TypeVar

from pyk.runtime.wrong_twin import AwaitedTwin, BlockingTwin

# How long the end of a program or of an event loop may wait for a client that was not closed, and
# an error of the application for the producer that it leaves.
EXIT_SECONDS = 5.0


class Blocking(Protocol):
    """A context manager."""

    def start(self) -> None: ...

    def close(self) -> None: ...


class Awaited(Protocol):
    """An asyncio context manager."""

    async def start(self) -> None: ...

    async def close(self) -> None: ...


B = TypeVar("B", bound=Blocking)
A = TypeVar("A", bound=Awaited)


class BlockingContext(BlockingTwin):
    """Makes a context manager of a class with ``start`` and ``close``."""

    __slots__ = ()

    def __enter__(self: B) -> B:
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self: Blocking,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


class AsyncContext(AwaitedTwin):
    """Makes an asyncio context manager of a class with ``start`` and ``close``."""

    __slots__ = ()

    async def __aenter__(self: A) -> A:
        try:
            await self.start()
        except BaseException:
            await self.close()
            raise
        return self

    async def __aexit__(
        self: Awaited,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()
