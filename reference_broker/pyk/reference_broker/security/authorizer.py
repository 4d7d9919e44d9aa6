"""Decide whether a client may do something to a resource, as Kafka's StandardAuthorizer does. Pure.

1. A super user may do everything.
2. An ACL that denies it to the client wins over any number that allow it.
3. One that allows it is needed: of the same operation, of ALL, or of one that implies it. READ,
   WRITE, DELETE and ALTER imply DESCRIBE; ALTER_CONFIGS implies DESCRIBE_CONFIGS. An ACL that
   denies implies nothing.
4. Where no ACL at all concerns the resource, ``allow.everyone.if.no.acl.found`` decides.
"""

from __future__ import annotations

import logging
from collections.abc import Set
from typing import TYPE_CHECKING

from pyk.protocol.acls import (
    WILDCARD,
    WILDCARD_PRINCIPAL,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourceType,
)
from pyk.reference_broker.config.errors import InvalidConfigError
from pyk.runtime import slotted

from .acls import Acl, Acls

if TYPE_CHECKING:
    from .principal import Principal

log = logging.getLogger(__name__)

SUPER_USERS = "super.users"

# Plain numbers: looking up members of an enum costs more than the rest of a decision.
_ALL, _ALLOW = int(AclOperation.ALL), int(AclPermissionType.ALLOW)

_DESCRIBING = (
    AclOperation.DESCRIBE,
    AclOperation.READ,
    AclOperation.WRITE,
    AclOperation.DELETE,
    AclOperation.ALTER,
)
_GRANTING: dict[int, frozenset[int]] = {
    **{operation: frozenset((AclOperation.ALL, operation)) for operation in AclOperation},
    AclOperation.DESCRIBE: frozenset((AclOperation.ALL, *_DESCRIBING)),
    AclOperation.DESCRIBE_CONFIGS: frozenset(
        (AclOperation.ALL, AclOperation.DESCRIBE_CONFIGS, AclOperation.ALTER_CONFIGS)
    ),
}
"""Which operations of an ACL that allows are enough for an operation."""


@slotted.frozen
class Client:
    """A client as ACLs see it: its principal (``User:alice``) and its address."""

    principal: str
    host: str

    @classmethod
    def of(cls, principal: Principal, address: str) -> Client:
        """Return a client; its address is written as in Kafka's ACLs: IPv6 without ``::``."""
        return cls(str(principal), _as_in_acls(address))


class Authorizer:
    """The ACLs of a cluster, and the users that no ACL concerns."""

    def __init__(self, acls: Acls, super_users: Set[str], *, allows_without_acl: bool) -> None:
        self.acls = acls
        self._super_users = super_users
        self._allows_without_acl = allows_without_acl

    def allows(
        self,
        client: Client,
        operation: AclOperation,
        resource_type: ResourceType,
        name: str,
        *,
        is_asked_for: bool = True,
    ) -> bool:
        """Return whether a client may do something to a resource.

        A refusal is logged, unless the client has not asked for this one resource: it wants to know
        of all that it may use.
        """
        if client.principal in self._super_users:
            return True
        is_allowed = self._acls_allow(client, operation, resource_type, name)
        if not is_allowed and is_asked_for:
            log.info(
                "Denied %s on %s %r to %s from %s",
                operation.name,
                resource_type.name,
                name,
                client.principal,
                client.host,
            )
        return is_allowed

    def _acls_allow(self, client: Client, operation: int, resource_type: int, name: str) -> bool:
        granting = _GRANTING[operation]
        is_allowed, has_acls = False, False
        for by_principal in self.acls.of_resource(resource_type, name):
            has_acls = True
            for principal in (client.principal, WILDCARD_PRINCIPAL):
                for acl in by_principal.get(principal, ()):
                    if acl.host not in (WILDCARD, client.host):
                        continue
                    if acl.permission_type == _ALLOW:
                        is_allowed = is_allowed or acl.operation in granting
                    elif acl.operation in (_ALL, operation):
                        return False
        return is_allowed or (self._allows_without_acl and not has_acls)

    def allows_on_any(
        self, client: Client, operation: AclOperation, resource_type: ResourceType
    ) -> bool:
        """Return whether there may be a resource of a type that a client may do something to.

        As in Kafka (KIP-679), an ACL counts that no ACL which denies covers as a whole; implied
        operations do not count.
        """
        # A name like any other: it shows super users, and what counts for every name.
        if self.allows(client, operation, resource_type, "hardcode", is_asked_for=False):
            return True
        allowed: set[tuple[int, str]] = set()
        denied: set[tuple[int, str]] = set()
        for acl in self.acls.of_type(resource_type):
            if _concerns(acl, client, operation):
                denies = acl.permission_type == AclPermissionType.DENY
                (denied if denies else allowed).add((acl.pattern_type, acl.resource_name))
        if (PatternType.LITERAL, WILDCARD) in denied:
            return False
        return any(not _is_covered(pattern, name, denied) for pattern, name in allowed)


def super_users(text: str) -> frozenset[str]:
    """Return the users in ``super.users``; raise ``InvalidConfigError`` for another form."""
    users = frozenset(filter(None, (user.strip() for user in text.split(";"))))
    for user in users:
        kind, separator, name = user.partition(":")
        # A comma may belong to a distinguished name, but not in front of another principal.
        if not (kind and separator and name) or ",User:" in name:
            raise InvalidConfigError(
                f"{SUPER_USERS}: expected a principal in the form User:NAME, but got {user!r}; "
                "separate several by semicolons",
                name=SUPER_USERS,
            )
    return users


def _concerns(acl: Acl, client: Client, operation: AclOperation) -> bool:
    return (
        acl.principal in (client.principal, WILDCARD_PRINCIPAL)
        and acl.host in (WILDCARD, client.host)
        and acl.operation in (AclOperation.ALL, operation)
    )


def _is_covered(pattern_type: int, name: str, denied: Set[tuple[int, str]]) -> bool:
    """Return whether ACLs deny all that an ACL with this pattern allows."""
    if pattern_type == PatternType.LITERAL:
        if name == WILDCARD:
            return False
        if (PatternType.LITERAL, name) in denied:
            return True
    prefixes = (name[:length] for length in range(1, len(name) + 1))
    return any((PatternType.PREFIXED, prefix) in denied for prefix in prefixes)


def _as_in_acls(address: str) -> str:
    if ":" not in address:
        return address
    from ipaddress import IPv6Address

    try:
        parsed = IPv6Address(address)
    except ValueError:
        return address
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    parts = parsed.exploded.split(":")
    return ":".join(part.lstrip("0") or "0" for part in parts)
