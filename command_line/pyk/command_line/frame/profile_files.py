"""Read the file of profiles, and what its references lead to.

Every command that connects imports this, so it does without :mod:`pathlib`, which takes as long as
a request.
"""

from __future__ import annotations

import os
import stat

from pyk.command_line.frame.client_options import References
from pyk.command_line.frame.exit_codes import ExitCode
from pyk.command_line.frame.failures import CommandError
from pyk.command_line.frame.profiles import Profiles, parse_profiles

COMMAND_SECONDS = 60


def profile_path() -> str:
    """Return the path of the file: ``PYK_CONFIG``, or ``pyk/config.toml`` of the user's folder."""
    if given := os.environ.get("PYK_CONFIG"):
        return given
    home = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    return os.path.join(home, "pyk", "config.toml")


def read_profiles() -> Profiles:
    """Return the profiles of the user; none if there is no file."""
    path = profile_path()
    try:
        text = _text_of(path)
    except FileNotFoundError:
        return Profiles(path)
    except OSError as error:
        problem = f"the file of profiles cannot be read: {path}: {error.strerror or error}"
        raise CommandError(problem, ExitCode.USAGE) from None
    except UnicodeDecodeError:
        text = "\0"  # the parser says that this is not TOML
    return parse_profiles(text, path)


def others_may_read(path: str) -> bool:
    """Return whether users other than the owner of a file may read it."""
    try:
        return bool(os.stat(path).st_mode & (stat.S_IRGRP | stat.S_IROTH))
    except OSError:
        return False


def references() -> References:
    """Return the lookup of references in this process."""
    return References(os.environ, _read_file, _run_command)


def _read_file(path: str) -> str:
    return _text_of(os.path.expanduser(path))


def _text_of(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read()


def _run_command(command: str) -> str:
    """Return what the user's own command prints; raise ``OSError`` or ``ValueError`` otherwise."""
    import shlex
    import subprocess

    words = shlex.split(command)
    if not words:
        raise OSError("it names no command")
    try:
        done = subprocess.run(  # nosec B603  # noqa: S603 - as the user wrote it, without a shell
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
            check=False,
            timeout=COMMAND_SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise OSError(f"the command did not end within {COMMAND_SECONDS} seconds") from None
    if done.returncode != 0:
        raise OSError(f"the command ended with status {done.returncode}")
    return done.stdout
