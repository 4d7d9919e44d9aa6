"""The classes of all commands: they share options, and suggest what was meant."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import click

from pyk.command_line.frame.settings import Settings
from pyk.command_line.frame.suggestions import command_advice, option_advice
from pyk.command_line.hidden_modules import hidden_modules
from pyk.command_line.text import is_text, printable


def settings_of(context: click.Context | None = None) -> Settings:
    """Return the shared options of the command that runs."""
    return (context or click.get_current_context()).ensure_object(Settings)


def colour_wish() -> bool | None:
    """Return None for colour where a terminal is, False where it has or the user wants none.

    See no-color.org; a dumb terminal would show the escape sequences.
    """
    is_unwanted = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return False if is_unwanted else None


def _keep(name: str) -> Callable[[click.Context, click.Parameter, Any], None]:
    """Return a callback that keeps the value of a shared option, if one was given."""

    def keep(context: click.Context, parameter: click.Parameter, value: Any) -> None:
        settings = settings_of(context)
        if not isinstance(parameter.type, click.Path):
            _check_text(context, parameter, value)
        if value is not None and value is not False:
            setattr(settings, name, value)

    return keep


def _keep_verbosity(context: click.Context, parameter: click.Parameter, value: int) -> None:
    settings_of(context).verbosity += value


def _keep_options(
    context: click.Context, parameter: click.Parameter, values: Sequence[str]
) -> None:
    for text in values:
        _check_text(context, parameter, text)
        name, separator, value = text.partition("=")
        if not separator or not name.strip():
            raise click.BadParameter(f"it must be NAME=VALUE, not {text!r}", context, parameter)
        settings_of(context).options[name.strip()] = value


def _check_text(context: click.Context, parameter: click.Parameter, value: Any) -> None:
    """Refuse a value that holds bytes which are not UTF-8."""
    if isinstance(value, tuple):
        for each in value:
            _check_text(context, parameter, each)
    elif isinstance(value, str) and not is_text(value):
        raise click.BadParameter(f"'{printable(value)}' is not UTF-8", context, parameter)


def complete_profiles(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[str]:
    """Return the profiles that begin so, for the completion of a shell."""
    from pyk.command_line.frame.profile_files import read_profiles

    try:
        names = read_profiles().names
    except Exception:  # a file that is wrong: shells show no errors, commands do
        return []
    return [name for name in names if name.startswith(incomplete)]


def shared_options() -> list[click.Option]:
    """Return the options that every command of a cluster takes, also before its name."""
    return [
        click.Option(
            ["-b", "--bootstrap"],
            metavar="HOST:PORT",
            help="Brokers to connect to first, separated by commas; also PYK_BOOTSTRAP.",
            expose_value=False,
            callback=_keep("bootstrap"),
        ),
        click.Option(
            ["--profile"],
            metavar="NAME",
            help="A cluster of the file of profiles; also PYK_PROFILE.",
            expose_value=False,
            callback=_keep("profile"),
            shell_complete=complete_profiles,
        ),
        click.Option(
            ["--properties"],
            metavar="FILE",
            help="A file of Kafka's client properties.",
            type=click.Path(dir_okay=False),
            expose_value=False,
            callback=_keep("properties"),
        ),
        click.Option(
            ["-X", "options"],
            metavar="NAME=VALUE",
            help="An option of the client, under Kafka's name or that of pyk; may be repeated.",
            multiple=True,
            expose_value=False,
            callback=_keep_options,
        ),
        click.Option(
            ["--json"],
            is_flag=True,
            help="Print one JSON value a line.",
            expose_value=False,
            callback=_keep("as_json"),
        ),
        click.Option(
            ["-v", "--verbose"],
            count=True,
            help="Log on standard error what the client does; twice for every request.",
            expose_value=False,
            callback=_keep_verbosity,
        ),
    ]


HELP = {"help_option_names": ["-h", "--help"]}


class PlainCommand(click.Command):
    """A command that checks its arguments.

    Its errors lead to its own help, which click forgets where a value is missing. Arguments that
    are no text are refused, but for paths: no name in Kafka can hold them.
    """

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        try:
            left = super().parse_args(context, args)
        except click.NoSuchOption as error:
            known = self.list_commands(context) if isinstance(self, click.Group) else ()
            if advice := option_advice(error.option_name, context.command_path, known):
                problem = f"{error.message.rstrip('.')}; {advice}"
                raise click.UsageError(problem, context) from None
            raise
        except click.UsageError as error:
            error.ctx = error.ctx or context
            raise
        for parameter in self.get_params(context):
            if not isinstance(parameter.type, click.Path):
                _check_text(context, parameter, context.params.get(parameter.name or ""))
        return left


class _Sharing(PlainCommand):
    """A command with the shared options, which its help lists by themselves."""

    def __init__(self, *args: Any, **keywords: Any) -> None:
        keywords.setdefault("context_settings", HELP)
        super().__init__(*args, **keywords)
        self.shared = shared_options()
        self.params = [*self.params, *self.shared]

    def format_options(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        for title, of_title in (("Options", False), ("Options of all commands", True)):
            rows = [
                record
                for parameter in self.get_params(context)
                if isinstance(parameter, click.Option)
                if (parameter in self.shared) is of_title
                and (record := parameter.get_help_record(context)) is not None
            ]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)
            if not of_title and isinstance(self, click.Group):
                self.format_commands(context, formatter)


class ClusterCommand(_Sharing):
    """A command about a cluster."""

    def invoke(self, context: click.Context) -> Any:
        """Run it; where nothing can ask for TLS, asyncio is loaded without: in 15 ms, not 21."""
        from pyk.command_line.frame.client_options import has_addresses_alone

        if has_addresses_alone(settings_of(context), os.environ):
            with hidden_modules("ssl"):
                import_module("asyncio")
        return super().invoke(context)


class CopyingCommand(_Sharing):
    """A command about two clusters, of which one has options of its own."""


class CommandGroup(_Sharing, click.Group):
    """Commands of one subject; a misspelt name gets a suggestion."""

    command_class = ClusterCommand

    def resolve_command(
        self, context: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name, known = args[0], self.list_commands(context)
        if name not in known and not name.startswith("-"):
            advice = command_advice(name, context.command_path, known)
            advice = advice or f"use one of {', '.join(known)}"
            context.fail(f"{name!r} is not a command; {advice}")
        return super().resolve_command(context, args)
