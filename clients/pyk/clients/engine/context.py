"""Clients as context managers: started when entered, closed when left, or when starting fails."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, NoReturn, Protocol, TypeVar

from pyk.clients.engine.wrong_twin import is_awaited, is_blocking


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


class BlockingContext:
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

    if not TYPE_CHECKING:  # where a type checker finds the mistake by itself

        def __aenter__(self) -> NoReturn:
            raise is_blocking(self, "with")

        __aexit__ = __aenter__


class AsyncContext:
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

    if not TYPE_CHECKING:  # where a type checker finds the mistake by itself

        def __enter__(self) -> NoReturn:
            raise is_awaited(self, "with")

        __exit__ = __enter__
