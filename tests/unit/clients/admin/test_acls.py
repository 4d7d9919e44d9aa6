"""ACLs are created and deleted at the controller, and described by any broker."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pyk.clients import (
    AccessControlEntry,
    AccessControlEntryFilter,
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourcePatternFilter,
    ResourceType,
)
from pyk.clients.errors import (
    ClusterAuthorizationFailedError,
    InvalidRequestError,
    KafkaTimeoutError,
    MalformedResponseError,
    SecurityDisabledError,
    SeveralErrors,
)
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages import create_acls, delete_acls, describe_acls
from pyk.runtime.virtual_time import virtual_time
from support.administering import administered

ORDERS = ResourcePattern(ResourceType.TOPIC, "orders")
MAY_READ = AclBinding(ORDERS, AccessControlEntry("User:alice", AclOperation.READ))
MAY_NOT_WRITE = AclBinding(
    ResourcePattern(ResourceType.TOPIC, "or", PatternType.PREFIXED),
    AccessControlEntry("User:bob", AclOperation.WRITE, AclPermissionType.DENY, host="198.51.100.7"),
)


def created(*codes: int) -> create_acls.CreateAclsResponse:
    return create_acls.CreateAclsResponse(
        results=[create_acls.AclCreationResult(error_code=code) for code in codes]
    )


def matching(**fields: Any) -> delete_acls.DeleteAclsMatchingAcl:
    return delete_acls.DeleteAclsMatchingAcl(
        resource_type=2,
        resource_name="orders",
        principal="User:alice",
        host="*",
        operation=3,
        permission_type=3,
        **fields,
    )


class TestCreateAcls:
    @virtual_time
    async def test_the_controller_creates_acls(self) -> None:
        async with administered(nodes=3) as (cluster, admin):
            cluster.on(create_acls.CreateAclsRequest, created(0, 0))

            await admin.create_acls([MAY_READ, MAY_NOT_WRITE])

            (sent,) = cluster.requests(create_acls.CreateAclsRequest)
            assert sent.node_id == cluster.controller_id
            assert sent.message.creations == [
                create_acls.AclCreation(
                    resource_type=2,
                    resource_name="orders",
                    resource_pattern_type=3,
                    principal="User:alice",
                    host="*",
                    operation=3,
                    permission_type=3,
                ),
                create_acls.AclCreation(
                    resource_type=2,
                    resource_name="or",
                    resource_pattern_type=4,
                    principal="User:bob",
                    host="198.51.100.7",
                    operation=4,
                    permission_type=2,
                ),
            ]

    @virtual_time
    async def test_each_acl_that_failed_has_its_error(self) -> None:
        async with administered() as (cluster, admin):
            cluster.on(create_acls.CreateAclsRequest, created(ErrorCode.INVALID_REQUEST, 0))

            with pytest.raises(SeveralErrors) as caught:
                await admin.create_acls([MAY_READ, MAY_NOT_WRITE])

            assert isinstance(caught.value.errors[MAY_READ], InvalidRequestError)
            assert caught.value.results == {MAY_NOT_WRITE: None}

    @virtual_time
    async def test_a_cluster_without_authorizer_is_an_error(self) -> None:
        async with administered() as (cluster, admin):
            cluster.on(create_acls.CreateAclsRequest, created(ErrorCode.SECURITY_DISABLED))

            with pytest.raises(SecurityDisabledError):
                await admin.create_acls(MAY_READ)

    @virtual_time
    async def test_a_response_that_is_too_short_is_malformed(self) -> None:
        async with administered() as (cluster, admin):
            cluster.on(create_acls.CreateAclsRequest, created())

            with pytest.raises(KafkaTimeoutError) as caught:
                await admin.create_acls([MAY_READ], timeout=1)

            assert isinstance(caught.value.__cause__, MalformedResponseError)

    @virtual_time
    async def test_a_principal_without_a_type_is_refused(self) -> None:
        binding = AclBinding(ORDERS, AccessControlEntry("alice", AclOperation.READ))
        async with administered() as (_, admin):
            with pytest.raises(ValueError, match="'User:alice', not 'alice'"):
                await admin.create_acls([binding])

    @virtual_time
    async def test_something_else_than_an_acl_is_refused(self) -> None:
        async with administered() as (_, admin):
            with pytest.raises(TypeError, match="an ACL must be AclBinding"):
                await admin.create_acls([ORDERS])


class TestDescribeAcls:
    @virtual_time
    async def test_acls_are_described_sorted(self) -> None:
        async with administered() as (cluster, admin):
            acls = [
                describe_acls.AclDescription(
                    principal=name, host="*", operation=3, permission_type=3
                )
                for name in ("User:bob", "User:alice")
            ]
            resource = describe_acls.DescribeAclsResource(
                resource_type=2, resource_name="orders", acls=acls
            )
            answer = describe_acls.DescribeAclsResponse(resources=[resource])
            cluster.on(describe_acls.DescribeAclsRequest, answer)

            found = await admin.describe_acls()

            bob = AccessControlEntry("User:bob", AclOperation.READ)
            assert found == [MAY_READ, AclBinding(ORDERS, bob)]

    @virtual_time
    async def test_the_default_filter_selects_everything(self) -> None:
        async with administered() as (cluster, admin):
            cluster.on(describe_acls.DescribeAclsRequest, describe_acls.DescribeAclsResponse())

            await admin.describe_acls()

            (sent,) = cluster.requests(describe_acls.DescribeAclsRequest)
            assert sent.message == describe_acls.DescribeAclsRequest(
                resource_type_filter=1,
                resource_name_filter=None,
                pattern_type_filter=1,
                principal_filter=None,
                host_filter=None,
                operation=1,
                permission_type=1,
            )

    @virtual_time
    async def test_a_filter_says_what_to_select(self) -> None:
        async with administered() as (cluster, admin):
            cluster.on(describe_acls.DescribeAclsRequest, describe_acls.DescribeAclsResponse())

            await admin.describe_acls(
                AclBindingFilter(
                    ResourcePatternFilter(ResourceType.GROUP, "g", PatternType.MATCH),
                    AccessControlEntryFilter("User:alice", AclOperation.READ, host="*"),
                )
            )

            (sent,) = cluster.requests(describe_acls.DescribeAclsRequest)
            assert sent.message == describe_acls.DescribeAclsRequest(
                resource_type_filter=3,
                resource_name_filter="g",
                pattern_type_filter=2,
                principal_filter="User:alice",
                host_filter="*",
                operation=3,
                permission_type=1,
            )

    @virtual_time
    async def test_codes_of_a_newer_broker_are_unknown(self) -> None:
        async with administered() as (cluster, admin):
            acl = describe_acls.AclDescription(
                principal="User:alice", host="*", operation=99, permission_type=99
            )
            resource = describe_acls.DescribeAclsResource(
                resource_type=99, resource_name="new", pattern_type=99, acls=[acl]
            )
            answer = describe_acls.DescribeAclsResponse(resources=[resource])
            cluster.on(describe_acls.DescribeAclsRequest, answer)

            (found,) = await admin.describe_acls()

            pattern = ResourcePattern(ResourceType.UNKNOWN, "new", PatternType.UNKNOWN)
            entry = AccessControlEntry(
                "User:alice", AclOperation.UNKNOWN, AclPermissionType.UNKNOWN
            )
            assert found == AclBinding(pattern, entry)

    @virtual_time
    async def test_a_client_without_access_to_the_cluster_gets_the_error(self) -> None:
        async with administered() as (cluster, admin):
            answer = describe_acls.DescribeAclsResponse(
                error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED
            )
            cluster.on(describe_acls.DescribeAclsRequest, answer)

            with pytest.raises(ClusterAuthorizationFailedError):
                await admin.describe_acls()


class TestDeleteAcls:
    @virtual_time
    async def test_the_deleted_acls_are_returned_by_filter(self) -> None:
        async with administered(nodes=3) as (cluster, admin):
            results = [
                delete_acls.DeleteAclsFilterResult(matching_acls=[matching()]),
                delete_acls.DeleteAclsFilterResult(),
            ]
            answer = delete_acls.DeleteAclsResponse(filter_results=results)
            cluster.on(delete_acls.DeleteAclsRequest, answer)
            of_groups = AclBindingFilter(ResourcePatternFilter(ResourceType.GROUP))

            found = await admin.delete_acls([MAY_READ, of_groups])

            assert found == {AclBindingFilter.of(MAY_READ): [MAY_READ], of_groups: []}
            (sent,) = cluster.requests(delete_acls.DeleteAclsRequest)
            assert sent.message.filters[0] == delete_acls.DeleteAclsFilter(
                resource_type_filter=2,
                resource_name_filter="orders",
                pattern_type_filter=3,
                principal_filter="User:alice",
                host_filter="*",
                operation=3,
                permission_type=3,
            )

    @virtual_time
    async def test_an_acl_that_could_not_be_deleted_fails_its_filter(self) -> None:
        async with administered() as (cluster, admin):
            failed = matching(error_code=ErrorCode.INVALID_REQUEST, error_message="not this one")
            result = delete_acls.DeleteAclsFilterResult(matching_acls=[matching(), failed])
            answer = delete_acls.DeleteAclsResponse(filter_results=[result])
            cluster.on(delete_acls.DeleteAclsRequest, answer)

            with pytest.raises(InvalidRequestError, match="not this one"):
                await admin.delete_acls(AclBindingFilter())

    @virtual_time
    async def test_something_else_than_a_filter_is_refused(self) -> None:
        async with administered() as (_, admin):
            with pytest.raises(TypeError, match="AclBindingFilter or AclBinding, not 'orders'"):
                await admin.delete_acls(["orders"])


@pytest.mark.parametrize(
    "invalid",
    [
        lambda: ResourcePattern(ResourceType.ANY, "orders"),
        lambda: ResourcePattern(ResourceType.TOPIC, "orders", PatternType.ANY),
        lambda: ResourcePattern(ResourceType.TOPIC, "orders", PatternType.MATCH),
        lambda: AccessControlEntry("User:alice", AclOperation.ANY),
        lambda: AccessControlEntry("User:alice", AclOperation.READ, AclPermissionType.ANY),
    ],
)
def test_an_acl_has_nothing_that_only_filters_have(invalid: Callable[[], object]) -> None:
    with pytest.raises(ValueError, match=r"is for filters: see .*Filter"):
        invalid()


def test_the_cluster_is_a_single_resource() -> None:
    assert ResourcePattern.cluster() == ResourcePattern(ResourceType.CLUSTER, "kafka-cluster")


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: ResourcePattern("topic", "a"), "resource_type must be of ResourceType"),
        (lambda: ResourcePattern(ResourceType.TOPIC, "a", "literal"), "pattern_type must be of"),
        (lambda: ResourcePatternFilter("topic"), "resource_type must be of ResourceType"),
        (lambda: AccessControlEntry("User:a", "read"), "operation must be of AclOperation"),
        (lambda: AccessControlEntryFilter(permission_type="allow"), "permission_type must be of"),
    ],
)
def test_a_str_instead_of_a_member_is_refused_at_once(make: Any, words: str) -> None:
    with pytest.raises(TypeError, match=f"{words}.*not str"):
        make()
