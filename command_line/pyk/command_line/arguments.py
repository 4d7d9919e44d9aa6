"""The kinds of values that options of several commands take."""

from __future__ import annotations

import sys
from typing import Any

import click

from pyk.command_line.frame.failures import CommandError
from pyk.command_line.moments import Moment, parse_moment
from pyk.command_line.text import as_bytes
from pyk.runtime.system_clock import SystemClock


class MomentType(click.ParamType[Moment]):
    """A point in a log, such as ``earliest``, ``42`` or ``15m``."""

    name = "moment"

    def convert(
        self, value: object, parameter: click.Parameter | None, context: click.Context | None
    ) -> Moment:
        if isinstance(value, Moment):
            return value
        try:
            return parse_moment(str(value), SystemClock().time_ms())
        except ValueError as error:
            self.fail(str(error), parameter, context)


class NameAndValue(click.ParamType[tuple[str, str]]):
    """``NAME=VALUE``, as a pair."""

    name = "pair"

    def convert(
        self, value: object, parameter: click.Parameter | None, context: click.Context | None
    ) -> tuple[str, str]:
        if isinstance(value, tuple):
            return value
        name, separator, text = str(value).partition("=")
        if not separator or not name:
            self.fail(f"it must be NAME=VALUE, not {value!r}", parameter, context)
        return name, text


class NameAndBytes(click.ParamType[tuple[str, bytes]]):
    """``NAME=VALUE``, whose value may hold bytes that are no text."""

    name = "pair"

    def convert(
        self, value: object, parameter: click.Parameter | None, context: click.Context | None
    ) -> tuple[str, bytes]:
        name, text = NameAndValue().convert(value, parameter, context)
        return name, as_bytes(text)


def not_empty(context: click.Context, parameter: click.Parameter, value: Any) -> Any:
    """Refuse an empty name: a script has left out what it stands for."""
    names = value if isinstance(value, tuple) else (value,)
    if "" in names:
        raise click.BadParameter("the name is empty", context, parameter)
    return value


def confirm(question: str, *, is_sure: bool) -> None:
    """Ask on a terminal, unless the user is sure; a script is taken at its word."""
    if not is_sure and sys.stdin.isatty() and not click.confirm(question, err=True):
        raise CommandError("not confirmed; nothing was changed")
