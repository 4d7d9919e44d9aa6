"""DescribeUserScramCredentials: which users can log in by SCRAM (KIP-554)."""

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
class UserName(Struct):
    """A user whose credentials are asked for."""

    name: str = string()


@request(ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, versions="0", flexible="0+")
class DescribeUserScramCredentialsRequest(Message):
    """Ask which credentials users have; what they are is never told."""

    users: list[UserName] | None = array(UserName, nullable="0+")
    """None or empty for all users."""


@struct
class CredentialInfo(Struct):
    """A credential without its secrets."""

    mechanism: int = int8()
    """1 SCRAM-SHA-256, 2 SCRAM-SHA-512."""
    iterations: int = int32()


@struct
class DescribeUserScramCredentialsResult(Struct):
    """The credentials of one user."""

    user: str = string()
    error_code: int = int16()
    """RESOURCE_NOT_FOUND for a user without any."""
    error_message: str | None = string(nullable="0+")
    credential_infos: list[CredentialInfo] = array(CredentialInfo)


@response(ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, versions="0", flexible="0+")
class DescribeUserScramCredentialsResponse(Message):
    """Describe credentials."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+")
    results: list[DescribeUserScramCredentialsResult] = array(DescribeUserScramCredentialsResult)
