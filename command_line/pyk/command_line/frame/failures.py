"""Explain an error in one line, and choose the exit code of a command that ended with it. Pure."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from pyk.command_line.frame.exit_codes import ExitCode
from pyk.runtime import slotted

PLAIN_WORDS = {
    "is not a valid integer range": "is not a whole number",
    "is not a valid integer": "is not a whole number",
    "is not a valid float range": "is not a number",
}
"""What click calls numbers after the types of programs."""


@slotted.frozen
class Failure:
    """How a command failed."""

    code: int
    message: str
    """One line: what happened, where, why and what to do."""


class CommandError(Exception):
    """What a command has found to be wrong: a line for the user, and the exit code."""

    def __init__(self, message: str, code: ExitCode = ExitCode.FAILED) -> None:
        super().__init__(message)
        self.code = code


def explain(error: BaseException, command: str) -> Failure:
    """Return the failure that an error is; ``command`` is the command whose use was wrong."""
    if isinstance(error, CommandError):
        return Failure(error.code, _with_notes(str(error), error))
    kind = type(error).__name__
    if hasattr(error, "format_message") and hasattr(error, "exit_code"):
        return _of_click(error, command)
    clients = sys.modules.get("pyk.clients.errors")  # without them no client has failed
    if clients is not None and isinstance(error, clients.KafkaError):
        return Failure(_code_of(error, clients), _with_notes(str(error), error))
    if isinstance(error, OSError):
        where = "" if error.filename is None else f"{error.filename or repr('')}: "
        text = f"{where}{error.strerror or error}"
        return Failure(ExitCode.FAILED, _with_notes(text, error))
    return Failure(
        ExitCode.FAILED,
        one_line(f"the command failed because of a bug in pyk: {kind}: {error} ({_where(error)})"),
    )


def is_interrupt(error: BaseException) -> bool:
    """Return whether an interrupt became this error in an import.

    Python raises a ``RuntimeError``, for instance, where ``__set_name__`` was interrupted.
    """
    caused = any(isinstance(one, KeyboardInterrupt) for one in _chain(error, with_context=True))
    return caused and _left_import(error)


def one_line(text: str) -> str:
    """Return text of several lines as one."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    joined = "".join(
        f"{line} " if line.endswith((":", ";", ",", ".", "?")) else f"{line}; " for line in lines
    )
    return joined.rstrip("; ") if len(lines) > 1 else "".join(lines)


def _with_notes(text: str, error: BaseException) -> str:
    """Return the text of an error with what was noted about it (PEP 678), as one line."""
    return one_line("; ".join([text, *getattr(error, "__notes__", ())]))


def _of_click(error: Any, command: str) -> Failure:
    message = one_line(error.format_message())
    for words, plain in PLAIN_WORDS.items():
        message = message.replace(words, plain)
    if error.exit_code == ExitCode.USAGE:
        message = f"{message.rstrip('.')} (see {command} --help)"
    return Failure(error.exit_code, message)


def _code_of(error: Any, clients: Any) -> ExitCode:
    """Return whether the user, the network or the cluster is to blame for an error of a client."""
    if isinstance(error, clients.ConfigurationError):
        return ExitCode.USAGE
    unreachable = (clients.BootstrapError, clients.NetworkError)
    if isinstance(error, clients.SeveralErrors):
        lost = [isinstance(one, unreachable) for one in error.errors.values()]
        return ExitCode.UNREACHABLE if lost and all(lost) else ExitCode.FAILED
    is_lost = any(isinstance(one, unreachable) for one in _chain(error))
    return ExitCode.UNREACHABLE if is_lost else ExitCode.FAILED


def _chain(error: BaseException | None, *, with_context: bool = False) -> Iterator[BaseException]:
    """Yield an error and what caused it, each once: causes may form a circle."""
    seen: list[BaseException] = []
    while error is not None and error not in seen:
        seen.append(error)
        yield error
        error = error.__cause__ or (error.__context__ if with_context else None)


def _left_import(error: BaseException) -> bool:
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if code.co_name == "<module>" or code.co_filename.startswith("<frozen importlib"):
            return True
        trace = trace.tb_next
    return False


def _where(error: BaseException) -> str:
    """Return the last line of pyk that an error went through, for a report of a bug."""
    trace, where = error.__traceback__, "unknown line"
    while trace is not None:
        name = trace.tb_frame.f_globals.get("__name__", "")
        if name.startswith("pyk."):
            where = f"{name}:{trace.tb_lineno}"
        trace = trace.tb_next
    return where
