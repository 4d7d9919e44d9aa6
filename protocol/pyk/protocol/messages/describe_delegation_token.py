"""DescribeDelegationToken: the tokens that the caller may see, with their secrets (KIP-48)."""

from __future__ import annotations

from pyk.protocol.schema import (
    ApiKey,
    Message,
    Struct,
    array,
    binary,
    int16,
    int32,
    int64,
    request,
    response,
    string,
    struct,
)


@struct
class DescribeDelegationTokenOwner(Struct):
    """An owner whose tokens are asked for."""

    principal_type: str = string()
    principal_name: str = string()


@request(ApiKey.DESCRIBE_DELEGATION_TOKEN, versions="0-3", flexible="2+")
class DescribeDelegationTokenRequest(Message):
    """Ask for tokens that the caller owns, may renew or is allowed to describe."""

    owners: list[DescribeDelegationTokenOwner] | None = array(
        DescribeDelegationTokenOwner, nullable="0+"
    )
    """None for all owners; an empty list finds nothing."""


@struct
class DescribedDelegationTokenRenewer(Struct):
    """A principal besides the owner that may renew the token."""

    principal_type: str = string()
    principal_name: str = string()


@struct
class DescribedDelegationToken(Struct):
    """A token."""

    principal_type: str = string()
    """With the name, the owner."""
    principal_name: str = string()
    token_requester_principal_type: str = string(versions="3+")
    """With the name, the requester on behalf of the owner (KIP-373)."""
    token_requester_principal_name: str = string(versions="3+")
    issue_timestamp: int = int64()
    expiry_timestamp: int = int64()
    """When it ends unless it is renewed, in milliseconds as the other two."""
    max_timestamp: int = int64()
    """When it ends however often it is renewed."""
    token_id: str = string()
    hmac: bytes = binary(secret=True)
    """In Base64 it is the password of a SCRAM login with the token's id."""
    renewers: list[DescribedDelegationTokenRenewer] = array(DescribedDelegationTokenRenewer)


@response(ApiKey.DESCRIBE_DELEGATION_TOKEN, versions="0-3", flexible="2+")
class DescribeDelegationTokenResponse(Message):
    """Give tokens."""

    error_code: int = int16()
    tokens: list[DescribedDelegationToken] = array(DescribedDelegationToken)
    throttle_time_ms: int = int32()
