"""The index of ACLs decides as one that looks at every ACL, one after the other."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from pyk.protocol.acls import AclOperation, AclPermissionType, PatternType, ResourceType
from pyk.reference_broker.security.acls import Acl, Acls
from pyk.reference_broker.security.authorizer import Authorizer, Client

NAMES = st.text("ab*", min_size=1, max_size=4)
PRINCIPALS = st.sampled_from(["User:alice", "User:bob", "User:*"])
HOSTS = st.sampled_from(["*", "10.0.0.1", "10.0.0.2"])
KINDS = st.sampled_from([ResourceType.TOPIC, ResourceType.GROUP])
OPERATIONS = st.sampled_from(list(AclOperation)[2:])
ACLS = st.builds(
    Acl,
    resource_type=KINDS,
    resource_name=NAMES,
    pattern_type=st.sampled_from([PatternType.LITERAL, PatternType.PREFIXED]),
    principal=PRINCIPALS,
    host=HOSTS,
    operation=OPERATIONS,
    permission_type=st.sampled_from([AclPermissionType.DENY, AclPermissionType.ALLOW]),
)
IMPLIED = {
    AclOperation.DESCRIBE: {
        AclOperation.READ,
        AclOperation.WRITE,
        AclOperation.DELETE,
        AclOperation.ALTER,
    },
    AclOperation.DESCRIBE_CONFIGS: {AclOperation.ALTER_CONFIGS},
}


def concerns(acl: Acl, kind: int, name: str) -> bool:
    if acl.resource_type != kind:
        return False
    if acl.pattern_type == PatternType.PREFIXED:
        return name.startswith(acl.resource_name)
    return acl.resource_name in ("*", name)


def decides(acl: Acl, client: Client, operation: AclOperation) -> bool | None:
    """Return whether an ACL allows or denies something, None if it says nothing of it."""
    if acl.principal not in ("User:*", client.principal) or acl.host not in ("*", client.host):
        return None
    named = {AclOperation.ALL, operation}
    if acl.permission_type == AclPermissionType.DENY:
        return False if acl.operation in named else None
    return True if acl.operation in named | IMPLIED.get(operation, set()) else None


def expected(
    acls: Iterable[Acl],
    client: Client,
    operation: AclOperation,
    kind: int,
    name: str,
    *,
    default: bool,
) -> bool:
    concerning = [acl for acl in acls if concerns(acl, kind, name)]
    decisions = {decides(acl, client, operation) for acl in concerning}
    if False in decisions:
        return False
    return True in decisions or (default and not concerning)


@given(
    added=st.lists(ACLS, max_size=8, unique=True),
    removed=st.sets(st.integers(0, 7)),
    operation=OPERATIONS,
    kind=KINDS,
    name=NAMES,
    default=st.booleans(),
)
def test_a_decision_is_that_of_all_acls(
    added: list[Acl],
    removed: set[int],
    operation: AclOperation,
    kind: ResourceType,
    name: str,
    default: bool,
) -> None:
    acls = Acls()
    for number, acl in enumerate(added):
        acls.add(UUID(int=number), acl)
    for number in removed:
        acls.remove(UUID(int=number))
    left = [acl for number, acl in enumerate(added) if number not in removed]
    client = Client("User:alice", "10.0.0.1")

    found = Authorizer(acls, frozenset(), allows_without_acl=default).allows(
        client, operation, kind, name
    )

    assert found == expected(left, client, operation, kind, name, default=default)
    assert list(acls.by_id.values()) == left
    assert all(acl in acls for acl in left)
