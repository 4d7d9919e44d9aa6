"""``pyk user``: the users that can log in by SCRAM."""

from __future__ import annotations

import click

from pyk.command_line.frame.commands import CommandGroup

MECHANISMS = ("SCRAM-SHA-256", "SCRAM-SHA-512")
MECHANISM = click.option(
    "-m",
    "--mechanism",
    "mechanisms",
    type=click.Choice(MECHANISMS, case_sensitive=False),
    multiple=True,
    metavar="MECHANISM",
    help="SCRAM-SHA-256 or SCRAM-SHA-512; may be repeated.",
)
YES = click.option("-y", "--yes", is_flag=True, help="Do not ask on a terminal.")


@click.group(cls=CommandGroup)
def user() -> None:
    """List users that can log in by SCRAM, give them passwords, and delete them."""


@user.command("list")
@click.argument("names", nargs=-1)
def list_users(names: tuple[str, ...]) -> None:
    """List users with their mechanisms, all or those with these NAMES."""
    from pyk.command_line.work import users

    users.show_list(names)


@user.command("set")
@click.argument("name")
@click.option(
    "--password-from",
    "reference",
    metavar="REFERENCE",
    help="Where the password is kept: env:NAME, file:PATH or command:…. Otherwise a terminal asks "
    "for it, and elsewhere it is the first line of standard input.",
)
@MECHANISM
@click.option(
    "--iterations",
    type=click.IntRange(4096, 16384),
    default=4096,
    show_default=True,
    help="How often the password is hashed.",
)
def set_password(
    name: str, *, reference: str | None, mechanisms: tuple[str, ...], iterations: int
) -> None:
    """Create a user, or change its password; without --mechanism, that of SCRAM-SHA-512.

    The password stays on this machine: brokers get a salted hash of it.
    """
    from pyk.command_line.work import users

    users.set_password(name, reference, mechanisms or MECHANISMS[1:], iterations)


@user.command("delete")
@click.argument("names", nargs=-1, required=True)
@MECHANISM
@YES
def delete(names: tuple[str, ...], *, mechanisms: tuple[str, ...], yes: bool) -> None:
    """Delete users, or with --mechanism only that way to log in."""
    from pyk.command_line.work import users

    users.delete(names, mechanisms, is_sure=yes)
