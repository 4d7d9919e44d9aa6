"""Ranges of protocol versions, in the notation of Kafka's own message definitions."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from pyk.runtime import slotted

LAST_VERSION = 32767  # a version is an int16; an open range ends here


@slotted.frozen
class VersionRange:
    """An inclusive range of versions; empty when ``lowest > highest``."""

    lowest: int
    highest: int

    @classmethod
    @cache
    def parse(cls, text: str) -> VersionRange:
        """Return the range that ``text`` means: ``"3"``, ``"0-13"``, ``"9+"`` or ``"none"``."""
        if text == "none":
            return NO_VERSIONS
        if text.endswith("+"):
            return cls(int(text[:-1]), LAST_VERSION)
        lowest, _, highest = text.partition("-")
        return cls(int(lowest), int(highest or lowest))

    @property
    def is_empty(self) -> bool:
        return self.lowest > self.highest

    def __contains__(self, version: int) -> bool:
        return self.lowest <= version <= self.highest

    def __and__(self, other: VersionRange) -> VersionRange:
        return VersionRange(max(self.lowest, other.lowest), min(self.highest, other.highest))

    def __iter__(self) -> Iterator[int]:
        return iter(range(self.lowest, self.highest + 1))

    def __str__(self) -> str:
        if self.is_empty:
            return "none"
        if self.highest == LAST_VERSION:
            return f"{self.lowest}+"
        return str(self.lowest) if self.lowest == self.highest else f"{self.lowest}-{self.highest}"


NO_VERSIONS = VersionRange(0, -1)
ALL_VERSIONS = VersionRange(0, LAST_VERSION)
