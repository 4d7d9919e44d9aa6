"""Text that is safe to print, and JSON on one line. Pure."""

from __future__ import annotations

from typing import Any


def to_line(form: Any) -> str:
    """Return JSON on one line; all characters that are not ASCII are escaped."""
    import json  # tables need none

    return json.dumps(form, separators=(",", ":"))


def printable(text: str) -> str:
    """Return ``text`` with all characters escaped that are not printable."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
