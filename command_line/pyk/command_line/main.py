"""The ``pyk`` command: one module per subcommand, imported when the subcommand is called."""

from __future__ import annotations

import errno
import gc
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from io import TextIOWrapper
from typing import Any

try:
    import click
except ModuleNotFoundError:
    sys.exit("pyk: the command line needs click; install it with  pip install 'pyk-kafka[cli]'")

from pyk.command_line.frame.commands import HELP, CommandGroup, colour_wish, settings_of
from pyk.command_line.frame.exit_codes import ExitCode
from pyk.command_line.hidden_modules import hidden_modules
from pyk.protocol.version import __version__

COMMANDS = {
    "acl": "List, create and delete ACLs: who may do what.",
    "broker": "Run a broker for development and tests.",
    "cluster": "Show the cluster and its brokers.",
    "completion": "Print the completion of commands for a shell.",
    "config": "Show and change settings of topics, brokers and groups.",
    "consume": "Print the records of a topic.",
    "copy": "Copy records from topic to topic, or cluster to cluster.",
    "decode": "Show bytes of the Kafka protocol as text.",
    "doctor": "Find out why a client cannot work.",
    "dump-log": "Show what the files of a log hold.",
    "group": "List, describe, reset and delete groups, and watch their lag.",
    "perf": "Measure how fast records are sent and read.",
    "produce": "Send records to a topic.",
    "quota": "List, set and lift limits of users and clients.",
    "topic": "Create, list, describe, change and delete topics.",
    "transaction": "List and describe transactions, and abort those that hang.",
    "user": "List, set and delete users that log in by SCRAM.",
}

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""What a disk answers that takes no more; without the name of a file it is that of the output."""

COMPLETE = "_PYK_COMPLETE"
"""The variable by which shells ask for completions."""

SELDOM = (50_000, 10, 10)
"""How many new objects there must be before Python looks for garbage: 700 by default.

Light commands end with fewer, those of the modules of clients included.
"""

WITHOUT_TLS = ("broker",)
"""Commands that start faster because they need no TLS, unless their arguments name it."""


class _Commands(CommandGroup):
    """Subcommands by the name of their module."""

    def list_commands(self, context: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        module = name.replace("-", "_")
        gc.disable()  # imported objects are never garbage: searching them only takes time
        gc.set_threshold(*SELDOM)  # clients are imported later, when the command runs
        if name in WITHOUT_TLS and not _names_tls(sys.argv):
            with hidden_modules("ssl"):
                import_module("asyncio")
        command: click.Command = getattr(import_module(f"pyk.command_line.{module}"), module)
        gc.freeze()
        gc.enable()
        return command

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name]) for name in self.list_commands(context)])

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        """Run a command. Alone, end the process with an exit code, and print errors as one line."""
        if not standalone_mode or COMPLETE in os.environ:
            return super().main(args, "pyk", COMPLETE, standalone_mode, **extra)
        given = sys.argv[1:] if args is None else list(args)
        sys.exit(self._run(given, prog_name or "pyk", extra))

    def _run(self, args: list[str], name: str, extra: dict[str, Any]) -> int:
        _open_closed_streams()
        try:
            with self.make_context(name, args, **extra) as context:
                code = self.invoke(context)
            sys.stdout.flush()
        except click.exceptions.Exit as ended:
            return ended.exit_code
        except BrokenPipeError:
            return _output_was_closed()
        except (click.Abort, KeyboardInterrupt):
            return _was_interrupted()
        except Exception as error:
            if _is_help(error):
                click.echo(str(error), err=True)
                return ExitCode.USAGE
            return _report(error)
        return code if isinstance(code, int) else ExitCode.DONE


def _is_help(error: Exception) -> bool:
    """Return whether a group was called without a command: click since 8.2 raises its help."""
    kind = getattr(click.exceptions, "NoArgsIsHelpError", None)
    return kind is not None and isinstance(error, kind)


def _open_closed_streams() -> None:
    """Have all three standard streams, for the wrong direction where the user has closed one.

    So writing fails as it does elsewhere, and no connection or file gets the number of a stream.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            os.open(os.devnull, os.O_RDONLY if number else os.O_WRONLY)  # the lowest free number
            setattr(sys, name, open(number, "w" if number else "r", closefd=False))  # noqa: SIM115


def _output_was_closed() -> ExitCode:
    """End quietly, as for ``| head``: let the flush at the end of Python reach nobody."""
    with suppress(OSError, ValueError):  # it may have no file descriptor
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return ExitCode.DONE


def _was_interrupted() -> ExitCode:
    click.echo(err=True)  # after the ^C of the terminal
    return ExitCode.INTERRUPTED


def _report(error: Exception) -> int:
    """Print an error as one line, and return the exit code."""
    # Nothing of this is needed otherwise.
    from pyk.command_line.frame.failures import explain, is_interrupt

    if is_interrupt(error):
        return _was_interrupted()
    if isinstance(error, OSError) and error.errno == errno.EBADF:
        _output_was_closed()
        error = OSError(errno.EBADF, "standard output or input is closed")
    elif isinstance(error, OSError) and error.errno in NO_ROOM and error.filename is None:
        _output_was_closed()
        error = OSError(error.errno, f"standard output: {error.strerror}")
    context = error.ctx if isinstance(error, click.UsageError) else None
    failure = explain(error, "pyk" if context is None else context.command_path)
    head = click.style("error:", fg="red", bold=True)
    click.echo(f"{head} {failure.message}", err=True, color=colour_wish())
    return failure.code


def _names_tls(arguments: list[str]) -> bool:
    return any(each == "--tls" or "SSL" in each.upper() for each in arguments)


@click.command("pyk", cls=_Commands, context_settings=HELP)
@click.version_option(__version__, "-V", "--version", prog_name="pyk")
@click.pass_context
def main(context: click.Context) -> None:
    """The Kafka toolkit for Python."""
    settings_of(context)
    if isinstance(sys.stdout, TextIOWrapper):  # a terminal may not have every character
        sys.stdout.reconfigure(errors="backslashreplace")
    context.color = colour_wish()
