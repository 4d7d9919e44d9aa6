"""The reference of commands, ``docs/commands.md``, written from the commands themselves.

``PYTHONPATH=tests python -m docs.command_page`` writes it again.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path

import click

from pyk.command_line.frame.commands import shared_options
from pyk.command_line.main import main

PAGE = Path(__file__).resolve().parents[2] / "docs" / "commands.md"
COMMAND = "PYTHONPATH=tests python -m docs.command_page"
HEAD = (
    "# Commands",
    "",
    "Every command of `pyk` and its options; `pyk COMMAND --help` says the same. The guide is",
    "[The command line](command-line.md).",
    "",
    f"Written from the commands by `{COMMAND}`.",
    "",
    "## Options of all commands",
    "",
    "They stand before or after the name of the command. `broker`, `completion`, `decode` and",
    "`dump-log` need no cluster, and take those before it only.",
    "",
)


def page() -> str:
    """Return the text of the page."""
    context = click.Context(main, info_name="pyk")
    lines = [*HEAD, *_table(shared_options(), context), ""]
    for command, path in _commands(main, context):
        lines += _section(command, path)
    return "\n".join(lines).rstrip() + "\n"


def _commands(
    group: click.Group, context: click.Context
) -> Iterator[tuple[click.Command, click.Context]]:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        below = click.Context(command, info_name=name, parent=context)
        yield command, below
        if isinstance(command, click.Group):
            yield from _commands(command, below)


def _section(command: click.Command, context: click.Context) -> Iterator[str]:
    level = "##" if context.parent is not None and context.parent.parent is None else "###"
    yield f"{level} {context.command_path}"
    yield ""
    if not isinstance(command, click.Group):
        pieces = command.collect_usage_pieces(context)
        yield f"    {context.command_path} {' '.join(pieces)}"
        yield ""
    for paragraph in inspect.cleandoc(command.help or "").split("\n\n"):
        yield _escaped(" ".join(paragraph.split()))
        yield ""
    shared = set(getattr(command, "shared", ()))
    own = [one for one in command.params if isinstance(one, click.Option) and one not in shared]
    if own:
        yield from _table(own, context)
        yield ""


def _table(options: list[click.Option], context: click.Context) -> Iterator[str]:
    yield "| option | |"
    yield "| --- | --- |"
    for option in options:
        record = option.get_help_record(context)
        if record is not None:
            names, text = record
            yield f"| `{names.replace('|', '¦')}` | {_escaped(text)} |"


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("*", "\\*").replace("<", "&lt;").replace("_", "\\_")


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
