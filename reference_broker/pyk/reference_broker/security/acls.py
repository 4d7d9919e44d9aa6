"""The ACLs of a cluster, found by the resource that they concern. Pure.

An ACL concerns a resource if it has its name, or ``*``, or a prefix of its name. So the ACLs of a
resource are found with one look-up for the name, one for ``*``, and one for each length that
prefixes have; how many ACLs there are does not matter.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from uuid import UUID

from pyk.protocol.acls import WILDCARD, PatternType
from pyk.runtime import slotted


@slotted.frozen(kw_only=True)
class Acl:
    """An ACL: who may, or must not, do what to which resources. Numbers as in the protocol."""

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
    _known: set[Acl] = slotted.field(factory=set)
    _by_pattern: dict[tuple[int, int, str], dict[str, list[Acl]]] = slotted.field(factory=dict)
    _prefix_lengths: dict[int, Counter[int]] = slotted.field(factory=dict)
    """By resource type: how many prefixes there are of each length."""

    def __contains__(self, acl: Acl) -> bool:
        return acl in self._known

    def add(self, acl_id: UUID, acl: Acl) -> None:
        """Add an ACL under the id by which it is removed."""
        self.by_id[acl_id] = acl
        self._known.add(acl)
        by_principal = self._by_pattern.get(acl.pattern)
        if by_principal is None:
            by_principal = self._by_pattern[acl.pattern] = {}
            if acl.pattern_type == PatternType.PREFIXED:
                lengths = self._prefix_lengths.setdefault(acl.resource_type, Counter())
                lengths[len(acl.resource_name)] += 1
        by_principal.setdefault(acl.principal, []).append(acl)

    def remove(self, acl_id: UUID) -> None:
        """Remove an ACL, if there is one of this id."""
        acl = self.by_id.pop(acl_id, None)
        if acl is None:
            return
        self._known.discard(acl)
        by_principal = self._by_pattern[acl.pattern]
        by_principal[acl.principal].remove(acl)
        if not by_principal[acl.principal]:
            del by_principal[acl.principal]
        if not by_principal:
            del self._by_pattern[acl.pattern]
            if acl.pattern_type == PatternType.PREFIXED:
                self._forget_prefix(acl)

    def _forget_prefix(self, acl: Acl) -> None:
        lengths = self._prefix_lengths[acl.resource_type]
        length = len(acl.resource_name)
        lengths[length] -= 1
        if not lengths[length]:
            del lengths[length]

    def of_resource(self, resource_type: int, name: str) -> Iterator[AclsByPrincipal]:
        """Yield the ACLs that concern a resource, by principal; those of each pattern together."""
        by_pattern = self._by_pattern
        found = by_pattern.get((resource_type, PatternType.LITERAL, name))
        if found is not None:
            yield found
        if name != WILDCARD:
            found = by_pattern.get((resource_type, PatternType.LITERAL, WILDCARD))
            if found is not None:
                yield found
        for length in self._prefix_lengths.get(resource_type, ()):
            if length <= len(name):
                found = by_pattern.get((resource_type, PatternType.PREFIXED, name[:length]))
                if found is not None:
                    yield found

    def of_type(self, resource_type: int) -> Iterator[Acl]:
        """Yield all ACLs about resources of a type."""
        for acl in self.by_id.values():
            if acl.resource_type == resource_type:
                yield acl
