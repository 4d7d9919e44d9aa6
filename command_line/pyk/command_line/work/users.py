"""List the users of SCRAM, give them passwords, and delete them."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from pyk.clients import (
    Admin,
    ResourceNotFoundError,
    ScramCredentialInfo,
    UserScramCredentialDeletion,
    UserScramCredentialsDescription,
    UserScramCredentialUpsertion,
)
from pyk.clients.errors import SeveralErrors
from pyk.command_line.arguments import confirm
from pyk.command_line.frame.connecting import admin
from pyk.command_line.frame.exit_codes import ExitCode
from pyk.command_line.frame.failures import CommandError
from pyk.command_line.frame.output import print_rows, tell
from pyk.command_line.frame.profile_files import references
from pyk.command_line.frame.profiles import REFERENCES
from pyk.command_line.frame.suggestions import did_you_mean
from pyk.command_line.frame.tables import Column
from pyk.command_line.text import is_text

USERS = (Column("user", style="bold"), Column("mechanism"), Column("iterations"))


def show_list(names: Sequence[str]) -> None:
    """Print users, a line for each of their credentials."""
    with admin() as client:
        found = _described(client, names)
    rows = [
        {
            "user": one.name,
            "mechanism": None if info.mechanism is None else str(info.mechanism.value),
            "iterations": info.iterations,
        }
        for _, one in sorted(found.items())
        for info in sorted(one.credential_infos, key=lambda info: str(info.mechanism))
    ]
    print_rows(USERS, rows)


def set_password(
    name: str, reference: str | None, mechanisms: Sequence[str], iterations: int
) -> None:
    """Give a user a password, for each of the mechanisms."""
    password = _password(name, reference)
    upsertions = [
        UserScramCredentialUpsertion(name, ScramCredentialInfo(mechanism, iterations), password)
        for mechanism in dict.fromkeys(mechanisms)
    ]
    with admin() as client:
        client.alter_user_scram_credentials(upsertions)
    for one in upsertions:
        form = {"user": name, "mechanism": str(one.mechanism.value), "iterations": iterations}
        tell(f"user {name} can log in by {one.mechanism.value}", form)


def delete(names: Sequence[str], mechanisms: Sequence[str], *, is_sure: bool) -> None:
    """Delete the credentials of users, all or those of some mechanisms."""
    with admin() as client:
        deletions = [
            UserScramCredentialDeletion(name, info.mechanism)
            for name, one in _described(client, names).items()
            for info in one.credential_infos
            if info.mechanism is not None
            if not mechanisms or info.mechanism.value in mechanisms
        ]
        missing = sorted(set(names) - {one.user for one in deletions})
        if missing:
            raise CommandError(f"user {missing[0]!r} has no credential for {', '.join(mechanisms)}")
        confirm(f"Delete {', '.join(names)}?", is_sure=is_sure)
        client.alter_user_scram_credentials(deletions)
    for each in deletions:
        form = {"user": each.user, "mechanism": str(each.mechanism.value)}
        tell(f"user {each.user} cannot log in by {each.mechanism.value} any more", form)


def _described(client: Admin, names: Sequence[str]) -> dict[str, UserScramCredentialsDescription]:
    """Return users; the error of an unknown one suggests the nearest that exists."""
    try:
        return client.describe_user_scram_credentials(names or None)
    except (ResourceNotFoundError, SeveralErrors):
        known = client.describe_user_scram_credentials()
    unknown = next(name for name in names if name not in known)
    advice = did_you_mean(unknown, known) or "see pyk user list"
    raise CommandError(f"user {unknown!r} does not exist; {advice}")


def _password(name: str, reference: str | None) -> str:
    """Return the password from where it is kept, asked for on a terminal, or from the input."""
    if reference is not None:
        if not reference.startswith(REFERENCES):
            raise CommandError(
                "--password-from: it must be env:NAME, file:PATH or command:…; other users can "
                "see a password among the arguments of a command",
                ExitCode.USAGE,
            )
        password = str(references().resolve("--password-from", reference))
    elif sys.stdin.isatty():
        password = str(
            click.prompt(f"Password of {name}", hide_input=True, confirmation_prompt=True, err=True)
        )
    else:
        password = sys.stdin.readline().rstrip("\r\n")
    if not password:
        raise CommandError("the password is empty", ExitCode.USAGE)
    if not is_text(password):
        raise CommandError("the password is not UTF-8", ExitCode.USAGE)
    return password
