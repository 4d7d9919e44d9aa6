"""The items of a dump: lines of named facts, printed as text or as JSON, and problems."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from pyk.command_line.text import printable, to_line
from pyk.runtime import slotted


@slotted.frozen
class Line:
    """One line of a dump: facts under the names that Kafka's own tool gives them."""

    facts: Mapping[str, Any]
    prefix: str = ""

    def as_text(self) -> str:
        """Return ``name: value name: value …``."""
        return self.prefix + " ".join(f"{name}: {_text(v)}" for name, v in self.facts.items())

    def as_json(self, file: str) -> str:
        return to_line({"file": file, **self.facts})


@slotted.frozen
class Problem:
    """A sentence about damage in the file."""

    text: str


DumpItem: TypeAlias = Line | Problem


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return to_line(value)
    if isinstance(value, list):
        return f"[{','.join(map(printable, value))}]"
    return "none" if value is None else printable(str(value))
