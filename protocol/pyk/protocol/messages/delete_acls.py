"""DeleteAcls: remove rules from the authorizer (KIP-140)."""

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


@struct
class DeleteAclsFilter(Struct):
    """A filter for the rules to remove."""

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


@request(ApiKey.DELETE_ACLS, versions="0-3", flexible="2+")
class DeleteAclsRequest(Message):
    """Ask the controller, directly or through a broker, to remove the rules that match."""

    filters: list[DeleteAclsFilter] = array(DeleteAclsFilter)


@struct
class DeleteAclsMatchingAcl(Struct):
    """A rule that matched, and whether it was removed."""

    error_code: int = int16()
    error_message: str | None = string(nullable="0+")
    resource_type: int = int8()
    """2 topic, 3 group, 4 cluster, 5 transactional id, 6 delegation token, 7 user."""
    resource_name: str = string()
    pattern_type: int = int8(versions="1+", default=3)
    """3 literal, 4 prefixed (KIP-290)."""
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
class DeleteAclsFilterResult(Struct):
    """The rules that one filter matched."""

    error_code: int = int16()
    error_message: str | None = string(nullable="0+")
    matching_acls: list[DeleteAclsMatchingAcl] = array(DeleteAclsMatchingAcl)


@response(ApiKey.DELETE_ACLS, versions="0-3", flexible="2+")
class DeleteAclsResponse(Message):
    """Say which rules were removed, for each filter in the order of the request."""

    throttle_time_ms: int = int32()
    filter_results: list[DeleteAclsFilterResult] = array(DeleteAclsFilterResult)
