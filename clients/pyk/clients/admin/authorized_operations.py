"""What the caller may do with a topic, a group or the cluster (KIP-430). Pure."""

from __future__ import annotations

from pyk.protocol.acls import AclOperation

NOT_ASKED = -(2**31)
OF_FILTERS = (AclOperation.UNKNOWN, AclOperation.ANY, AclOperation.ALL)


def authorized_operations(bits: int) -> frozenset[AclOperation] | None:
    """Return the operations of a response, which has one bit for each; None if not asked for."""
    if bits == NOT_ASKED:
        return None
    return frozenset(
        operation
        for operation in AclOperation
        if bits >> operation & 1 and operation not in OF_FILTERS
    )
