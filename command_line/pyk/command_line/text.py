"""Text that is safe to print, and JSON on one line. Pure."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any


def to_line(form: Any) -> str:
    """Return JSON on one line; all characters that are not ASCII are escaped."""
    return _encoder()(form)


@cache
def _encoder() -> Callable[[Any], str]:
    """Return the encoder, which ``json.dumps`` would make again for each record."""
    import json  # tables need none

    return json.JSONEncoder(separators=(",", ":")).encode


def is_text(argument: str) -> bool:
    """Return whether an argument of the command has no bytes that are not UTF-8."""
    try:
        argument.encode()
    except UnicodeEncodeError:
        return False
    return True


def as_bytes(argument: str) -> bytes:
    """Return the bytes that an argument of the command had."""
    return argument.encode(errors="surrogateescape")


def quoted(data: bytes) -> str:
    """Return bytes as people write them: text in quotes, with escapes for what is not text."""
    return f"'{printable(data.decode(errors='backslashreplace'))}'"


def printable(text: str) -> str:
    """Return ``text`` with all characters escaped that are not printable."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
