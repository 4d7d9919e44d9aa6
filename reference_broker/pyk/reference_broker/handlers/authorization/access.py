"""What one client may do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyk.protocol.acls import CLUSTER_NAME, AclOperation, ResourceType
from pyk.reference_broker.security.authorizer import Client

if TYPE_CHECKING:
    from pyk.reference_broker.security.authorizer import Authorizer
    from pyk.reference_broker.security.principal import Principal

_OPERATIONS = {
    ResourceType.TOPIC: "READ WRITE CREATE DELETE ALTER DESCRIBE DESCRIBE_CONFIGS ALTER_CONFIGS",
    ResourceType.GROUP: "READ DELETE DESCRIBE DESCRIBE_CONFIGS ALTER_CONFIGS",
    ResourceType.CLUSTER: "CREATE ALTER DESCRIBE CLUSTER_ACTION DESCRIBE_CONFIGS ALTER_CONFIGS "
    "IDEMPOTENT_WRITE",
}
_OPERATIONS_OF = {
    kind: [AclOperation[name] for name in names.split()] for kind, names in _OPERATIONS.items()
}


MAX_DECISIONS = 4096
MAX_NAME_LENGTH = 255
"""How many decisions are remembered for a connection, and of which names: clients choose them."""


class Access:
    """What the client of a connection may do. A decision holds until an ACL changes.

    So a refusal is logged once for a resource, however often the client repeats its request.
    """

    def __init__(self, authorizer: Authorizer, principal: Principal, host: str) -> None:
        self.principal = principal
        self._authorizer = authorizer
        self._acls = authorizer.acls
        self._client = Client.of(principal, host)
        self._decisions: dict[tuple[int, int, str, bool], bool] = {}
        self._changes = self._acls.changes

    def may(
        self,
        operation: AclOperation,
        resource_type: ResourceType,
        name: str,
        *,
        is_asked_for: bool = True,
    ) -> bool:
        """Return whether the client may do this; see :meth:`~.Authorizer.allows`."""
        if self._changes != self._acls.changes or len(self._decisions) >= MAX_DECISIONS:
            self._decisions.clear()
            self._changes = self._acls.changes
        key = (operation, resource_type, name, is_asked_for)
        decision = self._decisions.get(key)
        if decision is None:
            decision = self._authorizer.allows(
                self._client, operation, resource_type, name, is_asked_for=is_asked_for
            )
            if len(name) <= MAX_NAME_LENGTH:
                self._decisions[key] = decision
        return decision

    def may_on_cluster(self, operation: AclOperation, *, is_asked_for: bool = True) -> bool:
        """Return whether the client may do this to the cluster as a whole."""
        return self.may(operation, ResourceType.CLUSTER, CLUSTER_NAME, is_asked_for=is_asked_for)

    def may_on_any(self, operation: AclOperation, resource_type: ResourceType) -> bool:
        """Return whether there may be a resource of a type that the client may do this to."""
        return self._authorizer.allows_on_any(self._client, operation, resource_type)

    def operations(self, resource_type: ResourceType, name: str) -> int:
        """Return the bits of all operations on a resource that the client may do (KIP-430)."""
        return sum(
            1 << operation
            for operation in _OPERATIONS_OF[resource_type]
            if self.may(operation, resource_type, name, is_asked_for=False)
        )
