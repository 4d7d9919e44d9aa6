"""The users of ``pyk broker``, and the file that tells their clients how to connect."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Iterable, Mapping
from pathlib import Path

import click

VARIABLE = re.compile(r"[A-Za-z0-9_]+")
PREFIX = "PYK_PASSWORD_"
SASL_FORM = "it must be USER=PASSWORD, USER=@FILE or USER"
ESCAPES = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\f": "\\f", " ": "\\ "}


def read_users(given: Iterable[str]) -> dict[str, str]:
    """Return the passwords by user of ``--sasl``; raise ``BadParameter``, without a password."""
    users: dict[str, str] = {}
    for text in given:
        name, separator, password = text.partition("=")
        if not name:
            raise _wrong(SASL_FORM)
        if name in users:
            raise _wrong(f"user {name!r} is given twice")
        users[name] = _password(name, password) if separator else _password_of_environment(name)
        if not users[name]:
            raise _wrong(f"the password of {name!r} is empty")
    return users


def write_client_properties(path: str, properties: Mapping[str, str]) -> None:
    """Write a properties file of Java that only this user can read; raise ``OSError``.

    It takes the place of what was there, also of a link: nobody else gets to choose where the
    password is written.
    """
    text = "".join(f"{_escaped(name)}={_escaped(value)}\n" for name, value in properties.items())
    new = f"{path}.{secrets.token_hex(8)}"
    with open(new, "x", encoding="ascii", opener=_only_for_this_user) as file:
        file.write(text)
    os.replace(new, path)


def _password(name: str, given: str) -> str:
    if not given.startswith("@"):
        return given
    try:
        lines = Path(given[1:]).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8"
        raise _wrong(
            f"the password of {name!r} cannot be read from {given[1:]!r}: {reason}"
        ) from None
    return lines[0] if lines else ""


def _password_of_environment(name: str) -> str:
    if not VARIABLE.fullmatch(name):
        raise _wrong(f"no variable of the environment can be for {name!r}; use {name}=@FILE")
    variable = f"{PREFIX}{name.upper()}"
    password = os.environ.get(variable)
    if password is None:
        raise _wrong(
            f"the password of {name!r} is missing: set {variable}, or use {name}=PASSWORD or "
            f"{name}=@FILE"
        )
    return password


def _wrong(message: str) -> click.BadParameter:
    return click.BadParameter(message, param_hint="--sasl")


def _escaped(text: str) -> str:
    return "".join(ESCAPES.get(one) or _ascii(one) for one in text)


def _ascii(character: str) -> str:
    """Return a character as Java reads it: everything but ASCII as UTF-16."""
    if character in "=:#!":
        return f"\\{character}"
    if character.isascii() and character.isprintable():
        return character
    units = character.encode("utf-16-be", errors="surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


def _only_for_this_user(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
