"""``pyk acl``: who may do what with which resources."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from pyk.command_line.arguments import not_empty
from pyk.command_line.frame.commands import CommandGroup

OPERATIONS = (
    "all",
    "read",
    "write",
    "create",
    "delete",
    "alter",
    "describe",
    "cluster-action",
    "describe-configs",
    "alter-configs",
    "idempotent-write",
    "create-tokens",
    "describe-tokens",
    "two-phase-commit",
)
RESOURCES = ("topic", "group", "transactional-id", "delegation-token", "user")
YES = click.option("-y", "--yes", is_flag=True, help="Do not ask on a terminal.")


def _resources(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add an option for each type of resource; together they are the argument ``resources``."""
    command = click.option("--cluster", is_flag=True, help="The cluster itself.")(command)
    for name in reversed(RESOURCES):
        what = name.replace("-", " ")
        command = click.option(
            f"--{name}",
            multiple=True,
            metavar="NAME",
            callback=not_empty,
            help=f"A {what}; '*' is all; may be repeated.",
        )(command)
    return command


def _named(options: dict[str, Any]) -> list[tuple[str, str | None]]:
    """Return the types and names of the resources that options chose; None for the cluster."""
    chosen: list[tuple[str, str | None]] = [
        (name, each) for name in RESOURCES for each in options[name.replace("-", "_")]
    ]
    return [*chosen, ("cluster", None)] if options["cluster"] else chosen


def _principals(
    context: click.Context, parameter: click.Parameter, value: tuple[str, ...]
) -> tuple[str, ...]:
    """Refuse a principal without a name, also where its type is given."""
    not_empty(context, parameter, tuple(each.partition(":")[2] for each in value if ":" in each))
    not_empty(context, parameter, value)
    return value


PRINCIPAL = click.option(
    "-p",
    "--principal",
    "principals",
    multiple=True,
    metavar="NAME",
    callback=_principals,
    help="alice, or in Kafka's form User:alice; may be repeated.",
)
OPERATION = click.option(
    "-o",
    "--operation",
    "operations",
    type=click.Choice(OPERATIONS, case_sensitive=False),
    multiple=True,
    metavar="OPERATION",
    help="read, write, describe, create, all, …; may be repeated.",
)
HOST = click.option(
    "--host",
    "hosts",
    multiple=True,
    metavar="ADDRESS",
    callback=not_empty,
    help="Clients with this address.",
)


def _filters(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that choose ACLs."""
    pattern = click.option(
        "--pattern",
        type=click.Choice(("literal", "prefixed", "match")),
        help="How ACLs name resources; match: all that are about the named resource.",
    )
    permission = click.option(
        "--permission", type=click.Choice(("allow", "deny")), help="Only such ACLs."
    )
    return PRINCIPAL(OPERATION(HOST(pattern(permission(_resources(command))))))


@click.group(cls=CommandGroup)
def acl() -> None:
    """List, create and delete ACLs: who may do what with which resources."""


@acl.command("list")
@_filters
def list_acls(**options: Any) -> None:
    """List ACLs, all or those that match the options."""
    from pyk.command_line.work import acls

    acls.show_list(acls.filters(_named(options), **_choice(options)))


@acl.command("create")
@PRINCIPAL
@OPERATION
@HOST
@click.option("--prefixed", is_flag=True, help="All resources whose names begin so.")
@click.option("--deny", is_flag=True, help="Deny access, instead of allowing it.")
@_resources
def create_acls(**options: Any) -> None:
    """Allow principals operations on resources, or deny them: every combination of the options."""
    resources = _named(options)
    if not (resources and options["principals"] and options["operations"]):
        raise click.UsageError(
            "an ACL needs a --principal, an --operation and a resource, such as --topic"
        )
    if options["prefixed"] and options["cluster"]:
        raise click.UsageError("--prefixed does not go with --cluster")
    from pyk.command_line.work import acls

    acls.create(
        acls.bindings(
            resources,
            principals=options["principals"],
            operations=options["operations"],
            hosts=options["hosts"],
            is_prefixed=options["prefixed"],
            is_denied=options["deny"],
        )
    )


@acl.command("delete")
@_filters
@click.option("--all", "is_all", is_flag=True, help="Delete every ACL, if nothing else is chosen.")
@click.option("--dry-run", is_flag=True, help="Only show what would be deleted.")
@YES
def delete_acls(**options: Any) -> None:
    """Delete the ACLs that match the options, and print them."""
    resources, choice = _named(options), _choice(options)
    if not resources and not any(choice.values()) and not options["is_all"]:
        raise click.UsageError("name what to delete, such as --topic or --principal, or --all")
    from pyk.command_line.work import acls

    acls.delete(
        acls.filters(resources, **choice), dry_run=options["dry_run"], is_sure=options["yes"]
    )


def _choice(options: dict[str, Any]) -> dict[str, Any]:
    names = ("principals", "operations", "hosts", "pattern", "permission")
    return {name: options[name] for name in names}
