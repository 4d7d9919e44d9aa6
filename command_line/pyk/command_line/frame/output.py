"""Print results: tables on a terminal, lines of cells elsewhere, or JSON."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import click

from pyk.command_line.frame.commands import colour_wish, settings_of
from pyk.command_line.frame.tables import Column, cells, is_numeric
from pyk.command_line.text import to_line

Row = Mapping[str, Any]
NARROW, WIDEST = 60, 10_000
"""A terminal of fewer columns folds lines itself, where a table would break words."""


def is_terminal() -> bool:
    """Return whether people read standard output."""
    return sys.stdout.isatty()


def wants_json() -> bool:
    """Return whether the user asked for JSON."""
    return settings_of().as_json


def print_rows(columns: Sequence[Column], rows: Sequence[Row], *, title: str = "") -> None:
    """Print rows, which are the JSON forms of results.

    Without a terminal, a row is a line of cells with tabs in between, for ``cut`` and ``awk``.
    """
    if wants_json():
        for row in rows:
            click.echo(to_line(row))
    elif is_terminal():
        _print_table(columns, rows, title)
    else:
        for row in rows:
            click.echo("\t".join(cells(columns, row)))


def print_facts(facts: Row) -> None:
    """Print the facts about one thing, name and value a line; nothing of it with ``--json``."""
    if wants_json():
        return
    columns = [Column(name) for name in facts]
    width = max(len(column.title) for column in columns) if is_terminal() else 0
    for column, text in zip(columns, cells(columns, facts), strict=True):
        gap = " " * (width - len(column.title) + 2) if width else "\t"
        click.echo(f"{click.style(column.title, dim=True)}{gap}{text}")


def print_json(form: Row) -> None:
    """Print one JSON value."""
    click.echo(to_line(form))


def tell(text: str, form: Row) -> None:
    """Say what was done: in words on a terminal, as JSON if asked for, otherwise nothing."""
    if wants_json():
        print_json(form)
    elif is_terminal():
        click.echo(text)


def note(text: str) -> None:
    """Say something beside the result, on standard error."""
    click.echo(text, err=True)


def _print_table(columns: Sequence[Column], rows: Sequence[Row], title: str) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, title=title or None, title_justify="left", padding=(0, 2, 0, 0))
    for column in columns:
        justify: Any = "right" if is_numeric(column, rows) else "left"
        table.add_column(column.title, justify=justify, style=column.style, overflow="fold")
    for row in rows:
        table.add_row(*map(Text, cells(columns, row)))
    colours: Any = None if colour_wish() is False else "auto"
    console = Console(highlight=False, color_system=colours)
    if console.width < NARROW:
        needed = console.measure(table, options=console.options.update(width=WIDEST))
        if console.width < needed.minimum:
            console.width = needed.maximum
    console.print(table)
