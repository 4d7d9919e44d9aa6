"""The rules of Kafka's StandardAuthorizer, case by case."""

from __future__ import annotations

import logging
from uuid import UUID

import pytest

from pyk.protocol.acls import AclOperation, AclPermissionType, PatternType, ResourceType
from pyk.reference_broker.config import InvalidConfigError
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


def rule(
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


def authorizer(*rules: Acl, allows_without_rule: bool = False) -> Authorizer:
    acls = Acls()
    for number, each in enumerate(rules):
        acls.add(UUID(int=number), each)
    return Authorizer(acls, {"User:admin"}, allows_without_rule=allows_without_rule)


@pytest.mark.parametrize(
    ("rules", "operation", "is_allowed"),
    [
        ([], READ, False),
        ([rule(READ)], READ, True),
        ([rule(READ)], WRITE, False),
        ([rule(ALL)], WRITE, True),
        ([rule(READ, "payments")], READ, False),
        ([rule(READ, "order")], READ, False),
        ([rule(READ, "orders-of-today")], READ, False),
        ([rule(READ, "*")], READ, True),
        ([rule(READ, "ord", pattern=PREFIXED)], READ, True),
        ([rule(READ, "orders", pattern=PREFIXED)], READ, True),
        ([rule(READ, "orders-", pattern=PREFIXED)], READ, False),
        ([rule(READ, "*", pattern=PREFIXED)], READ, False),
        ([rule(READ, kind=GROUP)], READ, False),
        ([rule(READ, principal="User:bob")], READ, False),
        ([rule(READ, principal="User:*")], READ, True),
        ([rule(READ, principal="Group:alice")], READ, False),
        ([rule(READ, host="10.0.0.1")], READ, True),
        ([rule(READ, host="10.0.0.2")], READ, False),
    ],
)
def test_a_rule_allows_its_operation_on_its_resources_to_its_principal_and_host(
    rules: list[Acl], operation: AclOperation, is_allowed: bool
) -> None:
    assert authorizer(*rules).allows(ALICE, operation, TOPIC, "orders") is is_allowed


@pytest.mark.parametrize(
    "denying",
    [
        rule(READ, "orders", DENY),
        rule(ALL, "orders", DENY),
        rule(READ, "*", DENY),
        rule(READ, "o", DENY, pattern=PREFIXED),
        rule(READ, "orders", DENY, principal="User:*"),
        rule(READ, "orders", DENY, host="10.0.0.1"),
    ],
)
def test_a_rule_that_denies_wins_over_all_that_allow(denying: Acl) -> None:
    allowing = [rule(ALL), rule(ALL, "*"), rule(ALL, "orders", pattern=PREFIXED)]

    assert not authorizer(*allowing, denying).allows(ALICE, READ, TOPIC, "orders")
    assert not authorizer(denying, *allowing).allows(ALICE, READ, TOPIC, "orders")


@pytest.mark.parametrize(
    "other",
    [
        rule(READ, "orders", DENY, principal="User:bob"),
        rule(READ, "orders", DENY, host="10.0.0.2"),
        rule(WRITE, "orders", DENY),
        rule(READ, "payments", DENY),
    ],
)
def test_a_rule_that_denies_something_else_changes_nothing(other: Acl) -> None:
    assert authorizer(rule(READ), other).allows(ALICE, READ, TOPIC, "orders")


@pytest.mark.parametrize("operation", list(AclOperation)[2:])
def test_what_reads_or_changes_a_resource_may_describe_it(operation: AclOperation) -> None:
    implying = {"ALL", "READ", "WRITE", "DELETE", "ALTER", "DESCRIBE"}

    allowed = authorizer(rule(operation)).allows(ALICE, DESCRIBE, TOPIC, "orders")

    assert allowed is (operation.name in implying)


@pytest.mark.parametrize("operation", list(AclOperation)[2:])
def test_what_alters_configurations_may_describe_them(operation: AclOperation) -> None:
    implying = {"ALL", "ALTER_CONFIGS", "DESCRIBE_CONFIGS"}

    allowed = authorizer(rule(operation)).allows(ALICE, DESCRIBE_CONFIGS, TOPIC, "orders")

    assert allowed is (operation.name in implying)


def test_denying_an_operation_denies_none_that_it_implies() -> None:
    rules = authorizer(rule(DESCRIBE), rule(READ, permission=DENY))

    assert rules.allows(ALICE, DESCRIBE, TOPIC, "orders")


def test_a_super_user_may_do_what_is_denied_to_everybody() -> None:
    rules = authorizer(rule(ALL, "*", DENY, principal="User:*"))

    assert rules.allows(ADMIN, WRITE, TOPIC, "orders")
    assert not rules.allows(ALICE, WRITE, TOPIC, "orders")


@pytest.mark.parametrize(
    ("rules", "is_allowed"),
    [
        ([], True),
        ([rule(READ, "payments")], True),
        ([rule(READ, kind=GROUP)], True),
        ([rule(READ, principal="User:bob")], False),
        ([rule(READ, "*", principal="User:bob")], False),
        ([rule(READ, "ord", pattern=PREFIXED, principal="User:bob")], False),
        ([rule(READ, principal="User:bob"), rule(READ)], True),
    ],
)
def test_where_everybody_is_allowed_by_default_one_rule_ends_that_for_its_resources(
    rules: list[Acl], is_allowed: bool
) -> None:
    found = authorizer(*rules, allows_without_rule=True)

    assert found.allows(ALICE, READ, TOPIC, "orders") is is_allowed


@pytest.mark.parametrize(
    ("rules", "is_allowed"),
    [
        ([], False),
        ([rule(WRITE)], True),
        ([rule(ALL)], True),
        ([rule(READ)], False),
        ([rule(WRITE, "*")], True),
        ([rule(WRITE, "o", pattern=PREFIXED)], True),
        ([rule(WRITE, host="10.0.0.2")], False),
        ([rule(WRITE, principal="User:bob")], False),
        ([rule(WRITE, kind=GROUP)], False),
        ([rule(WRITE), rule(WRITE, "*", DENY)], False),
        ([rule(WRITE), rule(WRITE, "orders", DENY)], False),
        ([rule(WRITE), rule(WRITE, "ord", DENY, pattern=PREFIXED)], False),
        ([rule(WRITE), rule(WRITE, "orders", DENY, pattern=PREFIXED)], False),
        ([rule(WRITE), rule(WRITE, "payments", DENY)], True),
        ([rule(WRITE, "o", pattern=PREFIXED), rule(WRITE, "orders", DENY)], True),
        ([rule(WRITE, "o", pattern=PREFIXED), rule(WRITE, "o", DENY, pattern=PREFIXED)], False),
        ([rule(WRITE, "*"), rule(WRITE, "o", DENY, pattern=PREFIXED)], True),
    ],
)
def test_an_operation_may_be_allowed_on_some_resource_of_a_type(
    rules: list[Acl], is_allowed: bool
) -> None:
    assert authorizer(*rules).allows_on_any(ALICE, WRITE, TOPIC) is is_allowed


def test_a_super_user_may_use_some_resource_of_every_type() -> None:
    assert authorizer(rule(ALL, "*", DENY)).allows_on_any(ADMIN, WRITE, TOPIC)


def test_a_rule_that_is_removed_counts_no_more() -> None:
    acls = Acls()
    found = Authorizer(acls, frozenset(), allows_without_rule=True)
    for number, pattern in enumerate([LITERAL, PREFIXED]):
        acls.add(UUID(int=number), rule(READ, pattern=pattern, principal="User:bob"))
    assert not found.allows(ALICE, READ, TOPIC, "orders")

    for number in range(2):
        acls.remove(UUID(int=number))

    assert found.allows(ALICE, READ, TOPIC, "orders")
    assert rule(READ, principal="User:bob") not in acls


def test_an_address_of_ipv6_is_compared_as_java_writes_it() -> None:
    assert Client.of(Principal("alice"), "::1").host == "0:0:0:0:0:0:0:1"
    assert Client.of(Principal("alice"), "2001:db8::a0").host == "2001:db8:0:0:0:0:0:a0"


def test_a_refusal_is_logged_with_who_what_and_where(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)

    authorizer().allows(ALICE, READ, TOPIC, "orders", is_asked_for=False)
    assert not caplog.records
    authorizer().allows(ALICE, READ, TOPIC, "orders")

    assert caplog.messages == ["Denied READ on TOPIC 'orders' to User:alice from 10.0.0.1"]


def test_super_users_are_separated_by_semicolons() -> None:
    assert super_users(" User:admin; User:CN=broker,O=pyk ;") == {
        "User:admin",
        "User:CN=broker,O=pyk",
    }
    assert super_users("") == frozenset()
    with pytest.raises(InvalidConfigError, match="in the form User:NAME, but got 'admin'"):
        super_users("User:alice;admin")
