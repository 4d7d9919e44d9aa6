"""Explain ``with`` and ``for`` on what is awaited, and the reverse. Pure.

Type checkers do not see the methods that raise, because they find the mistake by themselves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn


def is_awaited(name: str, twin: str, statement: str) -> TypeError:
    """Return the error of a plain statement on what is for asyncio."""
    return TypeError(
        f"{name} is for asyncio: write 'async {statement}' in a coroutine, or use {twin}, "
        "which blocks"
    )


def is_blocking(name: str, twin: str, statement: str) -> TypeError:
    """Return the error of an ``async`` statement on what blocks; it may have no twin."""
    advice = f", or use {twin}" if twin else ""
    return TypeError(f"{name} is blocking: write '{statement}' without async{advice}")


class AwaitedTwin:
    """Refuses a plain ``with``: its block is entered by ``async with``."""

    __slots__ = ()
    _written_as: tuple[str, str] | None = None
    """What a user writes to get one, and to get its twin; by default the names of the classes."""

    def _needs_async(self, statement: str) -> TypeError:
        name = _public_name(type(self))
        return is_awaited(*self._written_as or (name, name.removeprefix("Async")), statement)

    if not TYPE_CHECKING:

        def __enter__(self) -> NoReturn:
            raise self._needs_async("with")

        __exit__ = __enter__


class BlockingBlock:
    """Refuses ``async with``: its block is entered by a plain ``with``."""

    __slots__ = ()

    def _needs_no_async(self, statement: str) -> TypeError:
        return is_blocking(_public_name(type(self)), "", statement)

    if not TYPE_CHECKING:

        def __aenter__(self) -> NoReturn:
            raise self._needs_no_async("with")

        __aexit__ = __aenter__


class BlockingTwin(BlockingBlock):
    """Refuses ``async with``, which is for its twin."""

    __slots__ = ()
    _written_as: tuple[str, str] | None = None
    """What a user writes to get one, and to get its twin; by default the names of the classes."""

    def _needs_no_async(self, statement: str) -> TypeError:
        name = _public_name(type(self))
        return is_blocking(*self._written_as or (name, f"Async{name}"), statement)


def _public_name(kind: type) -> str:
    """Return the name of the class that a user may have derived a class from."""
    return next(each for each in kind.__mro__ if each.__module__.startswith("pyk.")).__name__
