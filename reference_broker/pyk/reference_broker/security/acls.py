"""The ACLs of a cluster, found by the resource that they concern. Pure.

An ACL concerns a resource if it has its name, or ``*``, or a prefix of its name. So the ACLs of a
resource are found with one look-up for the name, one for ``*``, and one for each length that
prefixes have; how many ACLs there are does not matter.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from uuid import UUID

from pyk.runtime import slotted

# As in pyk.protocol.acls, whose enums would make the start of every broker longer.
PREFIXED = 4
WILDCARD = "*"


@slotted.frozen(kw_only=True)
class Acl:
    """Who may, or must not, do what to which resources. Numbers as in the protocol."""

    resource_type: int
    resource_name: str
    pattern_type: int
    principal: str
    host: str
    operation: int
    permission_type: int

    @property
    def pattern(self) -> tuple[int, int, str]:
        """The resources that it concerns."""
        return self.resource_type, self.pattern_type, self.resource_name


AclsByPrincipal = Mapping[str, list[Acl]]


@slotted.define(eq=False)
class Acls:
    """All ACLs. Changes only by :meth:`add` and :meth:`remove`."""

    by_id: dict[UUID, Acl] = slotted.field(factory=dict)
    """In the order in which they were added."""
    changes: int = 0
    """How often they have changed; what was decided before may be wrong now."""
    _known: set[Acl] = slotted.field(factory=set)
    _of_types: dict[int, _AclsOfType] = slotted.field(factory=dict)

    def __contains__(self, acl: Acl) -> bool:
        return acl in self._known

    def add(self, acl_id: UUID, acl: Acl) -> None:
        """Add an ACL under the id by which it is removed."""
        self.changes += 1
        self.by_id[acl_id] = acl
        self._known.add(acl)
        of_type = self._of_types.get(acl.resource_type)
        if of_type is None:
            of_type = self._of_types[acl.resource_type] = _AclsOfType()
        of_type.add(acl)

    def remove(self, acl_id: UUID) -> None:
        """Remove an ACL, if there is one of this id."""
        acl = self.by_id.pop(acl_id, None)
        if acl is not None:
            self.changes += 1
            self._known.discard(acl)
            self._of_types[acl.resource_type].remove(acl)

    def of_resource(self, resource_type: int, name: str) -> list[AclsByPrincipal]:
        """Return the ACLs that concern a resource, by principal; those of each pattern together."""
        of_type = self._of_types.get(resource_type)
        return [] if of_type is None else of_type.of_name(name)

    def of_type(self, resource_type: int) -> Iterator[Acl]:
        """Yield all ACLs about resources of a type."""
        for acl in self.by_id.values():
            if acl.resource_type == resource_type:
                yield acl


@slotted.define(eq=False)
class _AclsOfType:
    """The ACLs about resources of one type."""

    literal: dict[str, dict[str, list[Acl]]] = slotted.field(factory=dict)
    """By name and principal."""
    prefixed: dict[str, dict[str, list[Acl]]] = slotted.field(factory=dict)
    """By prefix and principal."""
    lengths: Counter[int] = slotted.field(factory=Counter)
    """How many prefixes there are of each length."""

    def add(self, acl: Acl) -> None:
        is_prefixed = acl.pattern_type == PREFIXED
        by_name = self.prefixed if is_prefixed else self.literal
        by_principal = by_name.get(acl.resource_name)
        if by_principal is None:
            by_principal = by_name[acl.resource_name] = {}
            if is_prefixed:
                self.lengths[len(acl.resource_name)] += 1
        by_principal.setdefault(acl.principal, []).append(acl)

    def remove(self, acl: Acl) -> None:
        is_prefixed = acl.pattern_type == PREFIXED
        by_name = self.prefixed if is_prefixed else self.literal
        by_principal = by_name[acl.resource_name]
        by_principal[acl.principal].remove(acl)
        if not by_principal[acl.principal]:
            del by_principal[acl.principal]
        if not by_principal:
            del by_name[acl.resource_name]
            if is_prefixed:
                self._forget_prefix(len(acl.resource_name))

    def _forget_prefix(self, length: int) -> None:
        self.lengths[length] -= 1
        if not self.lengths[length]:
            del self.lengths[length]

    def of_name(self, name: str) -> list[AclsByPrincipal]:
        found = [self.literal.get(name)]
        if name != WILDCARD:
            found.append(self.literal.get(WILDCARD))
        if self.prefixed:
            size = len(name)
            found += [self.prefixed.get(name[:length]) for length in self.lengths if length <= size]
        return [each for each in found if each is not None]
