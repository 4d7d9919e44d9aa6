"""Read standard input as bytes, up to its first end."""

from __future__ import annotations

import io
import sys
from typing import Any


def standard_input() -> io.BufferedReader:
    """Return standard input; on a terminal, Ctrl-D ends it once and for all.

    Readers ask again after the last piece. A terminal would wait for more then, so that Ctrl-D had
    to be pressed for each time that they ask.
    """
    file: Any = sys.stdin.buffer
    return io.BufferedReader(_EndsOnce(file.raw)) if sys.stdin.isatty() else file


class _EndsOnce(io.RawIOBase):
    """A file whose end stays its end."""

    def __init__(self, file: io.RawIOBase) -> None:
        self._file = file
        self._is_over = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        if self._is_over:
            return 0
        count = self._file.readinto(buffer)
        self._is_over = count == 0
        return count
