"""The ``pyk`` command: one module per subcommand, imported when the subcommand is called."""

from __future__ import annotations

import gc
import sys
from importlib import import_module
from io import TextIOWrapper

try:
    import click
except ModuleNotFoundError:
    sys.exit("pyk: the command line needs click; install it with  pip install 'pyk-kafka[cli]'")

from pyk.command_line.hidden_modules import hidden_modules
from pyk.protocol.version import __version__

COMMANDS = {
    "broker": "Run a broker for development and tests.",
    "decode": "Show bytes of the Kafka protocol as text.",
    "dump-log": "Show what the files of a log hold.",
}


WITHOUT_TLS = ("broker",)
"""Commands that start faster because they need no TLS, unless their arguments name it."""


class _Commands(click.Group):
    """Subcommands by the name of their module."""

    def list_commands(self, context: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        module = name.replace("-", "_")
        gc.disable()  # imported objects are never garbage: searching them only takes time
        if name in WITHOUT_TLS and not _names_tls(sys.argv):
            with hidden_modules("ssl"):
                import_module("asyncio")
        command: click.Command = getattr(import_module(f"pyk.command_line.{module}"), module)
        gc.freeze()
        gc.enable()
        return command

    def resolve_command(
        self, context: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            import difflib

            near = difflib.get_close_matches(name, COMMANDS, n=1)
            advice = f"did you mean {near[0]!r}?" if near else f"use one of {', '.join(COMMANDS)}"
            context.fail(f"{name!r} is not a command; {advice}")
        return super().resolve_command(context, args)

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name]) for name in self.list_commands(context)])


def _names_tls(arguments: list[str]) -> bool:
    return any(each == "--tls" or "SSL" in each.upper() for each in arguments)


@click.command(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "-V", "--version", prog_name="pyk")
def main() -> None:
    """The Kafka toolkit for Python."""
    if isinstance(sys.stdout, TextIOWrapper):  # a terminal may not have every character
        sys.stdout.reconfigure(errors="backslashreplace")
