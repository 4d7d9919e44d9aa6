from __future__ import annotations

import click
import pytest

from pyk.clients.errors import (
    BootstrapError,
    ConfigurationError,
    ConnectionAttempt,
    KafkaError,
    KafkaTimeoutError,
    NodeDisconnectedError,
    SeveralErrors,
    Stage,
    TopicAlreadyExistsError,
)
from pyk.command_line.frame.exit_codes import ExitCode
from pyk.command_line.frame.failures import CommandError, Failure, explain, is_interrupt, one_line


def caused(error: KafkaError, cause: Exception) -> KafkaError:
    error.__cause__ = cause
    return error


LOST = NodeDisconnectedError("connection lost")
EXISTS = TopicAlreadyExistsError("it exists")
ATTEMPT = ConnectionAttempt("shop:1", None, Stage.DNS, "name not known", "is it right?")


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (CommandError("no such thing"), 1, "no such thing"),
        (CommandError("wrong", ExitCode.USAGE), 2, "wrong"),
        (ConfigurationError("'x' is not an option"), 2, "'x' is not an option"),
        (click.UsageError("No such option '--x'."), 2, "No such option '--x' (see pyk a --help)"),
        (click.ClickException("it failed"), 1, "it failed"),
        (EXISTS, 1, "it exists"),
        (LOST, 3, "connection lost"),
        (BootstrapError("none led", attempts=[ATTEMPT]), 3,
         "none led; shop:1: DNS: name not known; is it right?"),
        (caused(KafkaTimeoutError("too late"), LOST), 3, "too late"),
        (KafkaTimeoutError("too late"), 1, "too late"),
        (SeveralErrors("2 failed", {"a": LOST, "b": EXISTS}, {}), 1,
         "2 failed; a: connection lost; b: it exists"),
        (SeveralErrors("1 failed", {"a": LOST}, {}), 3, "1 failed; a: connection lost"),
        (FileNotFoundError(2, "No such file or directory", "x.toml"), 1,
         "x.toml: No such file or directory"),
        (FileNotFoundError(2, "No such file or directory", ""), 1,
         "'': No such file or directory"),
    ],
)  # fmt: skip
def test_an_error_is_one_line_and_an_exit_code(error: Exception, code: int, message: str) -> None:
    assert explain(error, "pyk a") == Failure(code, message)


def test_an_error_that_nobody_expected_is_called_a_bug() -> None:
    failure = explain(ZeroDivisionError("division by zero"), "pyk")

    assert failure.code == 1
    assert failure.message.startswith(
        "the command failed because of a bug in pyk: ZeroDivisionError: division by zero"
    )


def test_an_error_that_is_its_own_cause_is_explained() -> None:
    assert explain(caused(EXISTS, EXISTS), "pyk") == Failure(1, "it exists")


@pytest.mark.parametrize(
    ("text", "line"),
    [("a", "a"), ("a:\n  b\n  c", "a: b; c"), ("a;\nb?", "a; b?"), ("", "")],
)
def test_lines_are_joined(text: str, line: str) -> None:
    assert one_line(text) == line


BECOME = "try:\n    {first}\nexcept BaseException:\n    raise TypeError"


def raised_by(source: str, name: str) -> TypeError:
    """Return what code raises; ``<module>`` is what the code of modules is called."""
    code = compile(source, "code", "exec").replace(co_name=name)
    with pytest.raises(TypeError) as raised:
        exec(code)
    return raised.value


@pytest.mark.parametrize(
    ("first", "name", "is_interrupted"),
    [
        ("raise KeyboardInterrupt", "<module>", True),
        ("raise KeyboardInterrupt", "finish", False),
        ("raise ValueError", "<module>", False),
    ],
)
def test_an_interrupt_may_have_become_another_error_in_an_import(
    first: str, name: str, *, is_interrupted: bool
) -> None:
    assert is_interrupt(raised_by(BECOME.format(first=first), name)) is is_interrupted


def test_an_error_that_is_its_own_cause_is_no_interrupt() -> None:
    assert not is_interrupt(caused(EXISTS, EXISTS))
