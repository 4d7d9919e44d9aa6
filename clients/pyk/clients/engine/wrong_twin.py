"""Explain ``with`` and ``for`` on a client that is awaited, and the reverse. Pure."""

from __future__ import annotations


def is_awaited(client: object, statement: str) -> TypeError:
    """Return the error of a plain statement on an asyncio client."""
    name = type(client).__name__
    return TypeError(
        f"{name} is an asyncio client: write 'async {statement}' in a coroutine, or use "
        f"{name.removeprefix('Async')}, which blocks"
    )


def is_blocking(client: object, statement: str) -> TypeError:
    """Return the error of an ``async`` statement on a blocking client."""
    name = type(client).__name__
    return TypeError(
        f"{name} is a blocking client: write '{statement}' without async, or use Async{name}"
    )
