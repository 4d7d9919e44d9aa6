"""Values of results as cells of tables. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pyk.command_line.text import printable
from pyk.runtime import slotted


@slotted.frozen
class Column:
    """One column: its title, and the name of its value in the JSON form of a row."""

    name: str
    title: str = ""
    """By default the words of its name."""
    style: str = ""
    """What a terminal shows it in."""

    def __attrs_post_init__(self) -> None:
        if not self.title:
            words = "".join(f" {c.lower()}" if c.isupper() else c for c in self.name)
            object.__setattr__(self, "title", words.capitalize())


def cell(value: Any) -> str:
    """Return a value of a JSON form as the text of a cell."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ",".join(map(cell, value)) or "-"
    return printable(str(value))


def cells(columns: Sequence[Column], row: Mapping[str, Any]) -> list[str]:
    """Return the texts of a row, in the order of the columns."""
    return [cell(row.get(column.name)) for column in columns]


def is_numeric(column: Column, rows: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether a column holds numbers only, which stand to the right."""
    values = [row[column.name] for row in rows if row.get(column.name) is not None]
    return bool(values) and all(type(one) in (int, float) for one in values)
