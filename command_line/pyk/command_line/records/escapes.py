"""Escape sequences in options: ``\\t``, ``\\n``, ``\\x1e``. Pure."""

from __future__ import annotations

import re

NAMED = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "\\": "\\"}
ESCAPE = r"\\(x[0-9a-fA-F]{1,2}|.)"


def unescape(text: str) -> bytes:
    """Return the bytes that a text with escape sequences means; an unknown one stays as it is."""
    result, position = b"", 0
    for found in re.finditer(ESCAPE, text, re.DOTALL):
        result += text[position : found.start()].encode()
        position = found.end()
        word = found[1]
        if len(word) > 1:
            result += bytes([int(word[1:], 16)])
        else:
            result += NAMED.get(word, found[0]).encode()
    return result + text[position:].encode()
