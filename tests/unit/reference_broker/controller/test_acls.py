"""ACLs as the controller adds, removes and keeps them."""

from __future__ import annotations

from typing import Any

import pytest

from pyk.protocol.acls import AclOperation, AclPermissionType, PatternType, ResourceType
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.create_acls import AclCreation, CreateAclsRequest
from pyk.protocol.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from pyk.reference_broker.controller.topics import MAX_RECORDS_PER_REQUEST
from support.controllers import Controllers

TOPIC, GROUP, CLUSTER = ResourceType.TOPIC, ResourceType.GROUP, ResourceType.CLUSTER
ANY, MATCH = PatternType.ANY, PatternType.MATCH
LITERAL, PREFIXED = PatternType.LITERAL, PatternType.PREFIXED
ADDED = (0, "")
READ, ALLOW = AclOperation.READ, AclPermissionType.ALLOW


def acl(name: str = "orders", **more: Any) -> AclCreation:
    fields = {
        "resource_type": TOPIC,
        "resource_name": name,
        "resource_pattern_type": LITERAL,
        "principal": "User:alice",
        "host": "*",
        "operation": READ,
        "permission_type": ALLOW,
    }
    return AclCreation(**{**fields, **more})


def asked(name: str | None = None, **more: Any) -> DeleteAclsFilter:
    fields = {
        "resource_type_filter": ResourceType.ANY,
        "resource_name_filter": name,
        "pattern_type_filter": ANY,
        "principal_filter": None,
        "host_filter": None,
        "operation": AclOperation.ANY,
        "permission_type": AclPermissionType.ANY,
    }
    return DeleteAclsFilter(**{**fields, **more})


def create(controllers: Controllers, *acls: AclCreation) -> list[tuple[int, str | None]]:
    results = controllers.ask(CreateAclsRequest(creations=list(acls))).results
    return [(each.error_code, each.error_message) for each in results]


def delete(controllers: Controllers, *filters: DeleteAclsFilter) -> Any:
    return controllers.ask(DeleteAclsRequest(filters=list(filters))).filter_results


def names(controllers: Controllers) -> list[str]:
    return [acl.resource_name for acl in controllers.published.acls.by_id.values()]


def test_acls_outlive_a_restart() -> None:
    controllers = Controllers()

    assert create(controllers, acl(), acl("payments")) == [ADDED, ADDED]
    controllers.restart()

    assert names(controllers) == ["orders", "payments"]


def test_an_acl_that_is_there_already_is_not_added_again() -> None:
    controllers = Controllers()

    create(controllers, acl(), acl())
    assert create(controllers, acl()) == [ADDED]

    assert names(controllers) == ["orders"]


def test_an_acl_that_was_removed_can_be_added_again() -> None:
    controllers = Controllers()
    create(controllers, acl())
    delete(controllers, asked("orders"))

    create(controllers, acl())

    assert names(controllers) == ["orders"]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"resource_type": ResourceType.ANY}, "Invalid resourceType ANY"),
        ({"resource_type": 99}, "Invalid resourceType UNKNOWN"),
        ({"resource_pattern_type": MATCH}, "Invalid patternType MATCH"),
        ({"resource_pattern_type": 99}, "Invalid patternType UNKNOWN"),
        ({"operation": AclOperation.ANY}, "Invalid operation ANY"),
        ({"operation": 99}, "Invalid operation UNKNOWN"),
        ({"permission_type": AclPermissionType.ANY}, "Invalid permissionType ANY"),
        ({"resource_name": ""}, "Invalid empty resource name"),
        (
            {"resource_type": CLUSTER},
            "The only valid name for the CLUSTER resource is kafka-cluster",
        ),
    ],
)
def test_an_invalid_acl_is_refused_and_the_others_are_added(
    wrong: dict[str, Any], message: str
) -> None:
    controllers = Controllers()

    results = create(controllers, acl(**wrong), acl("payments"))

    assert results == [(ErrorCode.INVALID_REQUEST, message), ADDED]
    assert names(controllers) == ["payments"]


def test_more_acls_than_one_request_may_make_are_refused_together() -> None:
    controllers = Controllers()
    acls = [acl(f"topic-{number}") for number in range(MAX_RECORDS_PER_REQUEST + 1)]

    results = create(controllers, *acls)

    assert {code for code, _ in results} == {ErrorCode.POLICY_VIOLATION}
    assert not names(controllers)


ACLS = [
    acl("orders"),
    acl("*"),
    acl("ord", resource_pattern_type=PREFIXED),
    acl("payments", principal="User:bob"),
    acl("payments", operation=AclOperation.WRITE, host="10.0.0.1"),
    acl("orders", resource_type=GROUP, permission_type=AclPermissionType.DENY),
]


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (asked(), [0, 1, 2, 3, 4, 5]),
        (asked("orders"), [0, 5]),
        (asked("orders", resource_type_filter=TOPIC), [0]),
        (asked("orders", resource_type_filter=TOPIC, pattern_type_filter=MATCH), [0, 1, 2]),
        (asked("orders", pattern_type_filter=PREFIXED), []),
        (asked("ord", pattern_type_filter=PREFIXED), [2]),
        (asked(pattern_type_filter=PREFIXED), [2]),
        (asked("orders", pattern_type_filter=LITERAL), [0, 5]),
        (asked("*", pattern_type_filter=LITERAL), [1]),
        (asked(pattern_type_filter=MATCH), [0, 1, 2, 3, 4, 5]),
        (asked(principal_filter="User:bob"), [3]),
        (asked(host_filter="10.0.0.1"), [4]),
        (asked(host_filter="*"), [0, 1, 2, 3, 5]),
        (asked(operation=AclOperation.WRITE), [4]),
        (asked(operation=AclOperation.ALL), []),
        (asked(permission_type=AclPermissionType.DENY), [5]),
    ],
)
def test_a_filter_removes_the_acls_that_match_and_returns_them(
    wanted: DeleteAclsFilter, found: list[int]
) -> None:
    controllers = Controllers()
    create(controllers, *ACLS)
    kept = [each.resource_name for at, each in enumerate(ACLS) if at not in found]

    (result,) = delete(controllers, wanted)

    removed = [(each.resource_name, each.principal, each.host) for each in result.matching_acls]
    expected = [ACLS[at] for at in found]
    assert removed == [(each.resource_name, each.principal, each.host) for each in expected]
    assert names(controllers) == kept


def test_more_acls_than_one_request_may_remove_stay() -> None:
    controllers = Controllers()
    most = MAX_RECORDS_PER_REQUEST
    create(controllers, *(acl(f"many-{number}") for number in range(most)))
    create(controllers, acl("one-more"))

    first, second, too_many = delete(controllers, asked("many-0"), asked("many-0"), asked())

    assert [len(first.matching_acls), len(second.matching_acls)] == [1, 1]
    assert too_many.error_code == ErrorCode.POLICY_VIOLATION
    assert (too_many.matching_acls, len(names(controllers))) == ([], most)

    (result,) = delete(controllers, asked())

    assert (len(result.matching_acls), names(controllers)) == (most, [])


def test_two_filters_may_match_the_same_acl() -> None:
    controllers = Controllers()
    create(controllers, acl())

    results = delete(controllers, asked(), asked("orders"))

    assert [len(each.matching_acls) for each in results] == [1, 1]
    assert not names(controllers)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"resource_type_filter": 99}, "Unknown patternFilter."),
        ({"pattern_type_filter": 99}, "Unknown patternFilter."),
        ({"operation": 99}, "Unknown entryFilter."),
        ({"permission_type": 99}, "Unknown entryFilter."),
    ],
)
def test_an_unknown_filter_is_refused(wrong: dict[str, Any], message: str) -> None:
    controllers = Controllers()
    create(controllers, acl())

    (result,) = delete(controllers, asked(**wrong))

    assert (result.error_code, result.error_message) == (ErrorCode.INVALID_REQUEST, message)
    assert names(controllers) == ["orders"]
