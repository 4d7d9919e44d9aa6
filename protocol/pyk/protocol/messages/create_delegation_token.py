"""CreateDelegationToken: get a password of limited life for work done elsewhere (KIP-48)."""

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
class CreatableRenewers(Struct):
    """Another principal that may renew the token."""

    principal_type: str = string()
    """No other than ``User`` is known."""
    principal_name: str = string()


@request(ApiKey.CREATE_DELEGATION_TOKEN, versions="0-3", flexible="2+")
class CreateDelegationTokenRequest(Message):
    """Ask for a token with which others log in as its owner.

    The workers of a distributed job use it so that the owner's own secret does not have to travel.
    """

    owner_principal_type: str | None = string(versions="3+", nullable="3+")
    """With the name, the owner of the token (KIP-373); None or empty for the requester."""
    owner_principal_name: str | None = string(versions="3+", nullable="3+")
    renewers: list[CreatableRenewers] = array(CreatableRenewers)
    max_lifetime_ms: int = int64()
    """At most ``delegation.token.max.lifetime.ms`` of the broker, which -1 stands for."""


@response(ApiKey.CREATE_DELEGATION_TOKEN, versions="0-3", flexible="2+")
class CreateDelegationTokenResponse(Message):
    """Give the token.

    Its id is the user name of a SCRAM login, and its hmac in Base64 the password.
    """

    error_code: int = int16()
    principal_type: str = string()
    """With the name, the owner."""
    principal_name: str = string()
    token_requester_principal_type: str = string(versions="3+")
    token_requester_principal_name: str = string(versions="3+")
    issue_timestamp_ms: int = int64()
    expiry_timestamp_ms: int = int64()
    """When it ends unless it is renewed."""
    max_timestamp_ms: int = int64()
    """When it ends however often it is renewed."""
    token_id: str = string()
    hmac: bytes = binary(secret=True)
    throttle_time_ms: int = int32()
