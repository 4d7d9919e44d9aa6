"""CreateAcls: allow or deny principals to do something to resources (KIP-140)."""

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
class AclCreation(Struct):
    """A rule to add."""

    resource_type: int = int8()
    """2 topic, 3 group, 4 cluster, 5 transactional id, 6 delegation token, 7 user."""
    resource_name: str = string()
    resource_pattern_type: int = int8(versions="1+", default=3)
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


@request(ApiKey.CREATE_ACLS, versions="0-3", flexible="2+")
class CreateAclsRequest(Message):
    """Ask the controller, directly or through a broker, to add rules to the authorizer."""

    creations: list[AclCreation] = array(AclCreation)


@struct
class AclCreationResult(Struct):
    """Whether one rule was added."""

    error_code: int = int16()
    error_message: str | None = string(nullable="0+")


@response(ApiKey.CREATE_ACLS, versions="0-3", flexible="2+")
class CreateAclsResponse(Message):
    """Say which rules were added, in the order of the request."""

    throttle_time_ms: int = int32()
    results: list[AclCreationResult] = array(AclCreationResult)
