"""DescribeAcls: the authorizer's rules (KIP-140)."""

from __future__ import annotations

from pyk.protocol.schema import (
    ApiKey,
    Message,
    Struct,
    array,
    int8,
    int16,
    int32,
    request,
    response,
    string,
    struct,
)


@request(ApiKey.DESCRIBE_ACLS, versions="0-3", flexible="2+")
class DescribeAclsRequest(Message):
    """Ask any broker for the rules that match."""

    resource_type_filter: int = int8()
    """1 any; otherwise as in the response."""
    resource_name_filter: str | None = string(nullable="0+")
    """None means any name."""
    pattern_type_filter: int = int8(versions="1+", default=3)
    """1 any, 2 every pattern that matches the name, 3 literal, 4 prefixed (KIP-290)."""
    principal_filter: str | None = string(nullable="0+")
    """Such as ``User:alice``; None means any."""
    host_filter: str | None = string(nullable="0+")
    """None means any."""
    operation: int = int8()
    """1 any; otherwise as in the response."""
    permission_type: int = int8()
    """1 any, 2 deny, 3 allow."""


@struct
class AclDescription(Struct):
    """One rule: who may or may not do what."""

    principal: str = string()
    """Such as ``User:alice``; ``User:*`` is everybody."""
    host: str = string()
    """An address; ``*`` is any."""
    operation: int = int8()
    """2 all, 3 read, 4 write, 5 create, 6 delete, 7 alter, 8 describe, 9 cluster action, 10
    describe configs, 11 alter configs, 12 idempotent write, 13 create tokens, 14 describe tokens,
    15 two-phase commit."""
    permission_type: int = int8()
    """2 deny, 3 allow."""


@struct
class DescribeAclsResource(Struct):
    """The rules of one resource, or of all whose names have the same prefix."""

    resource_type: int = int8()
    """2 topic, 3 group, 4 cluster, 5 transactional id, 6 delegation token, 7 user."""
    resource_name: str = string()
    pattern_type: int = int8(versions="1+", default=3)
    """3 literal, 4 prefixed (KIP-290)."""
    acls: list[AclDescription] = array(AclDescription)


@response(ApiKey.DESCRIBE_ACLS, versions="0-3", flexible="2+")
class DescribeAclsResponse(Message):
    """Give rules."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+")
    resources: list[DescribeAclsResource] = array(DescribeAclsResource)
