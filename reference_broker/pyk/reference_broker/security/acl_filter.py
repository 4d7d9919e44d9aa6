"""Find ACLs as DescribeAcls and DeleteAcls ask for them (KIP-140, KIP-290). Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol
from uuid import UUID

from pyk.protocol.acls import WILDCARD, AclOperation, AclPermissionType, PatternType, ResourceType
from pyk.runtime import slotted

from .acls import Acl, Acls


class FilterFields(Protocol):
    """The fields of a filter, under the names that messages give them."""

    resource_type_filter: int
    resource_name_filter: str | None
    pattern_type_filter: int
    principal_filter: str | None
    host_filter: str | None
    operation: int
    permission_type: int


@slotted.frozen(kw_only=True)
class AclFilter:
    """What ACLs must be like; None, and ANY, for whatever it may be."""

    resource_type: int
    resource_name: str | None
    pattern_type: int
    principal: str | None
    host: str | None
    operation: int
    permission_type: int

    @classmethod
    def of(cls, asked: FilterFields) -> AclFilter:
        """Return the filter of a request."""
        return cls(
            resource_type=asked.resource_type_filter,
            resource_name=asked.resource_name_filter,
            pattern_type=asked.pattern_type_filter,
            principal=asked.principal_filter,
            host=asked.host_filter,
            operation=asked.operation,
            permission_type=asked.permission_type,
        )

    def find(self, acls: Acls) -> Iterator[tuple[UUID, Acl]]:
        """Yield the ACLs that match, with their ids."""
        for acl_id, acl in acls.by_id.items():
            if self.matches(acl):
                yield acl_id, acl

    def matches(self, acl: Acl) -> bool:
        """Return whether an ACL is like this."""
        return (
            self.resource_type in (ResourceType.ANY, acl.resource_type)
            and self.principal in (None, acl.principal)
            and self.host in (None, acl.host)
            and self.operation in (AclOperation.ANY, acl.operation)
            and self.permission_type in (AclPermissionType.ANY, acl.permission_type)
            and self._matches_name(acl)
        )

    def _matches_name(self, acl: Acl) -> bool:
        if self.pattern_type == PatternType.MATCH:
            return self.resource_name is None or _concerns(acl, self.resource_name)
        if self.pattern_type not in (PatternType.ANY, acl.pattern_type):
            return False
        return self.resource_name in (None, acl.resource_name)


def _concerns(acl: Acl, name: str) -> bool:
    if acl.pattern_type == PatternType.PREFIXED:
        return name.startswith(acl.resource_name)
    return acl.resource_name in (WILDCARD, name)
