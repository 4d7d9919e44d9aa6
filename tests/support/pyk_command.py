"""The ``pyk`` command as its users run it: from scripts, and on a terminal."""

from __future__ import annotations

import errno
import json
import logging
import os
import pty
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import attrs
from click.testing import CliRunner

from pyk.command_line.main import main
from support.real_time import IN_TIME

PROGRAM = [sys.executable, "-m", "pyk.command_line"]
ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
SHARED = ("PYK_BOOTSTRAP", "PYK_PROFILE", "PYK_CONFIG", "XDG_CONFIG_HOME", "NO_COLOR")


@attrs.frozen
class Ran:
    """What a command printed, and how it ended."""

    code: int
    out: str
    err: str = ""

    @property
    def lines(self) -> list[str]:
        """Return the lines of standard output, without colours and without spaces at their end."""
        return [line.rstrip() for line in ESCAPE.sub("", self.out).splitlines()]

    @property
    def json(self) -> list[Any]:
        """Return the JSON values that were printed, one a line."""
        return [json.loads(line) for line in self.out.splitlines()]


def run(*words: object, stdin: str | bytes = b"", env: Mapping[str, str] | None = None) -> Ran:
    """Run the command in this process, with no terminal."""
    clean: dict[str, str | None] = dict.fromkeys(SHARED)
    with _kept_logging():
        done = CliRunner().invoke(
            main, list(map(str, words)), input=stdin, env={**clean, **(env or {})}
        )
    return Ran(done.exit_code, done.stdout, done.stderr)


def run_on_terminal(
    *words: object,
    typed: str = "",
    secrets: Sequence[str] = (),
    env: Mapping[str, str] | None = None,
) -> Ran:
    """Run the command in a process with a terminal of its own; ``typed`` is typed there.

    Each of ``secrets`` is typed at a prompt: asking for a password discards what came before.
    """
    leader, follower = pty.openpty()
    with subprocess.Popen(
        [*PROGRAM, *map(str, words)],
        stdin=follower,
        stdout=follower,
        stderr=follower,
        env=_environment(env),
    ) as process:
        os.close(follower)
        os.write(leader, typed.encode())
        out = b""
        left = list(secrets)
        for data in _read(leader):
            out += data
            if left and out.endswith(b": "):
                os.write(leader, f"{left.pop(0)}\n".encode())
        os.close(leader)
        code = process.wait(IN_TIME)
    return Ran(code, out.decode().replace("\r\n", "\n"))


def start(
    *words: object, env: Mapping[str, str] | None = None, stdout: int = subprocess.PIPE
) -> subprocess.Popen[bytes]:
    """Start the command in a process with pipes."""
    return subprocess.Popen(
        [*PROGRAM, *map(str, words)],
        stdin=subprocess.PIPE,
        stdout=stdout,
        stderr=subprocess.PIPE,
        env=_environment(env),
    )


def _environment(env: Mapping[str, str] | None) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in SHARED}
    return {**kept, "COLUMNS": "100", "TERM": "xterm", **(env or {})}


def _read(leader: int) -> Iterator[bytes]:
    while True:
        try:
            data = os.read(leader, 65_536)
        except OSError as error:
            if error.errno != errno.EIO:  # which says that the other end is closed
                raise
            return
        if not data:
            return
        yield data


@contextmanager
def _kept_logging() -> Iterator[None]:
    """Restore the loggers that the command sets up for its process."""
    loggers = [logging.getLogger(name) for name in ("pyk", "pyk.clients.config")]
    before = [(one.level, list(one.handlers)) for one in loggers]
    yield
    for logger, (level, handlers) in zip(loggers, before, strict=True):
        logger.setLevel(level)
        logger.handlers = handlers
