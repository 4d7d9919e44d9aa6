"""The ACLs of Kafka's StandardAuthorizer, case by case."""

from __future__ import annotations

import logging
from uuid import UUID

import pytest

from pyk.protocol.acls import WILDCARD, AclOperation, AclPermissionType, PatternType, ResourceType
from pyk.reference_broker.config import InvalidConfigError
from pyk.reference_broker.security import acls
from pyk.reference_broker.security.acls import Acl, Acls
from pyk.reference_broker.security.authorizer import Authorizer, Client, super_users
from pyk.reference_broker.security.principal import Principal

DENY, ALLOW = AclPermissionType.DENY, AclPermissionType.ALLOW
LITERAL, PREFIXED = PatternType.LITERAL, PatternType.PREFIXED
ALL, READ, WRITE = AclOperation.ALL, AclOperation.READ, AclOperation.WRITE
DESCRIBE = AclOperation.DESCRIBE
DESCRIBE_CONFIGS = AclOperation.DESCRIBE_CONFIGS
TOPIC, GROUP = ResourceType.TOPIC, ResourceType.GROUP
ALICE = Client.of(Principal("alice"), "10.0.0.1")
ADMIN = Client.of(Principal("admin"), "10.0.0.1")


def acl(
    operation: AclOperation,
    name: str = "orders",
    permission: AclPermissionType = ALLOW,
    *,
    pattern: PatternType = LITERAL,
    principal: str = "User:alice",
    host: str = "*",
    kind: ResourceType = TOPIC,
) -> Acl:
    return Acl(
        resource_type=kind,
        resource_name=name,
        pattern_type=pattern,
        principal=principal,
        host=host,
        operation=operation,
        permission_type=permission,
    )


def authorizer(*given: Acl, allows_without_acl: bool = False) -> Authorizer:
    acls = Acls()
    for number, each in enumerate(given):
        acls.add(UUID(int=number), each)
    return Authorizer(acls, {"User:admin"}, allows_without_acl=allows_without_acl)


@pytest.mark.parametrize(
    ("acls", "operation", "is_allowed"),
    [
        ([], READ, False),
        ([acl(READ)], READ, True),
        ([acl(READ)], WRITE, False),
        ([acl(ALL)], WRITE, True),
        ([acl(READ, "payments")], READ, False),
        ([acl(READ, "order")], READ, False),
        ([acl(READ, "orders-of-today")], READ, False),
        ([acl(READ, "*")], READ, True),
        ([acl(READ, "ord", pattern=PREFIXED)], READ, True),
        ([acl(READ, "orders", pattern=PREFIXED)], READ, True),
        ([acl(READ, "orders-", pattern=PREFIXED)], READ, False),
        ([acl(READ, "*", pattern=PREFIXED)], READ, False),
        ([acl(READ, kind=GROUP)], READ, False),
        ([acl(READ, principal="User:bob")], READ, False),
        ([acl(READ, principal="User:*")], READ, True),
        ([acl(READ, principal="Group:alice")], READ, False),
        ([acl(READ, host="10.0.0.1")], READ, True),
        ([acl(READ, host="10.0.0.2")], READ, False),
    ],
)
def test_an_acl_allows_its_operation_on_its_resources_to_its_principal_and_host(
    acls: list[Acl], operation: AclOperation, is_allowed: bool
) -> None:
    assert authorizer(*acls).allows(ALICE, operation, TOPIC, "orders") is is_allowed


@pytest.mark.parametrize(
    "denying",
    [
        acl(READ, "orders", DENY),
        acl(ALL, "orders", DENY),
        acl(READ, "*", DENY),
        acl(READ, "o", DENY, pattern=PREFIXED),
        acl(READ, "orders", DENY, principal="User:*"),
        acl(READ, "orders", DENY, host="10.0.0.1"),
    ],
)
def test_an_acl_that_denies_wins_over_all_that_allow(denying: Acl) -> None:
    allowing = [acl(ALL), acl(ALL, "*"), acl(ALL, "orders", pattern=PREFIXED)]

    assert not authorizer(*allowing, denying).allows(ALICE, READ, TOPIC, "orders")
    assert not authorizer(denying, *allowing).allows(ALICE, READ, TOPIC, "orders")


@pytest.mark.parametrize(
    "other",
    [
        acl(READ, "orders", DENY, principal="User:bob"),
        acl(READ, "orders", DENY, host="10.0.0.2"),
        acl(WRITE, "orders", DENY),
        acl(READ, "payments", DENY),
    ],
)
def test_an_acl_that_denies_something_else_changes_nothing(other: Acl) -> None:
    assert authorizer(acl(READ), other).allows(ALICE, READ, TOPIC, "orders")


@pytest.mark.parametrize("operation", list(AclOperation)[2:])
def test_what_reads_or_changes_a_resource_may_describe_it(operation: AclOperation) -> None:
    implying = {"ALL", "READ", "WRITE", "DELETE", "ALTER", "DESCRIBE"}

    allowed = authorizer(acl(operation)).allows(ALICE, DESCRIBE, TOPIC, "orders")

    assert allowed is (operation.name in implying)


@pytest.mark.parametrize("operation", list(AclOperation)[2:])
def test_what_alters_configurations_may_describe_them(operation: AclOperation) -> None:
    implying = {"ALL", "ALTER_CONFIGS", "DESCRIBE_CONFIGS"}

    allowed = authorizer(acl(operation)).allows(ALICE, DESCRIBE_CONFIGS, TOPIC, "orders")

    assert allowed is (operation.name in implying)


def test_denying_an_operation_denies_none_that_it_implies() -> None:
    acls = authorizer(acl(DESCRIBE), acl(READ, permission=DENY))

    assert acls.allows(ALICE, DESCRIBE, TOPIC, "orders")


def test_a_super_user_may_do_what_is_denied_to_everybody() -> None:
    acls = authorizer(acl(ALL, "*", DENY, principal="User:*"))

    assert acls.allows(ADMIN, WRITE, TOPIC, "orders")
    assert not acls.allows(ALICE, WRITE, TOPIC, "orders")


@pytest.mark.parametrize(
    ("acls", "is_allowed"),
    [
        ([], True),
        ([acl(READ, "payments")], True),
        ([acl(READ, kind=GROUP)], True),
        ([acl(READ, principal="User:bob")], False),
        ([acl(READ, "*", principal="User:bob")], False),
        ([acl(READ, "ord", pattern=PREFIXED, principal="User:bob")], False),
        ([acl(READ, principal="User:bob"), acl(READ)], True),
    ],
)
def test_where_everybody_is_allowed_by_default_one_acl_ends_that_for_its_resources(
    acls: list[Acl], is_allowed: bool
) -> None:
    found = authorizer(*acls, allows_without_acl=True)

    assert found.allows(ALICE, READ, TOPIC, "orders") is is_allowed


@pytest.mark.parametrize(
    ("acls", "is_allowed"),
    [
        ([], False),
        ([acl(WRITE)], True),
        ([acl(ALL)], True),
        ([acl(READ)], False),
        ([acl(WRITE, "*")], True),
        ([acl(WRITE, "o", pattern=PREFIXED)], True),
        ([acl(WRITE, host="10.0.0.2")], False),
        ([acl(WRITE, principal="User:bob")], False),
        ([acl(WRITE, kind=GROUP)], False),
        ([acl(WRITE), acl(WRITE, "*", DENY)], False),
        ([acl(WRITE), acl(WRITE, "orders", DENY)], False),
        ([acl(WRITE), acl(WRITE, "ord", DENY, pattern=PREFIXED)], False),
        ([acl(WRITE), acl(WRITE, "orders", DENY, pattern=PREFIXED)], False),
        ([acl(WRITE), acl(WRITE, "payments", DENY)], True),
        ([acl(WRITE, "o", pattern=PREFIXED), acl(WRITE, "orders", DENY)], True),
        ([acl(WRITE, "o", pattern=PREFIXED), acl(WRITE, "o", DENY, pattern=PREFIXED)], False),
        ([acl(WRITE, "*"), acl(WRITE, "o", DENY, pattern=PREFIXED)], True),
        ([acl(WRITE, "*"), acl(WRITE, "*", DENY, pattern=PREFIXED)], True),
    ],
)
def test_an_operation_may_be_allowed_on_some_resource_of_a_type(
    acls: list[Acl], is_allowed: bool
) -> None:
    assert authorizer(*acls).allows_on_any(ALICE, WRITE, TOPIC) is is_allowed


def test_a_super_user_may_use_some_resource_of_every_type() -> None:
    assert authorizer(acl(ALL, "*", DENY)).allows_on_any(ADMIN, WRITE, TOPIC)


def test_an_acl_that_is_removed_counts_no_more() -> None:
    acls = Acls()
    found = Authorizer(acls, frozenset(), allows_without_acl=True)
    for number, pattern in enumerate([LITERAL, PREFIXED]):
        acls.add(UUID(int=number), acl(READ, pattern=pattern, principal="User:bob"))
    assert not found.allows(ALICE, READ, TOPIC, "orders")

    for number in range(2):
        acls.remove(UUID(int=number))

    assert found.allows(ALICE, READ, TOPIC, "orders")
    assert acl(READ, principal="User:bob") not in acls


@pytest.mark.parametrize(
    "removed",
    [acl(READ, "logs", DENY), acl(READ, "logs", DENY, pattern=PREFIXED)],
    ids=["a literal", "a prefix"],
)
def test_a_prefix_still_counts_when_a_name_of_its_length_is_removed(removed: Acl) -> None:
    acls = Acls()
    acls.add(UUID(int=1), acl(READ, "orde", pattern=PREFIXED))
    acls.add(UUID(int=2), removed)

    acls.remove(UUID(int=2))

    found = Authorizer(acls, frozenset(), allows_without_acl=False)
    assert found.allows(ALICE, READ, TOPIC, "orders")


@pytest.mark.parametrize(
    "removed", [acl(WRITE), acl(READ, principal="User:bob")], ids=["of alice", "of bob"]
)
def test_an_acl_still_counts_when_another_of_its_resource_is_removed(removed: Acl) -> None:
    acls = Acls()
    acls.add(UUID(int=1), acl(READ))
    acls.add(UUID(int=2), removed)

    acls.remove(UUID(int=2))

    found = Authorizer(acls, frozenset(), allows_without_acl=False)
    assert found.allows(ALICE, READ, TOPIC, "orders")


@pytest.mark.parametrize(
    ("address", "host"),
    [
        ("10.0.0.1", "10.0.0.1"),
        ("::1", "0:0:0:0:0:0:0:1"),
        ("2001:db8::a0", "2001:db8:0:0:0:0:0:a0"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
        ("memory:1", "memory:1"),
    ],
)
def test_an_address_is_compared_as_java_writes_it(address: str, host: str) -> None:
    assert Client.of(Principal("alice"), address).host == host


def test_a_refusal_is_logged_with_who_what_and_where(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)

    authorizer().allows(ALICE, READ, TOPIC, "orders", is_asked_for=False)
    assert not caplog.records
    authorizer().allows(ALICE, READ, TOPIC, "orders")

    assert caplog.messages == ["Denied READ on TOPIC 'orders' to User:alice from 10.0.0.1"]


def test_the_index_knows_the_numbers_of_the_protocol() -> None:
    assert (acls.PREFIXED, acls.WILDCARD) == (PatternType.PREFIXED, WILDCARD)


def test_super_users_are_separated_by_semicolons() -> None:
    assert super_users(" User:admin; User:CN=broker,O=pyk ;") == {
        "User:admin",
        "User:CN=broker,O=pyk",
    }
    assert super_users("") == frozenset()


@pytest.mark.parametrize("user", ["admin", "User:", ":admin", "User:admin,User:bob"])
def test_a_super_user_needs_a_type_and_a_name(user: str) -> None:
    with pytest.raises(InvalidConfigError, match=f"in the form User:NAME, but got '{user}'"):
        super_users(f"User:alice;{user}")
