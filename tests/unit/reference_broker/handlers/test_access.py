"""What a connection remembers of the decisions on its access."""

from __future__ import annotations

import logging
from uuid import UUID

import pytest

from pyk.protocol.acls import AclOperation, AclPermissionType, PatternType, ResourceType
from pyk.reference_broker.handlers.authorization.access import (
    MAX_DECISIONS,
    MAX_NAME_LENGTH,
    Access,
)
from pyk.reference_broker.security.acls import Acl, Acls
from pyk.reference_broker.security.authorizer import Authorizer
from pyk.reference_broker.security.principal import Principal

READ, TOPIC = AclOperation.READ, ResourceType.TOPIC
READ_ORDERS = Acl(
    resource_type=TOPIC,
    resource_name="orders",
    pattern_type=PatternType.LITERAL,
    principal="User:alice",
    host="*",
    operation=READ,
    permission_type=AclPermissionType.ALLOW,
)


def access_by(acls: Acls) -> Access:
    authorizer = Authorizer(acls, frozenset(), allows_without_acl=False)
    return Access(authorizer, Principal("alice"), "10.0.0.1")


def test_a_decision_holds_until_an_acl_changes() -> None:
    acls = Acls()
    access = access_by(acls)

    assert not access.may(READ, TOPIC, "orders")
    acls.add(UUID(int=1), READ_ORDERS)
    assert access.may(READ, TOPIC, "orders")
    acls.remove(UUID(int=1))
    assert not access.may(READ, TOPIC, "orders")


def test_a_refusal_that_is_repeated_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    acls = Acls()
    access = access_by(acls)

    access.may(READ, TOPIC, "payments", is_asked_for=False)
    for _ in range(3):
        access.may(READ, TOPIC, "payments")
    acls.add(UUID(int=1), READ_ORDERS)
    access.may(READ, TOPIC, "payments")

    assert caplog.messages == ["Denied READ on TOPIC 'payments' to User:alice from 10.0.0.1"] * 2


def test_names_that_clients_think_up_take_no_memory_without_end() -> None:
    access = access_by(Acls())

    for number in range(3 * MAX_DECISIONS):
        access.may(READ, TOPIC, f"topic-{number}", is_asked_for=False)
        access.may(READ, TOPIC, "x" * (MAX_NAME_LENGTH + 1), is_asked_for=False)

    assert len(access._decisions) <= MAX_DECISIONS
    assert all(len(name) <= MAX_NAME_LENGTH for _, _, name, _ in access._decisions)
