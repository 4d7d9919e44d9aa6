"""CreateAcls, DescribeAcls and DeleteAcls: the reference broker answers as Apache Kafka does."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from pyk.protocol.acls import AclOperation, AclPermissionType, PatternType, ResourceType
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.create_acls import AclCreation, CreateAclsRequest
from pyk.protocol.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from pyk.protocol.messages.describe_acls import DescribeAclsRequest
from pyk.reference_broker import Cluster
from pyk.reference_broker.config.broker_config import STANDARD_AUTHORIZER
from support import apache_kafka
from support.apache_kafka import ApacheKafka
from support.brokers import Kafka
from support.raw_client import RawClient
from support.real_time import IN_TIME

CONFIG = {"authorizer.class.name": STANDARD_AUTHORIZER, "super.users": "User:ANONYMOUS"}
VERSIONS = [1, 2, 3]
ANY, MATCH = PatternType.ANY, PatternType.MATCH
LITERAL, PREFIXED = PatternType.LITERAL, PatternType.PREFIXED
TOPIC, GROUP = ResourceType.TOPIC, ResourceType.GROUP
INVALID = ErrorCode.INVALID_REQUEST
ADDED = (0, "")

_numbers = itertools.count()


@pytest.fixture(
    scope="module",
    params=["reference", pytest.param("apache", marks=pytest.mark.conformance)],
)
def bootstrap(request: pytest.FixtureRequest) -> Iterator[str]:
    if request.param == "reference":
        with Cluster(config=CONFIG) as cluster:
            yield cluster.bootstrap
        return
    if why := apache_kafka.missing():
        pytest.skip(why)
    with ApacheKafka(config=CONFIG) as kafka:
        yield kafka.bootstrap


@pytest.fixture
async def client(bootstrap: str) -> AsyncIterator[RawClient]:
    async with RawClient(bootstrap) as client:
        yield client


@pytest.fixture
def user() -> str:
    """A principal of this test's own, by which its ACLs are found."""
    return f"User:user-{next(_numbers)}"


def acl(user: str, name: str = "orders", **more: Any) -> AclCreation:
    fields = {
        "resource_type": TOPIC,
        "resource_name": name,
        "resource_pattern_type": LITERAL,
        "principal": user,
        "host": "*",
        "operation": AclOperation.READ,
        "permission_type": AclPermissionType.ALLOW,
    }
    return AclCreation(**{**fields, **more})


def asked(user: str | None, name: str | None = None, **more: Any) -> DeleteAclsFilter:
    fields = {
        "resource_type_filter": ResourceType.ANY,
        "resource_name_filter": name,
        "pattern_type_filter": ANY,
        "principal_filter": user,
        "host_filter": None,
        "operation": AclOperation.ANY,
        "permission_type": AclPermissionType.ANY,
    }
    return DeleteAclsFilter(**{**fields, **more})


async def create(
    client: RawClient, *acls: AclCreation, version: int | None = None
) -> list[tuple[int, str | None]]:
    response = await client.ask(CreateAclsRequest(creations=list(acls)), version)
    return [(each.error_code, each.error_message) for each in response.results]


async def delete(
    client: RawClient, *filters: DeleteAclsFilter, version: int | None = None
) -> list[tuple[int, str | None, list[str]]]:
    """Return code, message and the resources of deleted ACLs for each filter."""
    response = await client.ask(DeleteAclsRequest(filters=list(filters)), version)
    return [
        (
            each.error_code,
            each.error_message,
            sorted(matching.resource_name for matching in each.matching_acls),
        )
        for each in response.filter_results
    ]


async def describe(
    client: RawClient, wanted: DeleteAclsFilter, version: int | None = None
) -> list[tuple[int, int, str, int]]:
    """Return type, pattern type and name of each resource, and how many ACLs it has."""
    request = DescribeAclsRequest(
        resource_type_filter=wanted.resource_type_filter,
        resource_name_filter=wanted.resource_name_filter,
        pattern_type_filter=wanted.pattern_type_filter,
        principal_filter=wanted.principal_filter,
        host_filter=wanted.host_filter,
        operation=wanted.operation,
        permission_type=wanted.permission_type,
    )
    response = await client.ask(request, version)
    assert (response.error_code, response.error_message) == (0, "")
    return sorted(
        (each.resource_type, each.pattern_type, each.resource_name, len(each.acls))
        for each in response.resources
    )


async def described(
    client: RawClient, wanted: DeleteAclsFilter, *expected: tuple[int, int, str, int]
) -> None:
    """Wait until the broker has taken over what the controller decided."""
    async with asyncio.timeout(IN_TIME):
        while await describe(client, wanted) != sorted(expected):
            pass


@pytest.mark.parametrize("version", VERSIONS)
async def test_acls_are_added_described_and_deleted(
    client: RawClient, user: str, version: int
) -> None:
    acls = [
        acl(user),
        acl(user, operation=AclOperation.WRITE),
        acl(user, "ord", resource_pattern_type=PREFIXED),
        acl(user, "billing", resource_type=GROUP, host="10.0.0.1"),
    ]

    assert await create(client, *acls, version=version) == [ADDED] * 4
    await described(
        client,
        asked(user),
        (TOPIC, LITERAL, "orders", 2),
        (TOPIC, PREFIXED, "ord", 1),
        (GROUP, LITERAL, "billing", 1),
    )
    assert await describe(client, asked(user, "orders"), version) == [(TOPIC, LITERAL, "orders", 2)]
    assert await delete(client, asked(user, "orders"), version=version) == [
        (0, None, ["orders", "orders"])
    ]
    await described(
        client, asked(user), (TOPIC, PREFIXED, "ord", 1), (GROUP, LITERAL, "billing", 1)
    )


async def test_an_acl_is_added_once(client: RawClient, user: str) -> None:
    await create(client, acl(user), acl(user))
    await create(client, acl(user))

    await described(client, asked(user), (TOPIC, LITERAL, "orders", 1))


FOUND = [
    ({"name": "orders"}, ["orders"]),
    ({"name": "orders", "pattern_type_filter": MATCH}, ["*", "ord", "orders"]),
    ({"name": "orders", "pattern_type_filter": PREFIXED}, []),
    ({"name": "*", "pattern_type_filter": LITERAL}, ["*"]),
    ({"name": "*", "pattern_type_filter": MATCH}, ["*"]),
    ({"pattern_type_filter": PREFIXED}, ["ord"]),
    ({"pattern_type_filter": MATCH}, ["*", "ord", "orders"]),
    ({"resource_type_filter": GROUP}, []),
    ({"host_filter": "10.0.0.1"}, []),
    ({"operation": AclOperation.READ}, ["*", "ord", "orders"]),
    ({"operation": AclOperation.ALL}, []),
    ({"permission_type": AclPermissionType.DENY}, []),
]


@pytest.mark.parametrize(("wanted", "names"), FOUND)
async def test_a_filter_finds_the_same_acls_for_describing_and_deleting(
    client: RawClient, user: str, wanted: dict[str, Any], names: list[str]
) -> None:
    acls = [acl(user), acl(user, "*"), acl(user, "ord", resource_pattern_type=PREFIXED)]
    await create(client, *acls)
    await described(
        client,
        asked(user),
        (TOPIC, LITERAL, "orders", 1),
        (TOPIC, LITERAL, "*", 1),
        (TOPIC, PREFIXED, "ord", 1),
    )

    found = await describe(client, asked(user, **wanted))
    deleted = await delete(client, asked(user, **wanted))

    assert sorted(name for _, _, name, _ in found) == names
    assert deleted == [(0, None, names)]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"resource_type": 99}, "Invalid resourceType UNKNOWN"),
        ({"resource_pattern_type": 99}, "Invalid patternType UNKNOWN"),
        ({"operation": 99}, "Invalid operation UNKNOWN"),
        ({"permission_type": 99}, "Invalid permissionType UNKNOWN"),
        ({"name": ""}, "Invalid empty resource name"),
        (
            {"resource_type": ResourceType.CLUSTER},
            "The only valid name for the CLUSTER resource is kafka-cluster",
        ),
    ],
)
async def test_an_invalid_acl_is_refused_and_the_others_are_added(
    client: RawClient, user: str, wrong: dict[str, Any], message: str
) -> None:
    results = await create(client, acl(user, **wrong), acl(user, "payments"))

    assert results == [(INVALID, message), ADDED]
    await described(client, asked(user), (TOPIC, LITERAL, "payments", 1))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"resource_type_filter": 99}, "Unknown patternFilter."),
        ({"pattern_type_filter": 99}, "Unknown patternFilter."),
        ({"operation": 99}, "Unknown entryFilter."),
        ({"permission_type": 99}, "Unknown entryFilter."),
    ],
)
async def test_an_unknown_filter_deletes_nothing_and_describes_nothing(
    client: RawClient, user: str, wrong: dict[str, Any], message: str
) -> None:
    await create(client, acl(user))
    await described(client, asked(user), (TOPIC, LITERAL, "orders", 1))

    assert await delete(client, asked(user, **wrong)) == [(INVALID, message, [])]
    assert await describe(client, asked(user, **wrong)) == []
    assert len(await describe(client, asked(user))) == 1


async def test_two_filters_may_delete_the_same_acl(client: RawClient, user: str) -> None:
    await create(client, acl(user))
    await described(client, asked(user), (TOPIC, LITERAL, "orders", 1))

    results = await delete(client, asked(user), asked(user, "orders"), asked(user, "missing"))

    assert results == [(0, None, ["orders"]), (0, None, ["orders"]), (0, None, [])]


async def test_without_an_authorizer_there_are_no_acls(kafka: Kafka, user: str) -> None:
    disabled = ErrorCode.SECURITY_DISABLED
    async with RawClient(kafka.bootstrap) as client:
        known = {"resource_type_filter": TOPIC, "operation": AclOperation.ANY}
        asks = DescribeAclsRequest(permission_type=AclPermissionType.ANY, **known)
        described = await client.ask(asks)
        created = await create(client, acl(user))
        deleted = await delete(client, asked(user))

    assert described.error_code == disabled
    assert described.error_message == "No Authorizer is configured on the broker"
    assert created == [(disabled, "No Authorizer is configured.")]
    assert deleted == [(disabled, "No Authorizer is configured.", [])]
