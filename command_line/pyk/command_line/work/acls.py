"""List, create and delete ACLs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product

from pyk.clients import (
    AccessControlEntry,
    AccessControlEntryFilter,
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    Admin,
    PatternType,
    ResourcePattern,
    ResourcePatternFilter,
    ResourceType,
)
from pyk.command_line.arguments import confirm
from pyk.command_line.frame.connecting import admin
from pyk.command_line.frame.failures import CommandError
from pyk.command_line.frame.output import Row, print_rows, tell
from pyk.command_line.frame.tables import Column

ACLS = (
    Column("principal", style="bold"),
    Column("permission"),
    Column("operation"),
    Column("resourceType", "Resource"),
    Column("name"),
    Column("pattern"),
    Column("host"),
)
ANY_HOST = "*"

Resource = tuple[str, str | None]
"""The type and the name of a resource, as options write them; None for the cluster."""


def bindings(
    resources: Iterable[Resource],
    *,
    principals: Sequence[str],
    operations: Sequence[str],
    hosts: Sequence[str],
    is_prefixed: bool,
    is_denied: bool,
) -> list[AclBinding]:
    """Return an ACL for every combination of what was named."""
    pattern = PatternType.PREFIXED if is_prefixed else PatternType.LITERAL
    permission = AclPermissionType.DENY if is_denied else AclPermissionType.ALLOW
    return [
        AclBinding(
            _pattern(resource, pattern),
            AccessControlEntry(_principal(principal), _operation(operation), permission, host=host),
        )
        for resource, principal, operation, host in product(
            resources, principals, operations, hosts or [ANY_HOST]
        )
    ]


def filters(
    resources: Sequence[Resource],
    *,
    principals: Sequence[str],
    operations: Sequence[str],
    hosts: Sequence[str],
    pattern: str | None,
    permission: str | None,
) -> list[AclBindingFilter]:
    """Return a filter for every combination of what was named; what was not may be anything."""
    patterns = PatternType.ANY if pattern is None else PatternType[pattern.upper()]
    permissions = (
        AclPermissionType.ANY if permission is None else AclPermissionType[permission.upper()]
    )
    any_one: list[None] = [None]
    return [
        AclBindingFilter(
            _pattern_filter(resource, patterns),
            AccessControlEntryFilter(
                None if principal is None else _principal(principal),
                AclOperation.ANY if operation is None else _operation(operation),
                permissions,
                host=host,
            ),
        )
        for resource, principal, operation, host in product(
            resources or any_one, principals or any_one, operations or any_one, hosts or any_one
        )
    ]


def show_list(chosen: Sequence[AclBindingFilter]) -> None:
    """Print the ACLs that match a filter."""
    with admin() as client:
        found = _found(client, chosen)
    print_rows(ACLS, list(map(_row, found)))


def create(new: Sequence[AclBinding]) -> None:
    """Create ACLs; those that exist stay."""
    with admin() as client:
        client.create_acls(new)
    for one in sorted(new):
        tell(f"ACL created: {_words(one)}", _row(one))


def delete(chosen: Sequence[AclBindingFilter], *, dry_run: bool, is_sure: bool) -> None:
    """Delete the ACLs that match a filter, and print them."""
    with admin() as client:
        found = _found(client, chosen)
        if not found:
            raise CommandError("no ACL matches; see pyk acl list")
        if not dry_run:
            shown = _words(found[0]) if len(found) == 1 else f"{len(found)} ACLs"
            confirm(f"Delete {shown}?", is_sure=is_sure)
            client.delete_acls(found)
    print_rows(ACLS, list(map(_row, found)))


def _found(client: Admin, chosen: Sequence[AclBindingFilter]) -> list[AclBinding]:
    return sorted({one for wanted in chosen for one in client.describe_acls(wanted)})


def _principal(name: str) -> str:
    return name if ":" in name else f"User:{name}"


def _operation(name: str) -> AclOperation:
    return AclOperation[_enum_name(name)]


def _pattern(resource: Resource, pattern: PatternType) -> ResourcePattern:
    kind, name = resource
    if name is None:
        return ResourcePattern.cluster()
    return ResourcePattern(ResourceType[_enum_name(kind)], name, pattern)


def _pattern_filter(resource: Resource | None, pattern: PatternType) -> ResourcePatternFilter:
    if resource is None:
        return ResourcePatternFilter(pattern_type=pattern)
    return ResourcePatternFilter(ResourceType[_enum_name(resource[0])], resource[1], pattern)


def _enum_name(word: str) -> str:
    return word.upper().replace("-", "_")


def _word(name: str) -> str:
    return name.lower().replace("_", "-")


def _row(one: AclBinding) -> Row:
    return {
        "principal": one.entry.principal,
        "permission": _word(one.entry.permission_type.name),
        "operation": _word(one.entry.operation.name),
        "resourceType": _word(one.pattern.resource_type.name),
        "name": one.pattern.name,
        "pattern": _word(one.pattern.pattern_type.name),
        "host": one.entry.host,
    }


def _words(one: AclBinding) -> str:
    row = _row(one)
    return (
        f"{row['principal']} {row['permission']} {row['operation']} "
        f"on {row['resourceType']} {row['name']} ({row['pattern']}) from {row['host']}"
    )
