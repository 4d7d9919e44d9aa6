"""Choose records by their contents. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pyk.command_line.text import as_bytes
from pyk.runtime import slotted

if TYPE_CHECKING:
    from pyk.clients import ConsumerRecord

Pattern = re.Pattern[bytes]


@slotted.frozen(kw_only=True)
class RecordFilter:
    """All conditions must hold. A pattern may match anywhere."""

    value: Pattern | None = None
    key: Pattern | None = None
    headers: tuple[tuple[str, Pattern | None], ...] = ()
    """Names that there must be, each with a pattern of one of its values."""

    def __bool__(self) -> bool:
        return self.value is not None or self.key is not None or bool(self.headers)

    def accepts(self, record: ConsumerRecord[bytes | None, bytes | None]) -> bool:
        """Return whether a record meets all conditions."""
        if self.value is not None and not _matches(self.value, record.value):
            return False
        if self.key is not None and not _matches(self.key, record.key):
            return False
        return all(
            any(
                name == wanted and (pattern is None or _matches(pattern, value))
                for name, value in record.headers
            )
            for wanted, pattern in self.headers
        )


def parse_pattern(text: str) -> Pattern:
    """Return a pattern of bytes; raise ``ValueError`` that says what is wrong with it."""
    try:
        return re.compile(as_bytes(text))
    except re.error as error:
        raise ValueError(f"{text!r} is not a regular expression: {error}") from None


def parse_header(text: str) -> tuple[str, Pattern | None]:
    """Return the condition ``NAME`` or ``NAME=PATTERN``; raise ``ValueError`` without a name."""
    name, found, pattern = text.partition("=")
    if not name:
        raise ValueError(f"it must be NAME or NAME=REGEX, not {text!r}")
    return name, parse_pattern(pattern) if found else None


def _matches(pattern: Pattern, data: bytes | None) -> bool:
    return data is not None and pattern.search(data) is not None
