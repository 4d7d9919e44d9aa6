from __future__ import annotations

import subprocess

import pytest

from pyk.command_line.frame import profile_files
from pyk.command_line.frame.failures import CommandError
from pyk.command_line.frame.profile_files import references


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("", "it names no command"),
        ("  ", "it names no command"),
        ('pass "shop', "No closing quotation"),
        ("false", "the command ended with status 1"),
        ("printf '\\377'", "it is not UTF-8"),
        ("no-such-program", "No such file or directory"),
    ],
)
def test_the_error_for_a_command_that_gives_no_password_says_why(command: str, reason: str) -> None:
    with pytest.raises(CommandError) as raised:
        references().resolve("sasl_password", f"command:{command}")

    assert str(raised.value) == f"sasl_password: {f'command:{command}'!r} cannot be read: {reason}"
    assert raised.value.code == 2


def test_a_command_that_does_not_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(*arguments: object, timeout: float, **options: object) -> None:
        raise subprocess.TimeoutExpired("pass", timeout)

    monkeypatch.setattr(subprocess, "run", run)

    with pytest.raises(
        CommandError,
        match=f"the command did not end within {profile_files.COMMAND_SECONDS} seconds",
    ):
        references().resolve("sasl_password", "command:pass shop")
