"""``pyk quota``: limits of users, clients and addresses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from pyk.command_line.arguments import NameAndValue, not_empty
from pyk.command_line.frame.commands import CommandGroup

TYPES = ("user", "client-id", "ip")
DRY_RUN = click.option("--dry-run", is_flag=True, help="Only check whether it would work.")


def _entity(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that name whom a limit is for."""
    command = click.option(
        "--default",
        "defaults",
        type=click.Choice(TYPES),
        multiple=True,
        help="Those users, client ids or addresses that have no limit of their own.",
    )(command)
    for name, what in (("ip", "address"), ("client-id", "client id"), ("user", "user")):
        command = click.option(
            f"--{name}", metavar="NAME", callback=not_empty, help=f"This {what}."
        )(command)
    return command


def _named(options: dict[str, Any]) -> dict[str, str | None]:
    """Return the names by type, None for the default."""
    names: dict[str, str | None] = {
        kind: options[kind.replace("-", "_")]
        for kind in TYPES
        if options[kind.replace("-", "_")] is not None
    }
    for kind in options["defaults"]:
        if kind in names:
            raise click.UsageError(f"--{kind} and --default {kind} exclude each other")
        names[kind] = None
    return names


def _needed(options: dict[str, Any]) -> dict[str, str | None]:
    names = _named(options)
    if not names:
        raise click.UsageError("name whom it is for: --user, --client-id, --ip or --default")
    return names


@click.group(cls=CommandGroup)
def quota() -> None:
    """List, set and lift limits of users, client ids and addresses.

    Users and client ids, or both together, have producer_byte_rate, consumer_byte_rate,
    request_percentage and controller_mutation_rate; addresses have connection_creation_rate.
    """


@quota.command("list")
@_entity
def list_quotas(**options: Any) -> None:
    """List limits, all or those for whom the options name."""
    from pyk.command_line.work import quotas

    quotas.show_list(_named(options))


@quota.command("set")
@click.argument("limits", nargs=-1, required=True, type=NameAndValue(), metavar="NAME=VALUE...")
@_entity
@DRY_RUN
def set_quotas(limits: tuple[tuple[str, str], ...], *, dry_run: bool, **options: Any) -> None:
    """Set limits, such as producer_byte_rate=1000000."""
    numbers: dict[str, float | None] = {}
    for name, text in limits:
        try:
            numbers[name] = float(text)
        except ValueError:
            raise click.UsageError(f"{name} must be a number, not {text!r}") from None
    from pyk.command_line.work import quotas

    quotas.change(_needed(options), numbers, dry_run=dry_run)


@quota.command("unset")
@click.argument("limits", nargs=-1, required=True, metavar="NAME...")
@_entity
@DRY_RUN
def unset_quotas(limits: tuple[str, ...], *, dry_run: bool, **options: Any) -> None:
    """Lift limits."""
    from pyk.command_line.work import quotas

    quotas.change(_needed(options), dict.fromkeys(limits), dry_run=dry_run)
