"""Escape sequences in options: ``\\t``, ``\\n``, ``\\x1e``. Pure."""

from __future__ import annotations

import re

from pyk.command_line.text import as_bytes

NAMED = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "\\": "\\"}
ESCAPE = r"\\(x[0-9a-fA-F]{1,2}|.)"


def unescape(text: str) -> bytes:
    """Return the bytes that a text with escape sequences means; an unknown one stays as it is.

    Bytes of an argument that are no text come through as they are.
    """
    result, position = b"", 0
    for found in re.finditer(ESCAPE, text, re.DOTALL):
        result += as_bytes(text[position : found.start()])
        position = found.end()
        word = found[1]
        if len(word) > 1:
            result += bytes([int(word[1:], 16)])
        else:
            result += as_bytes(NAMED.get(word, found[0]))
    return result + as_bytes(text[position:])
